-- Latency from stages, from steps on the timeline and from the workload's own
-- numbers; what is left out as cold.
local latency = require "llmprof.analysis.latency.latency"
local cold = require "llmprof.analysis.stages.warmup"
local steps = require "llmprof.analysis.stages.steps"
local traces = require "tests.lua.support.traces"

local ms = 1000000

-- An instance: stage, repeat, start and wall in ms; lengths of its steps in ms.
local function instance(stage, rep, start, wall, lengths)
  local made = { stage = stage, rep = rep, start = start * ms, stop = (start + wall) * ms,
    wall = wall * ms, used = true }
  local at = start
  for i, length in ipairs(lengths or {}) do
    made.steps = made.steps or {}
    made.steps[i] = { start = at * ms, stop = (at + length) * ms }
    at = at + length
  end
  return made
end


-- Two repeats of prefill and decode: 20 and 22 ms, then 100 and 120 ms; the
-- lengths of the decodes' steps.
local function found(first, second, given)
  local made = { declared = { { name = "prefill" }, { name = "decode", step = "decode_step" } },
    repeats = { count = 2, skipped_first = false, first_is_outlier = false },
    instances = { instance("prefill", 1, 0, 20), instance("decode", 1, 20, 100, first),
      instance("prefill", 2, 200, 22), instance("decode", 2, 222, 120, second) } }
  for key, value in pairs(given or {}) do made[key] = value end
  return made
end


