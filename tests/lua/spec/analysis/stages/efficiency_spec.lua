-- Cost, efficiency, headroom and roofline of results made by hand.
local efficiency = require "llmprof.analysis.stages.efficiency"
local failure = require "tests.lua.support.failure"
local limits = require "llmprof.analysis.kernels.limits"
local json = require "llmprof.json"
local tiny = require "tests.lua.support.tiny_model"
local work = require "llmprof.analysis.stages.cost"


-- 100 FLOP/s in bf16, 10 in fp32, 50 byte/s.
local function gpu(more)
  local made = { count = 1, format = "bf16", memory = { per_s = 50 },
    peaks = { bf16 = { per_s = 100, at_held_clock_per_s = 80 }, fp32 = { per_s = 10 } } }
  for key, value in pairs(more or {}) do made[key] = value end
  return made
end


-- A stage that took this many seconds, with a cost.
local function stage(name, seconds, cost, more)
  local made = { name = name, cost = cost, gpu_time_ns = seconds * 1e9,
    wall = { count = 1, mean_ns = seconds * 1e9 } }
  for key, value in pairs(more or {}) do made[key] = value end
  return made
end


-- A kernel of 4 calls, 2 s each, of which counters say so much.
local function kernel(counters, more)
  local made = { id = 1, stage = "decode", calls = 4, total_ns = 8e9, share = 0.5 }
  if counters then
    made.counters = { match = "exact", measured_calls = 4, timeline_ns = 2e9, shape_share = 1 }
    for key, value in pairs(counters) do made.counters[key] = value end
    if not made.counters.shapes then
      made.counters.shapes = { setmetatable({ calls = made.counters.measured_calls },
        { __index = counters }) }
    end
  end
  for key, value in pairs(more or {}) do made[key] = value end
  return made
end


describe("llmprof.analysis.stages.cost", function()
  local run = { batch = 2, prompt_tokens = 3, new_tokens = 3, images = {} }

  -- Stages of these names with what work.add gives them, and what it lacks.
  local function costs(names, given)
    local stages, by_name = {}, {}
    for i, name in ipairs(names) do
      local own, parent = name:match "^(.-)<(.*)$"
      stages[i] = { name = own or name, parent = parent }
      by_name[own or name] = stages[i]
    end
    return by_name, work.add(stages, given)
  end

  it("takes the tokens of an engine's prefill from its labels where nothing else tells", function()
    local function prefill(work_of_step)
      return costs({ "prefill", "decode" }, { arch = tiny.arch(), found = { by_engine = {},
        instances = { { stage = "prefill", used = true, context = 2, work = work_of_step },
          { stage = "decode", used = true, requests = 2 } } } })
    end
    local by_name = prefill(6)
    assert.same({ { batch = 2, tokens = 3 }, 4000 },
      { by_name.prefill.cost.work, by_name.prefill.cost.flops })
    assert.is_nil(by_name.decode.cost)
    assert.is_nil(prefill(nil).prefill.cost)
  end)

  it("gives prefill and decode what the model takes", function()
    local by_name, lacking = costs({ "prefill", "decode", "other" },
      { arch = tiny.arch(), run = run })
    assert.same({ 4000, 840, "tiny.yaml" }, { by_name.prefill.cost.flops,
      by_name.prefill.cost.bytes, by_name.prefill.cost.source })
    assert.same({ 3200, 1712 }, { by_name.decode.cost.flops, by_name.decode.cost.bytes })
    assert.same({ batch = 2, steps = 2, context = 3 }, by_name.decode.cost.work)
    assert.is_nil(by_name.other.cost)
    assert.is_nil(lacking)
  end)

  it("counts encoders in prefill unless they are stages themselves", function()
    local arch = tiny.arch { encoders = { tiny.encoder() } }
    local seen = { batch = 2, prompt_tokens = 3, images = { { count = 1, size = 8 } },
      images_source = "given" }
    local nested = costs({ "prefill", "sam<prefill" }, { arch = arch, run = seen })
    assert.same({ 4000 + 2 * 16960, 2 * 16960 },
      { nested.prefill.cost.flops, nested.sam.cost.flops })
    local apart = costs({ "sam", "prefill" }, { arch = arch, run = seen })
    assert.same({ 4000, 2 * 16960 }, { apart.prefill.cost.flops, apart.sam.cost.flops })
    assert.is_nil(costs({ "sam" }, { arch = arch, run = run }).sam.cost)
  end)

  it("gives each of several ranges its share", function()
    local stages = { { name = "decode", wall = { count = 4 }, repeats = 2 } }
    work.add(stages, { arch = tiny.arch(), run = run })
    assert.same({ 1600, 856, 2 }, { stages[1].cost.flops, stages[1].cost.bytes,
      stages[1].cost.work.ranges })
    assert.equal(384, stages[1].cost.parts[1].flops)
  end)

  it("has no decode of one token", function()
    local one = { batch = 1, prompt_tokens = 3, new_tokens = 1, images = {} }
    assert.is_nil(costs({ "decode" }, { arch = tiny.arch(), run = one }).decode.cost)
  end)

  it("lets the recipe say it first", function()
    local function flops(given)
      if given.name == "prefill" then return 7 end
      if given.name == "decode" then return { flops = 8, bytes = 9 } end
    end
    local by_name = costs({ "prefill", "decode", "whole run" }, { flops = flops })
    assert.same({ flops = 7, source = "the recipe's flops()" }, by_name.prefill.cost)
    assert.same({ flops = 8, bytes = 9, source = "the recipe's flops()" }, by_name.decode.cost)
    assert.is_nil(by_name["whole run"].cost)
  end)

  it("refuses what the recipe cannot mean", function()
    for _, said in ipairs { 0, -1, 0 / 0, 1 / 0, "7", {}, { flops = 0 }, { bytes = -2 }, true } do
      assert.equal("flops: stage 'decode': a number above 0 or { flops =, bytes = } is expected",
        failure(costs, { "decode" }, { flops = function() return said end })[2])
    end
  end)

  it("says why there is none", function()
    local _, lacking = costs({ "decode" }, {})
    assert.same({ "the model's cost", "nothing describes the model" },
      { lacking.what, lacking.why })
    _, lacking = costs({ "decode" }, { arch_complaint = "metrics.json: x: missing" })
    assert.equal("metrics.json: x: missing", lacking.why)
    _, lacking = costs({ "decode" }, { arch = tiny.arch() })
    assert.equal("the run does not say how many tokens it had", lacking.why)
  end)

  it("takes no description for that of another model", function()
    local metrics = { model = { parameters = { total = 400 } } }
    local by_name, lacking = costs({ "decode" }, { arch = tiny.arch(), run = run,
      metrics = metrics })
    assert.is_nil(by_name.decode.cost)
    assert.equal("tiny.yaml describes 388 parameters, the workload counted 400", lacking.why)
    metrics.model.parameters.total = 389
    assert.is_table(costs({ "decode" }, { arch = tiny.arch(), run = run,
      metrics = metrics }).decode.cost)
  end)
end)


