local fs = require "llmprof.fs"
local merge = require "llmprof.merge"
local sqlite = require "llmprof.sqlite"
local trace = require "llmprof.trace"

local ONE, TWO = "tests/fixtures/repeats/run.1.sqlite", "tests/fixtures/repeats/run.2.sqlite"

-- utcEpochNs of the second session less that of the first.
local LATER = 1795244373167600589 - 1795244370445474713

describe("llmprof.merge.files", function()
  local folder, target

  before_each(function()
    folder = assert(fs.temp_dir "llmprof-merge-")
    target = folder .. "/merged.sqlite"
  end)
  after_each(function() assert(fs.remove_tree(folder)) end)

  local function rows(path, sql)
    local list = {}
    for row in assert(sqlite.open(path)):query(sql) do list[#list + 1] = row end
    return list
  end

  local function merged(frame)
    assert(merge.files({ ONE, TWO }, target))
    return assert(assert(trace.open(target)):frame(frame))
  end

  it("appends the events, later by what the session began later", function()
    local sql = "SELECT start, end FROM NVTX_EVENTS WHERE text = 'decode' ORDER BY start"
    assert(merge.files({ ONE, TWO }, target))
    assert.same({ { start = 8023941, ["end"] = 8236499 },
      { start = 5850808 + LATER, ["end"] = 6035741 + LATER } }, rows(target, sql))
  end)

  it("keeps kernels with their names, calls and ranges", function()
    local kernels = merged "kernels"
    assert.equal(60, #kernels)
    local names = {}
    for _, row in ipairs(kernels:group { by = { "name" } }) do names[row.name] = row.count end
    local expected = {}
    for _, path in ipairs { ONE, TWO } do
      for _, row in ipairs(rows(path, "SELECT value AS name, count(*) AS n FROM "
        .. "CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = demangledName GROUP BY 1")) do
        expected[row.name] = (expected[row.name] or 0) + row.n
      end
    end
    assert.same(expected, names)
    local steps = merged "projections":where { tag = { "decode_step" } }
    assert.equal(10, #steps)
    for row = 1, #steps do assert.equal(6, steps:get(row, "operations")) end
  end)

  it("counts samples on, so that each keeps its stack and its time", function()
    local sampled = "tests/fixtures/cpu_samples/run.sqlite"
    local function told(path)
      local frame = assert(assert(trace.open(path)):frame "cpu_samples")
      local list = frame:group { by = { "name", "caller", "tid" } }
      return #frame, list, frame:get(1, "time")
    end
    local count, functions, first = told(sampled)
    assert(merge.files({ ONE, sampled, sampled }, target))
    local all, both, time = told(target)
    assert.equal(2 * count, all)
    assert.equal(#functions, #both)
    for i, row in ipairs(functions) do
      assert.same({ row.name, row.caller, row.tid, 2 * row.count },
        { both[i].name, both[i].caller, both[i].tid, both[i].count })
    end
    local epochs = {}
    for i, path in ipairs { ONE, sampled } do epochs[i] = assert(trace.open(path)):info().epoch end
    assert.equal(first + epochs[2] - epochs[1], time)
  end)

  it("adds tables that only a later one has, and descriptions once", function()
    assert(merge.files({ ONE, TWO }, target))
    assert.same({ { n = 1 } }, rows(target, "SELECT count(*) AS n FROM PROFILER_OVERHEAD"))
    assert.same({ { n = 1 } }, rows(target, "SELECT count(*) AS n FROM ThreadNames"))
    assert.same({ { n = 1 } }, rows(target, "SELECT count(*) AS n FROM TARGET_INFO_GPU"))
    assert.same({ { n = 23 } }, rows(target, "SELECT count(*) AS n FROM DIAGNOSTIC_EVENT"))
  end)

  it("copies one alone", function()
    assert(merge.files({ ONE }, target))
    assert.equal(fs.read(ONE), fs.read(target))
  end)

  it("fails on what is no export, and leaves nothing", function()
    fs.write(folder .. "/text", "no database")
    local other = folder .. "/text"
    local ok, message, code = merge.files({ ONE, other }, target)
    assert.is_nil(ok)
    assert.equal(other .. ": not an SQLite database", message)
    assert.equal("syntax", code)
    assert.same({ nil, folder .. "/none: No such file or directory", "notfound" },
      { merge.files({ ONE, folder .. "/none" }, target) })
    assert.same({ "text" }, fs.list(folder))
  end)

  it("needs to know when a session began", function()
    local old = "tests/fixtures/repeats/timeless.sqlite"
    local ok, message, code = merge.files({ ONE, old }, target)
    assert.is_nil(ok)
    assert.equal(old .. ": does not say when its session began", message)
    assert.equal("unsupported", code)
    assert.same({}, fs.list(folder))
  end)

  it("wants paths", function()
    assert.error_matches(function() merge.files({}, target) end, "a path or more expected")
    assert.error_matches(function() merge.files("x", target) end, "table expected")
    assert.error_matches(function() merge.files({ ONE, 12 }, target) end,
      "[2]: string expected, got number", 1, true)
    for _, call in ipairs { { { "a\0b" }, target }, { { ONE }, target .. "\0" } } do
      assert.error_matches(function() merge.files(table.unpack(call)) end, "NUL byte")
    end
  end)
end)