describe("latency", function()
  it("takes TTFT from prefill, with mean and deviation", function()
    local ttft = latency.measure(found(), {}).ttft
    assert.same({ 2, 21 * ms, 20 * ms, 22 * ms, 21 * ms }, { ttft.count, ttft.mean_ns,
      ttft.min_ns, ttft.max_ns, ttft.p50_ns })
    assert.near(1414213.56, ttft.std_ns, 0.01)
    assert.same({ nil, nil }, { ttft.p90_ns, ttft.p99_ns })
  end)

  it("waits for the first token where the CPU does not", function()
    local made = found()
    made.instances[1].done, made.instances[3].done = 50 * ms, 210 * ms
    assert.equal(50 * ms, latency.measure(made, {}).repeats[1].ttft_ns)
    assert.equal(22 * ms, latency.measure(made, {}).repeats[2].ttft_ns)
  end)

  it("has no TTFT of a prefill that has no end", function()
    local made = found()
    made.instances[1].open = true
    local measured, is_open = latency.measure(made, {})
    assert.same({ 22 * ms, false }, { measured.ttft.mean_ns, is_open })
    made.instances[3].open = true
    measured, is_open = latency.measure(made, {})
    assert.same({ nil, nil, true }, { measured.ttft, measured.repeats[1].ttft_ns, is_open })
  end)

  it("takes TTFT from clients where a server's stages are inferred", function()
    local metrics = { repeats = { { stages = {},
      requests = { { ttft_ms = 500 }, { ttft_ms = 514 } } } } }
    local made = latency.measure(found(nil, nil, { inferred = {} }), { metrics = metrics })
    assert.same({ 507 * ms, "clients" }, { made.ttft.mean_ns, made.ttft.source })
    assert.is_nil(made.repeats[1].ttft_ns)
    made = latency.measure(found(nil, nil, { inferred = {} }), { metrics = { repeats = {} } })
    assert.same({ 21 * ms, nil }, { made.ttft.mean_ns, made.ttft.source })
    assert.equal(21 * ms, latency.measure(found(), { metrics = metrics }).ttft.mean_ns)
  end)

  it("takes TPOT from decode over its steps, and all tokens per second", function()
    local measured = latency.measure(found(), { steps = 10, batch = 4 })
    assert.same({ "stage", 2, 11 * ms }, { measured.tpot.source, measured.tpot.count,
      measured.tpot.mean_ns })
    assert.is_nil(measured.tpot.slope_ns_per_token)
    assert.near(366.667, measured.tokens_per_s.mean, 0.001) -- of 400 and 333.333
    assert.near(47.140, measured.tokens_per_s.std, 0.001)
    assert.equal(4, measured.tokens_per_s.batch)
  end)

  it("takes TPOT and its slope from steps", function()
    local tpot = latency.measure(found({ 10, 11, 12, 13 }, { 10, 13, 16, 19 }), {}).tpot
    assert.same({ "ranges", 8, 13 * ms, 2 * ms }, { tpot.source, tpot.count, tpot.mean_ns,
      tpot.slope_ns_per_token })
    assert.same({ ms / 2, "longer" }, { tpot.slope_error_ns, tpot.trend })
    assert.same({ 12.5 * ms, 10 * ms, 19 * ms }, { tpot.p50_ns, tpot.min_ns, tpot.max_ns })
  end)

  it("gives a percentile where there are values enough", function()
    local function percentiles(count)
      local lengths = {}
      for i = 1, count do lengths[i] = i end
      local tpot = latency.measure(found(lengths, nil), {}).tpot
      return { tpot.p50_ns ~= nil, tpot.p90_ns ~= nil, tpot.p99_ns ~= nil }
    end
    assert.same({ false, false, false }, percentiles(1))
    assert.same({ true, false, false }, percentiles(9))
    assert.same({ true, true, false }, percentiles(10))
    assert.same({ true, true, false }, percentiles(99))
    assert.same({ true, true, true }, percentiles(100))
  end)

  it("takes them from the workload's own numbers where no range marks them", function()
    local metrics = { repeats = { { stages = { decode = { steps_ms = { 900, 100 } } } },
      { stages = { decode = { steps_ms = { 6, 10, 12, 14 } } } } } }
    local made = found(nil, nil, { repeats = { count = 2, skipped_first = true } })
    made.instances[1].used, made.instances[2].used = false, false
    local tpot = latency.measure(made, { metrics = metrics }).tpot
    assert.same({ "metrics", 4, 10.5 * ms, 2 * ms }, { tpot.source, tpot.count, tpot.mean_ns,
      tpot.slope_ns_per_token })
  end)

  it("tells a trend from chance", function()
    local function trend(...)
      local metrics = { repeats = { { stages = { decode = { steps_ms = { ... } } } } } }
      return latency.measure(found(nil, nil, { repeats = { count = 1 } }),
        { metrics = metrics }).tpot.trend
    end
    assert.equal("none", trend(10, 14, 9, 15, 10, 16))
    assert.equal("shorter", trend(16, 15, 14.5, 13, 12, 11))
    assert.equal("none", trend(5, 5, 5, 5))
    assert.is_nil(trend(5, 6, 7))
  end)

  it("finds what is added to each step, whatever the first ones took", function()
    local lengths, grown = {}, {}
    for i = 1, 32 do lengths[i] = 3 + (i % 7) / 10 end
    lengths[1], lengths[12] = 7, 25
    for i, length in ipairs(lengths) do grown[i] = length + 0.02 * i end
    local before = latency.measure(found(lengths, lengths), {}).tpot
    local after = latency.measure(found(grown, grown), {}).tpot
    assert.near(0.02 * ms, after.slope_ns_per_token - before.slope_ns_per_token, 1)
    assert.equal("longer", after.trend)
  end)

  it("counts a step of ranks that communicate once", function()
    local made = { declared = { { name = "decode", step = "decode_step" } },
      repeats = { count = 1, skipped_first = false }, instances = {} }
    for rank = 0, 1 do
      local one = instance("decode", 1, rank, 100, { 10, 12 + rank, 11 })
      one.rank, made.instances[rank + 1] = rank, one
    end
    local together = { ranks = { { rank = 0, leader = 0 }, { rank = 1, leader = 0 } } }
    local tpot = latency.measure(made, { ranks = together }).tpot
    assert.same({ 3, { 10 * ms, 12.5 * ms, 11 * ms } }, { tpot.count, tpot.values_ns })
    assert.equal(6, latency.measure(made, {}).tpot.count)
  end)

  it("calls clients of a server no contradiction", function()
    local metrics = { batch = 1, repeats = { { stages = { decode = { ms = 100, steps = 4 } } } } }
    local made = found({ 10, 10, 10, 10 }, nil, { repeats = { count = 1 } })
    assert.equal(0.6, latency.measure(made, { metrics = metrics }).contradiction.difference)
    metrics.repeats[1].requests = { {} }
    assert.is_nil(latency.measure(made, { metrics = metrics }).contradiction)
  end)

  it("takes no trend of one repeat for that of all", function()
    local function trend(first, second)
      return latency.measure(found(first, second), {}).tpot.trend
    end
    assert.equal("shorter", trend({ 14, 12, 10, 8 }, { 20, 17, 14, 11 }))
    assert.equal("none", trend({ 10, 10.1, 10.2, 10.3 }, { 20, 17, 14, 11, 8, 5, 2 }))
  end)

  it("gives each repeat, with what does not count", function()
    local made = found(nil, nil, { repeats = { count = 2, skipped_first = false,
      first_is_outlier = false, left_out = { { stage = "prefill", rep = 1, ns = 20 * ms,
        usual_ns = 22 * ms } } } })
    made.instances[1].used = false
    local measured = latency.measure(made, { steps = 10, batch = 1 })
    assert.same({
      { rep = 1, used = true, left_out = { "prefill" }, ttft_ns = 20 * ms,
        tpot_ns = 10 * ms, tokens_per_s = 100 },
      { rep = 2, used = true, ttft_ns = 22 * ms, tpot_ns = 12 * ms,
        tokens_per_s = 1e9 / (12 * ms) },
    }, measured.repeats)
    assert.same({ 1, 2 }, { measured.ttft.count, measured.tpot.count })
  end)

  it("says when the workload's own time of a step is another", function()
    local function wrong(own)
      local rep = { stages = { decode = { ms = own * 4, steps = 4 } } }
      return latency.measure(found({ 10, 10, 10, 10 }, { 10, 10, 10, 10 }),
        { metrics = { repeats = { rep, rep } } }).contradiction
    end
    assert.same({ timeline_ns = 10 * ms, workload_ns = 20 * ms, difference = 0.5 }, wrong(20))
    assert.same({ timeline_ns = 10 * ms, workload_ns = 1 * ms, difference = 0.9 }, wrong(1))
    assert.is_nil(wrong(10.5))
    assert.is_nil(wrong(9.6))
    assert.is_table(wrong(9.4))
  end)

  it("leaves out what cannot be known", function()
    local measured = latency.measure(found(), {})
    assert.same({ nil, nil, nil, nil }, { measured.tpot, measured.tokens_per_s, measured.host,
      measured.contradiction })
    assert.same({ rep = 1, used = true, ttft_ns = 20 * ms }, measured.repeats[1])
    assert.is_nil(latency.measure(found(nil, nil, { whole = true }), {}))
  end)
end)