describe("llmprof.analysis.stages.efficiency", function()
  local function measured(results, kernels)
    results.hardware = results.hardware or gpu()
    efficiency.add(results, kernels or {})
    return results
  end

  local function value_of(made, ...)
    local values = {}
    for i, name in ipairs { ... } do values[i] = made[name] and made[name].value or false end
    return values
  end

  it("sets work against what the GPU could do", function()
    local results = measured { stages = { stage("decode", 2, { flops = 40, bytes = 80 }) } }
    local made = results.stages[1].efficiency
    assert.same({ 0.2, 0.25, 0.8, 0.5, 1.6e9, 0.8, false }, value_of(made, "mfu", "mfu_at_clock",
      "mbu", "intensity", "floor_ns", "floor_share", "hfu"))
    assert.same({ "memory", 2e9, "the profiled run, profiling included" },
      { made.floor_bound, made.time_ns, made.time_source })
  end)

  it("tells formula and inputs", function()
    local results = measured { stages = { stage("decode", 2, { flops = 40, bytes = 80 }) } }
    assert.same({ value = 0.2, formula = "flops / (time_s * peak_flop_per_s)",
      inputs = { flops = 40, time_s = 2.0, peak_flop_per_s = 100 } },
      results.stages[1].efficiency.mfu)
  end)

  it("prefers the time without a profiler", function()
    local results = measured { stages = { stage("decode", 2, { flops = 40, bytes = 80 }) },
      overhead = { stages = { { name = "decode", plain_ms = 1600 } } } }
    local made = results.stages[1].efficiency
    assert.same({ 1.6e9, "plain runs" }, { made.time_ns, made.time_source })
    assert.same({ 0.25, 1.0 }, value_of(made, "mfu", "mbu"))
  end)

  it("calls more than everything a contradiction", function()
    local results = measured { stages = { stage("decode", 2, { flops = 300, bytes = 80 }) } }
    local made = results.stages[1].efficiency.mfu
    assert.same({ nil, 1.5, "mfu comes to 150.0 %: not all of its inputs can be right" },
      { made.value, made.ratio, made.contradiction })
    assert.same({ flops = 300, time_s = 2.0, peak_flop_per_s = 100 }, made.inputs)
  end)

  it("leaves out what it cannot know", function()
    local results = measured { hardware = gpu { peaks = {} }, stages = {
      stage("a", 2, { flops = 40, bytes = 80 }), stage("b", 2, { flops = 40 }),
      stage("c", 0, { flops = 40, bytes = 80 }), stage("d", 2) } }
    local function got(i)
      return value_of(results.stages[i].efficiency, "mfu", "mbu", "intensity", "floor_ns")
    end
    assert.same({ false, 0.8, 0.5, false }, got(1))
    assert.same({ false, false, false, false }, got(2))
    assert.same({ false, false, 0.5, false }, got(3))
    assert.is_nil(results.stages[4].efficiency)
    assert.is_nil(results.efficiency)
  end)

  it("counts all GPUs that worked", function()
    local results = measured { hardware = gpu { count = 2 },
      stages = { stage("decode", 2, { flops = 40, bytes = 80 }) } }
    assert.same({ 0.1, 0.4 }, value_of(results.stages[1].efficiency, "mfu", "mbu"))
  end)

  it("knows the issued FLOP where counters cover the stage", function()
    local results = { stages = { stage("decode", 10, { flops = 40, bytes = 80 }) } }
    local counted = kernel { flop_per_launch = 100 }
    local made = measured(results, { counted }).stages[1].efficiency
    assert.same({ 0.4 }, value_of(made, "hfu"))
    assert.equal("FLOP that were issued, padding of tiles included", made.hfu_note)
    made = measured(results, { counted, kernel(nil) }).stages[1].efficiency
    assert.same({ false }, value_of(made, "hfu"))
    assert.equal("FLOP counters cover 50 % of its kernels' time, it needs 95 %", made.hfu_note)
  end)

  it("puts stages together, children left out", function()
    local results = measured { stages = { stage("prefill", 2, { flops = 40, bytes = 80 }),
      stage("sam", 1, { flops = 30, bytes = 10 }, { parent = "prefill" }),
      stage("decode", 2, { flops = 80, bytes = 40 }) } }
    assert.same({ 0.3, 0.6, 2.4e9 }, value_of(results.efficiency, "mfu", "mbu", "floor_ns"))
    assert.same({ 120, 120, 4e9 }, { results.efficiency.flops, results.efficiency.bytes,
      results.efficiency.time_ns })
  end)

  it("adds the floors of stages up", function()
    local results = measured { stages = { stage("prefill", 2, { flops = 100, bytes = 1 }),
      stage("decode", 2, { flops = 1, bytes = 50 }) } }
    local whole = results.efficiency
    assert.same({ value = 2e9, formula = "sum of the stages' floor_ns",
      inputs = { prefill = 1e9, decode = 1e9 } }, whole.floor_ns)
    assert.same({ 0.5 }, value_of(whole, "floor_share"))
    assert.is_nil(whole.floor_bound)
  end)
end)


