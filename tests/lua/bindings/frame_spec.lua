-- Frames and intervals, as traces give them.
local trace = require "llmprof.trace"

local TINY = (debug.getinfo(1, "S").source:match "^@(.-)tests/lua/bindings/" or "")
  .. "tests/fixtures/tiny_h200/run.sqlite"
local GEMV = "gemv(const float *, const float *, float *, int)"
local AXPY = "axpy(float, const float *, float *, int)"


describe("llmprof.frame", function()
  local t, kernels

  before_each(function()
    t = assert(trace.open(TINY))
    kernels = assert(t:frame "kernels")
  end)
  after_each(function() t:close() end)

  local function raises(message, what, ...)
    local ok, got = pcall(kernels[what], kernels, ...)
    assert.is_false(ok)
    assert.equal(message, (got:gsub("^bad argument #%d+ to '%?' ", "")))
  end

  it("describes its columns", function()
    local columns = assert(t:frame "api"):columns()
    assert.same({
      { name = "name", type = "string" }, { name = "start", type = "integer", unit = "ns" },
      { name = "end", type = "integer", unit = "ns" },
      { name = "duration", type = "integer", unit = "ns" }, { name = "pid", type = "integer" },
      { name = "tid", type = "integer" }, { name = "correlation", type = "integer" },
    }, columns)
  end)

  it("gives cells, counted from 1, nil where absent", function()
    assert.equal(GEMV, kernels:get(1, "name"))
    assert.equal(33344, kernels:get(1, "duration"))
    assert.equal(AXPY, kernels:get(20010, "name"))
    assert.is_nil(kernels:get(1, "graph_node"))
  end)

  it("gives whole columns, false where absent", function()
    local sets = assert(t:frame "transfers")
    assert.same({ 67108864, 16384, 16384 }, sets:values "bytes")
    assert.same({ "[CUDA memset]", "[CUDA memset]", "[CUDA memset]" }, sets:values "name")
    assert.same({ false, false }, kernels:where { { "op", "<", 2 } }:values "graph_node")
  end)

  it("selects rows", function()
    local function count(conditions) return #kernels:where(conditions) end
    assert.equal(20010, count {})
    assert.equal(10, count { name = GEMV })
    assert.equal(20010, count { name = { GEMV, AXPY, "no such kernel" } })
    assert.equal(0, count { name = "no such kernel" })
    assert.equal(0, count { name = {} })
    assert.equal(20000, count { { "name", "~=", GEMV } })
    assert.equal(10, count { { "duration", ">", 1440 } })
    assert.equal(11, count { { "duration", ">=", 1440 } })
    assert.equal(19999, count { { "duration", "<", 1440 } })
    assert.equal(20000, count { { "duration", "<=", 1440 } })
    assert.equal(20010, count { graph_node = false })
    assert.equal(0, count { { "graph_node", "~=", false } })
    assert.equal(1, count { name = GEMV, { "op", "<", 5 }, { "op", ">", 3 } })
  end)

  it("groups and sums up", function()
    local groups = kernels:group { by = { "short_name" }, sum = { "duration" },
      distinct = { "grid_x", "graph_node" }, percentiles = { 50, 99.9 }, union = true }
    assert.equal(2, #groups)
    local gemv = groups[1]
    assert.equal("gemv", gemv.short_name)
    assert.equal(10, gemv.count)
    assert.same({ grid_x = 1, graph_node = 0 }, gemv.distinct)
    assert.equal(326272, gemv.busy)
    assert.equal(326272, gemv.duration.total)
    assert.equal(10, gemv.duration.count)
    assert.equal(31904, gemv.duration.min)
    assert.equal(33440, gemv.duration.max)
    assert.equal(32627.2, gemv.duration.mean)
    assert.equal(32496.0, gemv.duration.median)
    assert.equal(32496.0, gemv.duration.p50)
    assert.equal("562.7", ("%.1f"):format(gemv.duration.stddev))
    assert.is_true(gemv.duration["p99.9"] <= 33440)
    assert.equal(kernels:get(1, "start"), gemv.first)
    assert.equal(kernels:get(10, "end"), gemv.last)
  end)

  it("groups all rows without keys, and none into none", function()
    assert.same({ { count = 20010 } }, kernels:group {})
    assert.same({}, kernels:where { op = -1 }:group { by = { "name" }, sum = { "duration" } })
  end)

  it("adds up alone", function()
    local summed = kernels:group { by = { "short_name" }, sum = { "duration" } }
    for i, row in ipairs(kernels:group { by = { "short_name" }, total = { "duration" } }) do
      local times = summed[i].duration
      assert.same({ count = times.count, total = times.total, min = times.min, max = times.max },
        row.duration)
    end
    raises("column 'name' holds strings, not numbers", "group", { total = { "name" } })
  end)

  it("refuses rows and columns that are not there", function()
    raises("(no such row)", "get", 0, "name")
    raises("(no such row)", "get", 20011, "name")
    raises("(number expected, got string)", "get", "x", "name")
    raises("no column 'x' here", "get", 1, "x")
    raises("a column name is a string, not a no value", "get", 1)
    raises("a column name is a string, not a table", "values", {})
  end)

  it("refuses conditions that mean nothing", function()
    raises("(table expected, got number)", "where", 5)
    raises("no column 'x' here", "where", { x = 1 })
    raises("column 'device' holds integers, not a string", "where", { device = "0" })
    raises("column 'device' holds integers, not a number", "where", { device = 0.5 })
    raises("column 'name' holds strings, not a number", "where", { name = 1 })
    raises("column 'device' holds integers, not a boolean", "where", { device = true })
    raises("strings compare with == and ~= only", "where", { { "name", "<", "x" } })
    raises("a comparison is one of == ~= < <= > >=, not '='", "where", { { "device", "=", 1 } })
    raises("a condition is { column, comparison, value }", "where", { 5 })
    raises("< takes one number, not a table", "where", { { "device", "<", { 1, 2 } } })
    raises(">= takes one number, not a boolean", "where", { { "device", ">=", false } })
  end)

  it("refuses groups that mean nothing", function()
    raises("(table expected, got no value)", "group")
    raises("option 'by' is a list of columns", "group", { by = "name" })
    raises("no column 'x' here", "group", { by = { "x" } })
    raises("column 'name' holds strings, not numbers", "group", { sum = { "name" } })
    raises("option 'percentiles' is a list of numbers", "group", { percentiles = 50 })
    raises("a percentile is a number between 0 and 100", "group", { percentiles = { 101 } })
    raises("a percentile is a number between 0 and 100", "group", { percentiles = { "x" } })
    raises("at most 8 percentiles", "group", { percentiles = { 1, 2, 3, 4, 5, 6, 7, 8, 9 } })
    raises("(option 'union': boolean expected, got number)", "group", { union = 1 })
    kernels = assert(t:frame "kernel_ranges")
    raises("no column 'start' here", "group", { union = true })
    raises("no column 'start' here", "union")
  end)

  it("closes more than once; views need what they were made from", function()
    local view = kernels:where { name = GEMV }
    local other = kernels:where { name = AXPY }
    view:close()
    view:close()
    assert.equal(20000, #other)
    assert.error_matches(function() view:get(1, "name") end, "llmprof.frame is closed")
    kernels:close()
    raises("(llmprof.frame is closed)", "columns")
    kernels = other
    raises("(what the frame was made from is closed)", "get", 1, "name")
  end)
end)


describe("intervals of a frame", function()
  local t, busy

  before_each(function()
    t = assert(trace.open(TINY))
    busy = assert(t:frame "kernels"):where { short_name = "gemv" }:union()
  end)
  after_each(function() t:close() end)

  it("are the union of its rows", function()
    assert.equal(10, #busy)
    assert.same({ 496164129, 496197473 }, { busy:get(1) })
    assert.same({ 496164129, 496502209 }, { busy:span() })
    assert.equal(326272, busy:covered())
    assert.equal(871, busy:covered(496164129 - 5, 496165000))
    assert.equal(0, busy:covered(496165000, 496164129))
  end)

  it("have gaps and overlaps", function()
    local gaps = busy:gaps(busy:span())
    assert.equal(9, #gaps)
    assert.equal(338080 - 326272, gaps:covered())
    assert.equal(0, gaps:overlap(busy))
    assert.equal(326272, busy:overlap(busy))
    assert.equal(busy:covered() + gaps:covered(), busy:join(gaps):covered())
    assert.equal(0, #busy:gaps(496164129, 496502209, 1000000))
  end)

  it("cover windows by group, without being kept", function()
    local gemv = assert(t:frame "kernels"):where { short_name = "gemv" }
    assert.same({ { 871, 326272 } }, gemv:covered({ "short_name" },
      { { 496164129 - 5, 496165000 }, { 496164129 - 5, math.maxinteger } }))
    assert.error_matches(function() gemv:covered({}, { { 5, 9 }, { 4, 9 } }) end, "windows ascend")
    assert.error_matches(function() gemv:covered({}, { { 5 } }) end, "a window is { from, to }")
  end)

  it("may be none", function()
    assert.same({}, assert(t:frame "graphs"):covered({}, { { 0, 1 } }))
    local none = assert(t:frame "graphs"):union()
    assert.equal(0, #none)
    assert.equal(0, select("#", none:span()))
    assert.equal(0, none:covered())
    assert.error_matches(function() none:get(1) end, "no such interval")
  end)

  it("outlive the frame and are empty once closed", function()
    t:close()
    collectgarbage()
    assert.equal(326272, busy:covered())
    busy:close()
    busy:close()
    assert.equal(0, #busy)
    assert.equal(0, busy:covered())
  end)

  it("refuse what means nothing", function()
    assert.error_matches(function() busy:get(0) end, "no such interval")
    assert.error_matches(function() busy:get(11) end, "no such interval")
    assert.error_matches(function() busy:overlap {} end, "llmprof.intervals expected, got table")
    assert.error_matches(function() busy:gaps(1) end, "number expected, got no value")
    assert.error_matches(function() busy:covered "x" end, "number expected, got string")
  end)
end)
