-- Latency from stages, from marked steps and from the workload's own numbers.
local latency = require "llmprof.analysis.latency"
local steps = require "llmprof.analysis.steps"


-- A trace whose frames of ranges hold these { start, stop }, whatever their tag.
local function trace_with(ranges)
  local rows = {}
  local frame = setmetatable({}, { __len = function() return #rows end, __index = {
    get = function(_, row, column) return rows[row][column == "start" and 1 or 2] end,
  } })
  return { frame = function()
    return { where = function(_, wanted)
      rows = wanted.tag == "decode_step" and ranges or {}
      return frame
    end }
  end }
end


local ms = 1000000

-- An instance: stage, repeat, start and wall in ms.
local function instance(stage, rep, start, wall, used)
  return { stage = stage, rep = rep, start = start * ms, stop = (start + wall) * ms,
    wall = wall * ms, used = used ~= false }
end


-- Two repeats of prefill and decode: 20 and 22 ms, then 100 and 120 ms.
local function found(given)
  local made = { declared = { { name = "prefill" }, { name = "decode", step = "decode_step" } },
    repeats = { count = 2, skipped_first = false, first_is_outlier = false },
    instances = { instance("prefill", 1, 0, 20), instance("decode", 1, 20, 100),
      instance("prefill", 2, 200, 22), instance("decode", 2, 222, 120) } }
  for key, value in pairs(given or {}) do made[key] = value end
  return made
end


describe("latency", function()
  local none = trace_with {}

  it("takes TTFT from prefill, with mean and deviation", function()
    local ttft = latency.measure(none, found(), {}).ttft
    assert.same({ 2, 21 * ms, 20 * ms, 22 * ms }, { ttft.count, ttft.mean_ns, ttft.min_ns,
      ttft.max_ns })
    assert.near(1414213.56, ttft.std_ns, 0.01)
    assert.same({ 21 * ms, 21.8 * ms, 21.98 * ms }, { ttft.p50_ns, ttft.p90_ns, ttft.p99_ns })
  end)

  it("takes TPOT from decode over its steps, and all tokens per second", function()
    local measured = latency.measure(none, found(), { steps = 10, batch = 4 })
    assert.same({ "stage", 2, 11 * ms }, { measured.tpot.source, measured.tpot.count,
      measured.tpot.mean_ns })
    assert.is_nil(measured.tpot.slope_ns_per_token)
    assert.near(366.667, measured.tokens_per_s.mean, 0.001) -- of 400 and 333.333
    assert.near(47.140, measured.tokens_per_s.std, 0.001)
    assert.equal(4, measured.tokens_per_s.batch)
  end)

  it("takes TPOT and its slope from marked steps", function()
    local marked = {}
    for i = 0, 3 do marked[#marked + 1] = { (20 + 20 * i) * ms, (30 + 21 * i) * ms } end
    for i = 0, 3 do marked[#marked + 1] = { (222 + 20 * i) * ms, (232 + 23 * i) * ms } end
    marked[#marked + 1] = { 400 * ms, 500 * ms } -- in no decode
    local tpot = latency.measure(trace_with(marked), found(), { steps = 4 }).tpot
    -- 10 11 12 13 and 10 13 16 19
    assert.same({ "ranges", 8, 13 * ms, 2 * ms }, { tpot.source, tpot.count, tpot.mean_ns,
      tpot.slope_ns_per_token })
    assert.same({ 0.0, "longer" }, { tpot.slope_error_ns, tpot.trend })
    assert.same({ 12.5 * ms, 16.9 * ms, 18.79 * ms }, { tpot.p50_ns, tpot.p90_ns, tpot.p99_ns })
    assert.same({ 10 * ms, 19 * ms }, { tpot.min_ns, tpot.max_ns })
  end)

  it("takes them from the workload's own numbers where no range marks them", function()
    local metrics = { repeats = { { stages = { decode = { steps_ms = { 900, 100 } } } },
      { stages = { decode = { steps_ms = { 10, 12, 14 } } } } } }
    local tpot = latency.measure(none, found { repeats = { count = 2, skipped_first = true } },
      { metrics = metrics }).tpot
    assert.same({ "metrics", 3, 12 * ms, 2 * ms }, { tpot.source, tpot.count, tpot.mean_ns,
      tpot.slope_ns_per_token })
  end)

  it("tells a trend from chance", function()
    local function trend(...)
      local metrics = { repeats = { { stages = { decode = { steps_ms = { ... } } } } } }
      local one = found { repeats = { count = 1 } }
      return latency.measure(none, one, { metrics = metrics }).tpot.trend
    end
    assert.equal("none", trend(10, 14, 9, 15, 10, 16))
    assert.equal("shorter", trend(16, 15, 14.5, 13, 12, 11))
    assert.equal("none", trend(5, 5, 5))
    assert.is_nil(trend(5, 6))
  end)

  it("gives each repeat, and flags a first one that is far slower", function()
    local list = latency.measure(none, found {
      repeats = { count = 2, skipped_first = true, first_is_outlier = true },
      instances = { instance("prefill", 1, 0, 500, false), instance("decode", 1, 500, 1000, false),
        instance("prefill", 2, 2000, 20), instance("decode", 2, 2020, 100) },
    }, { steps = 10, batch = 1 }).repeats
    assert.same({
      { rep = 1, used = false, outlier = true, ttft_ns = 500 * ms, tpot_ns = 100 * ms,
        tokens_per_s = 10 },
      { rep = 2, used = true, ttft_ns = 20 * ms, tpot_ns = 10 * ms, tokens_per_s = 100 },
    }, list)
  end)

  it("leaves out what cannot be known", function()
    local measured = latency.measure(none, found(), {})
    assert.is_nil(measured.tpot)
    assert.is_nil(measured.tokens_per_s)
    assert.same({ rep = 1, used = true, ttft_ns = 20 * ms }, measured.repeats[1])
    assert.is_nil(latency.measure(none, found { whole = true }, {}))
  end)
end)


describe("steps", function()
  local decode = { name = "decode", step = "decode_step" }

  -- All idle time of a gap is the framework's.
  local function split(gap) return { host = gap.stop - gap.start, launch = 0 } end

  it("finds what lies between the steps of each decode", function()
    local ranges = { { 30 * ms, 40 * ms }, { 43 * ms, 50 * ms }, { 50 * ms, 60 * ms },
      { 230 * ms, 240 * ms }, { 245 * ms, 250 * ms } }
    local list = steps.of(trace_with(ranges), found(), decode)
    assert.same({ count = 2.5, between_ns = 4 * ms, idle_ns = 4 * ms, host_ns = 4 * ms,
      launch_ns = 0 }, steps.between(list, split))
  end)

  it("is nothing without a declared step, and without ranges", function()
    assert.same({}, steps.of(trace_with {}, found(), { name = "decode" }))
    assert.is_nil(steps.between(steps.of(trace_with {}, found(), decode), split))
  end)
end)