describe("llmprof.analysis.kernels.limits", function()
  -- Headroom of kernels on the GPU above; the ranked rows.
  local function rows_of(kernels, hardware)
    local results = { hardware = hardware or gpu(), stages = { stage("decode", 20, nil,
      { steps = 10, wall = { count = 2, mean_ns = 20e9 } }), stage("prefill", 4) } }
    limits.add(results, kernels)
    return results.headroom
  end

  it("is the time above what operations and bytes take", function()
    -- 10 bytes 0.2 s, 100 tensor FLOP 1 s, 15 vector FLOP 1.5 s
    for floor, counters in pairs {
      [0.2] = { dram_bytes_per_launch = 10 },
      [1.0] = { dram_bytes_per_launch = 10, tensor_flop_per_launch = 100, tensor_format = "bf16" },
      [1.5] = { dram_bytes_per_launch = 10, tensor_flop_per_launch = 100, tensor_format = "bf16",
        fp32_flop_per_launch = 15 },
    } do
      local one = kernel(counters)
      local row = rows_of({ one })[1]
      assert.same({ 4e9 * floor, 8e9 - 4e9 * floor, "measured" },
        { one.floor_ns, one.headroom_ns, one.headroom_kind })
      assert.equal(one.headroom_ns / 2, row.per_instance_ns)
      assert.equal(one.headroom_ns / 20, row.per_token_ns)
      assert.equal(one.headroom_ns / 2 / 20e9, row.stage_share)
    end
  end)

  it("adds up the floors of shapes, each as often as it ran", function()
    -- 3 launches by 10 bytes, 0.2 s each, one by 100 tensor FLOP, 1 s
    local one = kernel { shapes = { { calls = 3, dram_bytes_per_launch = 10 },
      { calls = 1, dram_bytes_per_launch = 5, tensor_flop_per_launch = 100,
        tensor_format = "bf16" } } }
    assert.near(8e9 - 1.6e9, rows_of({ one })[1].headroom_ns, 1)
  end)

  it("is an upper bound where counters are missing", function()
    local none = kernel(nil)
    local elsewhere = kernel { match = "stage", dram_bytes_per_launch = 10 }
    local named = kernel { match = "name", dram_bytes_per_launch = 10 }
    local some = kernel { measured_calls = 3, dram_bytes_per_launch = 10 }
    rows_of { none, elsewhere, named, some }
    assert.same({ 8e9, "upper bound: no counters" }, { none.headroom_ns, none.headroom_kind })
    assert.same({ 8e9, "upper bound: measured in another stage" },
      { elsewhere.headroom_ns, elsewhere.headroom_kind })
    assert.same({ 8e9, "upper bound: measured with other shapes" },
      { named.headroom_ns, named.headroom_kind })
    assert.same({ 8e9 - 0.6e9, "upper bound: counters for 3 of 4 calls" },
      { some.headroom_ns, some.headroom_kind })
    local unknown = kernel { dram_bytes_per_launch = 10 }
    rows_of({ unknown }, { peaks = {}, count = 1, format = "bf16" })
    assert.same({ 8e9, "upper bound: bytes or bandwidth are not known" },
      { unknown.headroom_ns, unknown.headroom_kind })
  end)

  it("has no value where counters and timeline contradict", function()
    local wrong = kernel { dram_bytes_per_launch = 1000 }
    assert.same({}, rows_of { wrong })
    assert.is_nil(wrong.headroom_ns)
    assert.equal("contradiction: by its counters it takes 80000000000 ns at least, the timeline "
      .. "has 8000000000 ns", wrong.headroom_kind)
  end)

  it("is ranked by what an instance of the stage gets back", function()
    local list = rows_of { kernel(nil, { id = 1 }), kernel(nil, { id = 2, stage = "prefill" }),
      kernel(nil, { id = 3 }) }
    assert.same({ 2, 1, 3 }, { list[1].kernel, list[2].kernel, list[3].kernel })
    assert.is_nil(list[1].per_token_ns)
  end)
end)