describe("a CPU that does not wait", function()
  local declared = { { name = "LLM:prefill" }, { name = "LLM:decode", step = "LLM:step" } }
  local _, made = traces.open("ahead", declared)
  local measured = latency.measure(made, { batch = 2 })

  it("takes as long for a token as the GPU does, however long its ranges", function()
    local tpot = measured.tpot
    assert.same({ 36, 3500, 3500, 3500, "none" }, { tpot.count, tpot.mean_ns, tpot.min_ns,
      tpot.max_ns, tpot.trend })
    assert.near(2e9 / 3500, measured.tokens_per_s.mean, 1e-6)
    assert.equal(20200, measured.ttft.mean_ns)
  end)

  it("is ahead by so much", function()
    assert.same({ 1800, 100, 3500, 79850 }, { measured.host.mean_ns, measured.host.min_ns,
      measured.host.max_ns, measured.host.lead_max_ns })
  end)

  it("leaves out the stage that paid one-time costs, by the GPU's time", function()
    assert.same({ { stage = "LLM:prefill", rep = 1, ns = 60200, usual_ns = 20200 } },
      made.repeats.left_out)
    local used = {}
    for i, one in ipairs(made.instances) do used[i] = one.used end
    assert.same({ false, true, true, true, true, true }, used)
  end)
end)


