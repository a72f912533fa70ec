-- The nine reports against what `nsys stats` 2023.4.4 printed for the same
-- exports: every row and every figure. Rows may be in another order only where
-- the figure that orders them is the same.
local csv = require "llmprof.csv"
local fs = require "llmprof.fs"
local spawn = require "llmprof.spawn"
local stats = require "llmprof.trace.stats"
local tables = require "llmprof.tables"
local timeline = require "tests.lua.support.timeline"
local trace = require "llmprof.trace"

local ROOT = debug.getinfo(1, "S").source:match "^@(.-)tests/lua/spec/" or ""

local SHARED = os.getenv "LLMPROF_SHARED" or ROOT .. "../shared"
local OLDER = SHARED .. "/data/dsocr_h200/"

-- An export, or one that xz packed; NVIDIA's answer to a report is answers .. name .. ".csv".
local captures = {
  { export = ROOT .. "tests/fixtures/tiny_h200/run.sqlite",
    answers = ROOT .. "tests/fixtures/tiny_h200/" },
  { export = ROOT .. "tests/fixtures/deepseek_ocr/run.sqlite",
    answers = ROOT .. "tests/fixtures/dsocr_h200/" },
  { packed = OLDER .. "run.sqlite.xz", answers = OLDER .. "nsys_stats/summary_" },
}

-- The columns that order a report's rows.
local order = {
  cuda_api_sum = { "Total Time (ns)" },
  cuda_gpu_kern_gb_sum = { "Total Time (ns)" },
  cuda_gpu_kern_sum = { "Total Time (ns)" },
  cuda_gpu_mem_size_sum = { "Total (MB)" },
  cuda_gpu_mem_time_sum = { "Total Time (ns)" },
  cuda_kern_exec_sum = { "TAvg (ns)" },
  nvtx_gpu_proj_sum = { "Total Proj Time (ns)" },
  nvtx_kern_sum = { "NVTX Range", "PID", "TID", "Total Time (ns)" },
  nvtx_sum = { "Total Time (ns)" },
}


-- Unpack into a folder; nil where the file or xz is not there.
local function unpacked(path, folder)
  if not fs.stat(path) then return nil end
  local copy = folder .. "/run.sqlite"
  local result = spawn.run({ "xz", "-dc", path }, { stdout = copy })
  return result and result.ok and copy or nil
end


local function printed(export, name, options)
  local report = stats.report(export, name, options)
  local path = os.tmpname()
  assert(tables.save(path, "csv", report.columns, report.rows, {}))
  local text = assert(fs.read(path))
  os.remove(path)
  return text
end


local function lines_of(text)
  local header, lines = nil, {}
  for line in text:gmatch "[^\n]+" do
    if header then lines[#lines + 1] = line else header = line end
  end
  table.sort(lines)
  return header, lines
end


-- What orders the rows, row by row.
local function order_of(text, columns)
  local list = {}
  for row in assert(csv.parse(text)):rows() do
    local key = {}
    for i, column in ipairs(columns) do key[i] = row[column] or "" end
    list[#list + 1] = table.concat(key, "|")
  end
  return list
end


for _, capture in ipairs(captures) do
  describe("llmprof.stats on " .. (capture.export or capture.packed), function()
    local folder, export

    setup(function()
      folder = assert(fs.temp_dir "llmprof-stats-")
      local path = capture.export or unpacked(capture.packed, folder)
      export = path and assert(trace.open(path))
    end)

    teardown(function()
      if export then export:close() end
      assert(fs.remove_tree(folder))
    end)

    for _, name in ipairs(stats.names) do
      it("prints NVIDIA's " .. name, function()
        if not export then return pending("not here, or no xz: " .. capture.packed) end
        local wanted = assert(fs.read(capture.answers .. name .. ".csv"))
        local got = printed(export, name, { names = "2023" })
        local wanted_header, wanted_lines = lines_of(wanted)
        local header, lines = lines_of(got)
        assert.equal(wanted_header, header)
        assert.is_true(#wanted_lines > 0)
        assert.same(wanted_lines, lines)
        assert.same(order_of(wanted, order[name]), order_of(got, order[name]))
      end)
    end
  end)
end


describe("llmprof.trace.stats", function()
  local export

  setup(function() export = assert(trace.open(captures[1].export)) end)
  teardown(function() export:close() end)

  it("has an answer of NVIDIA's for every report", function()
    local count = 0
    for name in pairs(order) do
      assert.equal(name, (stats.find(name)))
      count = count + 1
    end
    assert.equal(9, count)
    assert.equal(9, #stats.names)
  end)

  it("writes ranges of the default domain as nsys 2025 does unless told", function()
    local _, lines = lines_of(printed(export, "nvtx_sum", {}))
    assert.same({
      "0.5,475975,1,475975.0,475975.0,475975,475975,0.0,PushPop,:prefill",
      "99.5,102030773,1,102030773.0,102030773.0,102030773,102030773,0.0,PushPop,:decode",
    }, lines)
  end)

  it("has a deviation, of 0, where no kernel waited in the queue, as NVIDIA has it", function()
    local unqueued <close> = timeline.fixture "unqueued"
    local _, lines = lines_of(printed(unqueued, "cuda_kern_exec_sum", {}))
    assert.same({ "10,1,0,2,0,200.0,200.0,200,200,0.0,200.0,200.0,200,200,0.0,,,,,0.0,"
      .. "50.0,50.0,50,50,0.0,cudaLaunchKernel,add(float *)" }, lines)
  end)

  it("takes short kernel names on request, and the names from before 2023", function()
    local report = stats.report(export, "gpukernsum:base", {})
    assert.equal("cuda_gpu_kern_sum_base", report.name)
    assert.same({ "axpy", "gemv" }, report.rows:values "label")
  end)

  it("cuts after the rows that were asked for, without changing the shares", function()
    local _, lines = lines_of(printed(export, "cuda_gpu_kern_sum", { limit = 1 }))
    assert.same({ "98.2,18146560,20000,907.3,896.0,896,1440,15.8,"
      .. '"axpy(float, const float *, float *, int)"' }, lines)
  end)
end)
