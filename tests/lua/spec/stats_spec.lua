-- The nine reports against what `nsys stats` 2023.4.4 printed for the same
-- exports: every row and every figure. Rows may be in another order only where
-- the figure that orders them is the same.
local csv = require "llmprof.csv"
local fs = require "llmprof.fs"
local stats = require "llmprof.stats"
local tables = require "llmprof.tables"
local trace = require "llmprof.trace"

local ROOT = debug.getinfo(1, "S").source:match "^@(.-)tests/lua/spec/" or ""

local captures = {
  { export = "tests/fixtures/tiny_h200/run.sqlite", answers = "tests/fixtures/tiny_h200/" },
  { export = "recipes/recorded/deepseek_ocr/run.sqlite", answers = "tests/fixtures/dsocr_h200/" },
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


local function open(capture)
  return assert(trace.open(ROOT .. capture.export))
end


local function printed(export, name, options)
  local report = stats.report(export, name, options)
  return tables.render("csv", report.columns, report.rows, { keys = "title" })
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
  describe("llmprof.stats on " .. capture.export, function()
    local export

    setup(function() export = open(capture) end)
    teardown(function() export:close() end)

    for _, name in ipairs(stats.names) do
      it("prints NVIDIA's " .. name, function()
        local wanted = assert(fs.read(ROOT .. capture.answers .. name .. ".csv"))
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


describe("llmprof.stats", function()
  local export

  setup(function() export = open(captures[1]) end)
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

  it("takes short kernel names on request, and the names from before 2023", function()
    local report = stats.report(export, "gpukernsum:base", {})
    assert.equal("cuda_gpu_kern_sum_base", report.name)
    assert.equal("axpy", report.rows[1].label)
    assert.equal("gemv", report.rows[2].label)
  end)

  it("cuts after the rows that were asked for, without changing the shares", function()
    local _, lines = lines_of(printed(export, "cuda_gpu_kern_sum", { limit = 1 }))
    assert.same({ "98.2,18146560,20000,907.3,896.0,896,1440,15.8,"
      .. '"axpy(float, const float *, float *, int)"' }, lines)
  end)
end)