describe("the first step of a decode", function()
  it("is left out of TPOT where it is no usual one, in every decode", function()
    local slow, usual = { 20, 10, 11, 10, 11, 10 }, { 11, 10, 11, 10, 11, 10 }
    local made = found(slow, slow)
    made.instances[5] = instance("decode", 2, 400, 100, usual)
    made.repeats = cold.judge(made.instances, 2, "auto")
    assert.same({ { stage = "decode", rep = 1, openings = 2, ns = 20 * ms, usual_ns = 10 * ms } },
      made.repeats.left_out)
    assert.equal(16, latency.measure(made, {}).tpot.count)
  end)

  it("counts where the next ones take as long", function()
    local slow = { 20, 21, 20, 22, 21, 10, 10, 10, 10, 10, 10, 10, 10 }
    local made = found(slow, slow)
    made.repeats = cold.judge(made.instances, 2, "auto")
    assert.is_nil(made.repeats.left_out)
  end)

  it("is that of a run of an engine's steps", function()
    local instances = {}
    for i, stage in ipairs { "decode", "decode", "mixed", "decode" } do
      instances[i] = instance(stage, 1, i * 10, 9, stage == "decode" and { 9 } or nil)
      instances[i].rank, instances[i].used = 0, true
    end
    local counts = {}
    for i, run in ipairs(steps.runs(instances, true)) do counts[i] = #run.steps end
    assert.same({ 2, 1 }, counts)
    assert.equal(3, #steps.runs(instances))
  end)
end)


describe("cold starts", function()
  local function judge(prefills, decodes, policy)
    local instances = {}
    for rep, wall in ipairs(prefills) do
      instances[#instances + 1] = instance("prefill", rep, rep * 1000, wall)
      instances[#instances + 1] = instance("decode", rep, rep * 1000 + wall, 100, decodes[rep])
    end
    return cold.judge(instances, #prefills, policy or "auto"), instances
  end

  it("are judged by stage", function()
    local repeats = judge({ 60.3, 19.5, 20.7 }, {})
    assert.same({ { stage = "prefill", rep = 1, ns = 60.3 * ms, usual_ns = 20.1 * ms } },
      repeats.left_out)
    assert.same({ 3, false, false }, { repeats.used, repeats.skipped_first,
      repeats.first_is_outlier })
    assert.is_nil(judge({ 30, 20, 20.1 }, {}).left_out)
    assert.is_nil(judge({ 60.3, 19.5, 20.7 }, {}, "no").left_out)
    assert.is_nil(judge({ 60.3 }, {}, "yes").left_out)
  end)

  it("are of all first repeats that are far slower, half of them at most", function()
    local repeats = judge({ 80, 60, 20, 21 }, {})
    assert.same({ 1, 2 }, { repeats.left_out[1].rep, repeats.left_out[2].rep })
    assert.equal(1, #judge({ 80, 60, 20 }, {}).left_out)
    local all = judge({ 80, 60, 20, 21 }, { { 300, 50 }, { 200, 50 }, { 10, 11 }, { 11, 10 } })
    assert.same({ 4, false }, { all.used, all.skipped_first })
  end)

  it("are judged by the steps of decodes of different lengths", function()
    local instances = {}
    for rep, count in ipairs { 4, 40, 40 } do
      local lengths = {}
      for i = 1, count do lengths[i] = rep == 1 and 90 or 10 end
      instances[rep] = instance("decode", rep, rep * 1000, rep == 1 and 360 or 400, lengths)
    end
    local repeats = cold.judge(instances, 3, "auto")
    assert.same({ { stage = "decode", rep = 1, ns = 90.0 * ms, usual_ns = 10.0 * ms,
      per_step = true } }, repeats.left_out)
    assert.same({ 2, true, false }, { repeats.used, repeats.skipped_first, instances[1].used })
  end)

  it("are judged by step, against those behind it and at its place", function()
    local repeats, instances = judge({ 20, 20 }, { { 50, 20, 10, 11, 10, 11, 10 },
      { 10, 11, 10, 11, 10, 11, 10 } })
    assert.same({ { stage = "decode", rep = 1, step = 0, ns = 50 * ms, usual_ns = 10.5 * ms },
      { stage = "decode", rep = 1, step = 1, ns = 20 * ms, usual_ns = 10 * ms } },
      repeats.left_out)
    assert.equal(12, #latency.measure({ instances = instances, repeats = repeats },
      {}).tpot.values_ns)
    -- the first step of each is slow: no cold start of one, and no step between tokens either
    assert.same({ { stage = "decode", rep = 1, openings = 2, ns = 50 * ms,
      usual_ns = 10.25 * ms } }, judge({ 20, 20 }, { { 50, 10, 10, 11, 10, 11, 10 },
      { 50, 11, 10, 11, 10, 11, 10 } }).left_out)
    assert.is_nil(judge({ 20 }, { { 50, 10, 10, 11 } }).left_out) -- too few behind it
  end)

  it("are as they were judged before", function()
    local before = judge({ 60.3, 19.5, 20.7 }, {})
    local repeats = judge({ 60.3, 19.5, 20.7 }, {}, before)
    assert.same(before.left_out, repeats.left_out)
    -- one that is left out behind a first repeat that counts nowhere, and single steps
    local _, instances = judge({ 20, 20, 20 }, {}, { skipped_first = true, left_out = {
      { stage = "prefill", rep = 1 }, { stage = "decode", rep = 1 },
      { stage = "decode", rep = 2 } } })
    assert.same({ false, false, true, false }, { instances[1].used, instances[2].used,
      instances[3].used, instances[4].used })
    local decodes = { { 50, 20, 10, 11, 10, 11, 10 }, { 10, 11, 10, 11, 10, 11, 10 } }
    before = judge({ 20, 20 }, decodes)
    assert.equal(2, #before.left_out)
    assert.same(before, (judge({ 20, 20 }, decodes, before)))
    assert.is_true(judge({ 20, 20 }, {}, { skipped_first = true }).skipped_first)
    assert.is_nil(judge({ 60.3, 20, 20 }, {}, { skipped_first = false }).left_out)
  end)

  it("count for a stage by its name or what it is", function()
    local repeats = { left_out = { { stage = "LLM:prefill", rep = 1 },
      { stage = "decode", rep = 1, step = 0 } } }
    assert.is_true(cold.left_out(repeats, 1, "LLM:prefill"))
    assert.is_true(cold.left_out(repeats, 1, "prefill"))
    assert.is_true(cold.left_out(repeats, 1, "sam", "LLM:prefill"))
    assert.is_false(cold.left_out(repeats, 2, "prefill"))
    assert.is_false(cold.left_out(repeats, 1, "decode"))
    assert.is_true(cold.left_out({ skipped_first = true }, 1, "decode"))
    assert.is_false(cold.left_out(nil, 1, "decode"))
  end)
end)


describe("steps", function()
  -- All idle time of a gap is the framework's.
  local function split(gap) return { host = gap.stop - gap.start, launch = 0 } end

  it("finds what lies between the ranges of each decode's steps", function()
    local list = { { steps = { { host_start = 30, host_stop = 40 }, { host_start = 43,
      host_stop = 50 }, { host_start = 50, host_stop = 60 } } },
      { steps = { { start = 230, stop = 240 }, { start = 245, stop = 250 } } } }
    assert.same({ count = 2.5, between_ns = 4, idle_ns = 4, host_ns = 4, launch_ns = 0 },
      steps.between(list, split))
  end)

  it("is nothing without steps", function()
    assert.same({}, steps.of(found(), { name = "decode" }))
    assert.is_nil(steps.between({}, split))
  end)

  it("lasts from the token before, the first from its range", function()
    local _, made = traces.open "small"
    local decode = made.instances[6]
    assert.same({ { range = 6, start = 11050, stop = 11250, host_start = 11050,
      host_stop = 11550, kernels = 1 }, { range = 7, start = 11250, stop = 11800,
      host_start = 11600, host_stop = 12300, kernels = 1 } }, decode.steps)
  end)
end)


describe("the first steps of an engine", function()
  -- Steps of one stage that took this many ms, on this many tokens each.
  local function steps_of(stage, lengths, tokens, rank)
    local list = {}
    for i, length in ipairs(lengths) do
      list[i] = { stage = stage, rank = rank or 0, rep = 1, used = true, wall = length * ms,
        work = tokens and (tokens[i] or tokens[1]),
        steps = stage == "decode" and { { start = 0, stop = length * ms } } or nil }
    end
    return list
  end

  local function judge(list, policy)
    local repeats = cold.judge(list, 1, policy or "auto", true)
    local used = {}
    for i, step in ipairs(list) do used[i] = step.used end
    return repeats.left_out, used
  end

  it("are left out where they take far longer than all others", function()
    local list = steps_of("prefill", { 3000, 57, 60, 58 }, { 512 })
    local left_out, used = judge(list)
    assert.same({ { stage = "prefill", rep = 1, first = 1, ns = 3000 * ms, usual_ns = 58 * ms } },
      left_out)
    assert.same({ false, true, true, true }, used)
  end)

  it("may be several, none longer than the one before", function()
    local left_out = judge(steps_of("prefill", { 800, 3000, 50, 51, 50 }, { 8 }))
    assert.same({ 2, 3800 * ms, 50 * ms }, { left_out[1].first, left_out[1].ns,
      left_out[1].usual_ns })
  end)

  it("count where they are long for their tokens' sake, or by less", function()
    assert.is_nil(judge(steps_of("prefill", { 80, 20, 22 }, { 2048, 512, 512 })))
    assert.is_nil(judge(steps_of("prefill", { 29, 20, 22 }, { 512 })))
    assert.is_nil(judge(steps_of("prefill", { 30, 10, 22 }, { 512 })))
    assert.is_nil(judge(steps_of("prefill", { 30 })))
    assert.is_nil(judge(steps_of("prefill", { 60, 20 })))
    assert.equal(1, judge(steps_of("prefill", { 90, 20 }))[1].first)
  end)

  it("are those of each rank, and a decode's is no token's time", function()
    local list = steps_of("decode", { 900, 3, 3, 3 }, { 8 }, 0)
    table.move(steps_of("decode", { 3, 3, 3, 3 }, { 8 }, 1), 1, 4, 5, list)
    local left_out, used = judge(list)
    assert.same({ 1, 0 }, { #left_out, left_out[1].rank })
    assert.same({ false, true, true, true, true, true, true, true }, used)
    assert.is_true(list[1].steps[1].cold)
    list[1].start, list[1].stop = 0, 900 * ms
    local made = latency.measure({ declared = {}, by_engine = {}, instances = list,
      repeats = { count = 1, left_out = left_out } }, { batch = 8 })
    assert.equal(3 * ms, made.tpot.mean_ns)
    assert.equal(7, made.tpot.count)
    assert.is_nil(made.repeats[1].left_out)
    local function with(given)
      return latency.measure({ declared = {}, by_engine = {}, instances = list,
        repeats = { count = 1, left_out = left_out } }, given)
    end
    assert.equal(2 * ms, with({ batch = 8, steps = 1, per_step = 1.5 }).tpot.mean_ns)
    assert.is_nil(with({ batch = 8, steps = 1, is_speculated = true }).tpot)
  end)

  it("are as they were judged before, or count where all repeats do", function()
    local before = { left_out = { { stage = "prefill", rep = 1, first = 1 } } }
    assert.same({ false, true }, (select(2, judge(steps_of("prefill", { 20, 20 }), before))))
    assert.is_nil(judge(steps_of("prefill", { 3000, 57, 60 }), {}))
    assert.is_nil(judge(steps_of("prefill", { 3000, 57, 60 }), "no"))
    assert.is_false(cold.left_out(before, 1, "prefill"))
  end)
end)