describe("llmprof.analysis.kernels.limits", function()
  local function points(results, kernels)
    results.hardware = results.hardware or gpu { l2 = { per_s = 70 } }
    limits.add_roofline(results, kernels)
    return results.roofline
  end

  it("has a point for kernels that were measured", function()
    local made = points({ stages = {} }, {
      kernel { flop_per_launch = 60, tensor_flop_per_launch = 60, tensor_format = "bf16",
        dram_bytes_per_launch = 20, l2_bytes_per_launch = 40 },
      kernel({ flop_per_launch = 4, tensor_flop_per_launch = 0, dram_bytes_per_launch = 40 },
        { id = 2 }),
      kernel { flop_per_launch = 0, dram_bytes_per_launch = 40 },
      kernel { match = "name", flop_per_launch = 5 }, kernel(nil),
      kernel { dram_bytes_per_launch = 40, bound = "DRAM" } })
    assert.same({ kernel = 1, stage = "decode", intensity = 3.0, l2_intensity = 1.5, rate = 30.0,
      unit = "tensor", share = 0.5, bound = "compute", dram_rate = 10.0 }, made.kernels[1])
    assert.same({ kernel = 2, stage = "decode", intensity = 0.1, rate = 2.0, unit = "vector",
      share = 0.5, bound = "memory", dram_rate = 20.0 }, made.kernels[2])
    assert.same({ kernel = 1, stage = "decode", share = 0.5, bound = "memory", dram_rate = 20.0 },
      made.kernels[3])
    assert.same({ 3, 2 }, { #made.kernels, made.left_out })
    assert.same({ 100, 10, 50, 70 }, { made.roofs.tensor.per_s, made.roofs.vector.per_s,
      made.roofs.dram.per_s, made.roofs.l2.per_s })
  end)

  it("has a point for stages with a cost", function()
    local results = { hardware = gpu(), stages = { stage("a", 2, { flops = 40, bytes = 80 }),
      stage("b", 2) } }
    efficiency.add(results, {})
    assert.same({ { stage = "a", intensity = 0.5, rate = 20.0, bound = "memory" } },
      json.decode(json.encode(points(results, {}).stages)))
  end)
end)
