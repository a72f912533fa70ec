local counter_plan = require "llmprof.analysis.counters.plan"
local counters = require "llmprof.analysis.counters.join"
local kernels = require "llmprof.analysis.kernels.table"
local launches = require "tests.lua.support.launches"
local limits = require "llmprof.analysis.kernels.limits"
local stages = require "llmprof.analysis.stages.find"
local trace_file = require "llmprof.trace.file"

local function shape(grid, calls, total_ns)
  return { grid = { grid, 1, 1 }, block = { 128, 1, 1 }, shared_bytes = 0, calls = calls,
    total_ns = total_ns }
end


describe("llmprof.analysis.counters.join", function()
  local found = { declared = { { name = "prefill" }, { name = "sam", parent = "prefill" },
    { name = "mine:decode" } } }

  -- A launch as llmprof.ncu gives it, all of it idle; grid along x.
  local function launch(kernel, grid, more)
    local record = { kernel = kernel, grid = { x = grid, y = 1, z = 1 },
      block = { x = 128, y = 1, z = 1 }, throughput = { dram = 0, l2 = 0, l1 = 0, sm = 0 },
      occupancy = { achieved = 0 }, flop = { total = 0 }, bytes = {}, tensor = {} }
    for key, value in pairs(more or {}) do record[key] = value end
    return record
  end

  local function join(list, records, given)
    return counters.join(list, launches(records), given)
  end

  local function kernel(name, stage)
    return { name = name, stage = stage, total_ns = 100,
      shapes = { shape(4, 2, 60), shape(8, 1, 40) } }
  end

  it("brings both tools' spellings to one", function()
    assert.equal("voidf<4,A>(T1)", counters.plain "void at::native::f<(int)4, at::A>(T1)")
    assert.equal(counters.plain "void at::<unnamed>::f<c10::BFloat16, (unsigned int)2>(int)",
      counters.plain "void f<BFloat16, 2>(int)")
    assert.equal("f<4>(T1)", counters.plain "f<(long long)4>(T1)")
  end)

  it("takes a launch that the timeline has for what it is there", function()
    local trace = trace_file.open "tests/fixtures/small/run.sqlite"
    local all = stages.find(trace, { { name = "prefill" }, { name = "decode" } }, 0)
    local frame = trace:frame "kernels"
    local pid, id = frame:get(1, "pid"), frame:get(1, "correlation")
    local function taken(process, correlation)
      local list = kernels.list(trace, all)
      local joined = counters.join(list, launches { launch("misspelt()", frame:get(1, "grid_x"),
        { block = { x = frame:get(1, "block_x"), y = 1, z = 1 }, pid = process,
          correlation = correlation }) }, all, trace)
      local said = {}
      for _, entry in ipairs(list) do
        if entry.counters then said[#said + 1] = entry.name .. ": " .. entry.counters.match end
      end
      return { joined.by_correlation or 0, joined.matched, table.unpack(said) }
    end
    assert.same({ 1, 1, frame:get(1, "name") .. ": exact" }, taken(pid, id))
    for _, other in ipairs { { pid + 1, id }, { pid, 1 << 30 }, { pid, 0 }, {} } do
      assert.same({ 0, 0 }, taken(other[1], other[2]))
    end
    trace:close()
  end)

  it("prefers launches of the same shape", function()
    local list = { kernel("f()", "prefill") }
    local joined = join(list, { launch("a::f()", 4), launch("f()", 99), launch("g()", 4) },
      found)
    assert.same({ launches = 3, matched = 1, kernels = 1, coverage = 0.6, stages = {
      { name = "prefill", coverage = 0.6 } } }, joined)
    local said = list[1].counters
    assert.same({ "exact", 1, 0.6, "latency" },
      { said.match, said.launches, said.shape_share, said.bound })
  end)

  it("takes the same name in another shape, and says so", function()
    local list = { kernel("f()", "prefill"), kernel("g()", "prefill") }
    local joined = join(list, { launch("f()", 99), launch("f()", 98) }, found)
    assert.same({ launches = 2, matched = 2, kernels = 1, coverage = 0, stages = {
      { name = "prefill", coverage = 0 } } }, joined)
    assert.same({ "name", 2, nil },
      { list[1].counters.match, list[1].counters.launches, list[1].counters.shape_share })
    assert.is_nil(list[2].counters)
  end)

  it("keeps stages apart by the outermost range that is one", function()
    local function inside(...)
      local ranges = {}
      for i, name in ipairs { ... } do
        local domain, text = name:match "^(.*):(.*)$"
        ranges[i] = { domain = domain, name = text or name }
      end
      return { stages = ranges }
    end
    local list = { kernel("f()", "prefill"), kernel("f()", "mine:decode") }
    local joined = join(list, { launch("f()", 4, inside("run", "prefill", "sam")),
      launch("f()", 4, inside "decode"), launch("f()", 4, inside "mine:decode") }, found)
    assert.equal(3, joined.matched)
    -- "decode" in the default domain is no stage: it may be any
    assert.same({ 2, 2 }, { list[1].counters.launches, list[2].counters.launches })
  end)

  it("takes the same launch from another stage, and says where it was measured", function()
    local elsewhere = { stages = { { name = "prefill" } } }
    local list = { kernel("f()", "mine:decode") }
    local joined = join(list, { launch("f()", 4, elsewhere) }, found)
    assert.near(0.6, joined.elsewhere, 1e-9)
    joined.elsewhere = nil
    assert.same({ launches = 1, matched = 1, kernels = 1, coverage = 0, stages = {
      { name = "mine:decode", coverage = 0 } } }, joined)
    local said = list[1].counters
    assert.same({ "stage", "prefill", 0.6 }, { said.match, said.measured_in, said.shape_share })
  end)

  it("joins by name where the whole run is one stage", function()
    local list = { kernel("f()", "whole run") }
    assert.equal(1, join(list, { launch("f()", 4, { stages = { { name = "x" } } }) },
      { whole = true, declared = { { name = "whole run" } } }).matched)
  end)

  it("weighs each shape by how often it ran", function()
    local list = { kernel("f()", "prefill") } -- 2 calls of 60 ns in all, 1 of 40
    join(list, {
      launch("f()", 4, { duration = 1e-6, throughput = { sm = 90, dram = 20, memory = 30,
        tensor = 50 }, occupancy = { achieved = 40 }, waves = 2, tensor = { bf16 = 60 },
        flop = { total = 100, tensor = 60, fp32 = 40 }, bytes = { dram = 10, l2 = 20 } }),
      launch("f()", 4, { duration = 1e-6, throughput = { sm = 90, dram = 20, memory = 30,
        tensor = 50 }, occupancy = { achieved = 40 }, waves = 2, tensor = { bf16 = 60 },
        flop = { total = 100, tensor = 60, fp32 = 40 }, bytes = { dram = 10, l2 = 20 } }),
      launch("f()", 8, { duration = 4e-6, throughput = { sm = 70, dram = 40, memory = 50,
        tensor = 10 }, occupancy = { achieved = 80 }, waves = 4, tensor = { fp8 = 50, bf16 = 20 },
        flop = { total = 400, tensor = 90, fp32 = 310 }, bytes = { dram = 40, l2 = 80 } }) }, found)
    local said = list[1].counters
    local rows = said.shapes
    said.shapes = nil
    assert.same({ launches = 3, match = "exact", shape_share = 1, measured_calls = 3,
      timeline_ns = 100 / 3, sm_percent = 82, tensor_format = "bf16",
      tensor_flop_per_launch = 70, fp32_flop_per_launch = 130, l2_bytes_per_launch = 40,
      dram_percent = 28, memory_percent = 38, tensor_percent = 34, occupancy_percent = 56,
      waves = 2.8, flop_per_launch = 200, dram_bytes_per_launch = 20, measured_ns = 2000,
      intensity = 10, bound = "some SM unit", bound_percent = 82,
      bound_reason = "some SM unit 82.0 % of its peak", second = "tensor", second_percent = 34 },
      said)
    assert.same({ { 2, 60, 2, 100, 20 }, { 1, 40, 1, 400, 40 } },
      { { rows[1].calls, rows[1].total_ns, rows[1].launches, rows[1].flop_per_launch,
        rows[1].dram_percent }, { rows[2].calls, rows[2].total_ns, rows[2].launches,
        rows[2].flop_per_launch, rows[2].dram_percent } })
  end)

  it("says what warps wait for, of the cycles of all", function()
    local list = { kernel("f()", "prefill") }
    join(list, { launch("f()", 4, { duration = 1e-6, stall = { long_scoreboard = 6, wait = 2,
      barrier = 1, selected = 1 } }) }, found)
    local said = list[1].counters.stalls
    for _, stall in ipairs(said) do stall.share = ("%.3f"):format(stall.share) end
    assert.same({ { reason = "long_scoreboard", share = "0.600",
      waits_for = "memory loads (L1 miss, L2, DRAM)" },
      { reason = "wait", share = "0.200", waits_for = "a fixed latency" } }, said)
    for key in pairs(list[1].counters) do assert.is_nil(key:find "^stall%.", key) end
  end)

  it("takes shapes that differ in shared memory for one", function()
    local one = kernel("f()", "prefill")
    one.shapes[3] = { grid = { 4, 1, 1 }, block = { 128, 1, 1 }, shared_bytes = 9, calls = 5,
      total_ns = 10 }
    join({ one }, { launch("f()", 4, { bytes = { dram = 3 } }) }, found)
    assert.same({ 1, 7, 70, 7 }, { #one.counters.shapes, one.counters.shapes[1].calls,
      one.counters.shapes[1].total_ns, one.counters.measured_calls })
  end)

  it("leaves out what not every launch has", function()
    local list = { kernel("f()", "prefill") }
    join(list, { launch("f()", 4, { flop = { total = 100 }, bytes = { dram = 0 },
      throughput = {} }), launch("f()", 4, { flop = {}, bytes = { dram = 0 }, throughput = {},
      duration = 1e-6 }) }, found)
    local said = list[1].counters
    assert.same({ nil, 0, nil, nil },
      { said.flop_per_launch, said.dram_bytes_per_launch, said.intensity, said.measured_ns })
    assert.equal("L2, L1, SM not measured, peak of DRAM not known", said.bound_reason)
  end)

  it("has no counters of launches that say nothing but their time", function()
    local list = { kernel("f()", "prefill") }
    local joined = join(list, { launch("f()", 4, { throughput = {}, occupancy = {}, flop = {},
      duration = 1e-6 }) }, found)
    assert.same({ launches = 1, matched = 0, kernels = 0, coverage = 0, stages = {
      { name = "prefill", coverage = 0 } } }, joined)
    assert.is_nil(list[1].counters)
  end)

  it("says which figures the measured launches lack", function()
    local list = { kernel("f()", "prefill"), kernel("g()", "prefill") }
    local joined = join(list, { launch("f()", 4, { throughput = { dram = 5, sm = 5 } }),
      launch("g()", 4, { throughput = { dram = 5 }, occupancy = {} }) }, found)
    assert.same({ { name = "L2", coverage = 0 }, { name = "L1", coverage = 0 },
      { name = "SM", coverage = 0.3 }, { name = "occupancy", coverage = 0.3 } }, joined.lacking)
  end)

  it("goes by the timeline where the launches say no time", function()
    local one = kernel("f()", "prefill") -- of this shape 2 calls of 60 ns in all
    local records = launches { launch("f()", 4, { bytes = { dram = 24 }, throughput = {} }) }
    records.limits = function() return { dram = 1e9 } end
    counters.join({ one }, records, found)
    assert.same({ 80.0, "DRAM", 80.0 },
      { one.counters.dram_percent, one.counters.bound, one.counters.bound_percent })
    local timeless = kernel("f()", "prefill")
    join({ timeless }, { launch("f()", 4, { throughput = { dram = 70 } }),
      launch("f()", 4, { throughput = { dram = 80 } }) }, found)
    assert.equal(75, timeless.counters.dram_percent)
  end)

  it("takes the launches of the kernel's own GPU, where there are some", function()
    local list = { kernel("f()", "prefill"), kernel("f()", "prefill"), kernel("f()", "prefill") }
    for i, one in ipairs(list) do one.device = i - 1 end
    join(list, { launch("f()", 4, { device = 0, throughput = { dram = 10 } }),
      launch("f()", 4, { device = 1, throughput = { dram = 90 } }) }, found)
    assert.same({ 10, 90, 50 }, { list[1].counters.dram_percent, list[2].counters.dram_percent,
      list[3].counters.dram_percent })
  end)

  it("joins no launch whose kernel has no name", function()
    local list, nameless = { kernel("f()", "prefill") }, launch("f()", 4)
    nameless.kernel = nil
    assert.same({ launches = 1, matched = 0, kernels = 0, coverage = 0, stages = {
      { name = "prefill", coverage = 0 } } }, join(list, { nameless }, found))
  end)

  it("has nothing to say without launches or kernels", function()
    assert.same({ launches = 0, matched = 0, kernels = 0 },
      join({ kernel("f()", "prefill") }, {}, found))
    assert.same({ launches = 1, matched = 0, kernels = 0, stages = {} },
      join({}, { launch("f()", 4) }, found))
  end)
end)


describe("llmprof.analysis.kernels.limits", function()
  -- A product of 4 MB from L2 in bf16 that issues this many FLOP, of a stage.
  local function padding_of(flop, stage, run, more)
    local kernel = { category = "gemm", stage = stage, counters = { l2_bytes_per_launch = 4e6,
      tensor_flop_per_launch = flop, tensor_format = "bf16" } }
    for key, value in pairs(more or {}) do kernel[key] = value end
    limits.add_padding({ { name = "LLM:decode" }, { name = "prefill" } }, { kernel }, run)
    return kernel.counters.padding
  end

  it("is what a product issues over what its tokens need", function()
    local run = { batch = 1, prompt_tokens = 8 }
    assert.equal(64, padding_of(64 * 4e6, "LLM:decode", run))
    assert.equal(16, padding_of(64 * 4e6, "LLM:decode", { batch = 4 }))
    assert.equal(8, padding_of(64 * 4e6, "prefill", run))
    assert.is_nil(padding_of(64 * 4e6, "prefill", { batch = 1 }))
  end)

  it("is nothing where the tiles are full, or nothing is known", function()
    local run = { batch = 32, prompt_tokens = 8 }
    assert.is_nil(padding_of(64 * 4e6, "LLM:decode", run))
    assert.is_nil(padding_of(64 * 4e6, "LLM:decode", nil))
    assert.is_nil(padding_of(nil, "LLM:decode", { batch = 1 }))
    assert.is_nil(padding_of(64 * 4e6, "LLM:decode", { batch = 1 }, { category = "attention" }))
    assert.is_nil(padding_of(64 * 4e6, "prefill", { batch = 1, prompt_tokens = 1 },
      { part = "sam" }))
  end)
end)


describe("llmprof.analysis.counters.plan", function()
  local found = { declared = { { name = "prefill" }, { name = "sam", parent = "prefill" },
      { name = "mine:decode" } },
    instances = { { stage = "prefill", used = false },
      { stage = "sam", parent = "prefill", used = false },
      { stage = "mine:decode", domain = "mine", used = false }, { stage = "prefill", used = true },
      { stage = "sam", parent = "prefill", used = true },
      { stage = "mine:decode", domain = "mine", used = true } } }

  local function kernel(id, fields)
    local made = { id = id, short_name = "k" .. id, mangled_name = "_Z" .. id, stage = "prefill",
      total_ns = 1000 - id, mean_ns = 0, shapes = { shape(1, 5, 500), shape(2, 1, 400) } }
    for key, value in pairs(fields or {}) do made[key] = value end
    return made
  end

  -- Without section set a launch takes 16 passes of 0.06 s.
  local function make(chosen, ncu, in_run, all)
    local cfg = { ncu = { budget_s = 1000, kernel_name_base = "auto" },
      top_n = { launches_per_kernel = 2 } }
    for key, value in pairs(ncu or {}) do cfg.ncu[key] = value end
    return counter_plan.make(chosen, all or chosen, in_run or found, cfg)
  end

  it("asks for symbols in the used ranges of their stages", function()
    assert.same({ ranges = { "prefill/" }, instances = "2", kernels = "regex:^(_Z1|_Z2)$",
      names = { _Z1 = 3, _Z2 = 3 }, name_base = "mangled", launches = 2, expected = 6,
      seconds = 6 * 16 * 0.06, overhead_s = 0, changes = {}, dropped = {} },
      make { kernel(1), kernel(2) })
  end)

  it("numbers the ranges of all stages together", function()
    local plan = make { kernel(1), kernel(2, { stage = "mine:decode" }) }
    assert.same({ "prefill/", "mine@decode/" }, plan.ranges)
    assert.equal("3|4", plan.instances)
  end)

  it("asks for function names where a symbol is missing or another base is wanted", function()
    local plan = make { kernel(1), kernel(2, { mangled_name = false }) }
    assert.same({ "function", "regex:^(k1|k2)$" }, { plan.name_base, plan.kernels })
    plan = make({ kernel(1) }, { kernel_name_base = "function" })
    assert.same({ "function", "regex:^(k1)$" }, { plan.name_base, plan.kernels })
    plan = make({ kernel(1, { name = "k1<int>" }) }, { kernel_name_base = "demangled" })
    assert.same({ "demangled", "regex:^(k1<int>)$" }, { plan.name_base, plan.kernels })
  end)

  it("leaves out what is too costly, and takes smaller ones", function()
    local long = kernel(1, { mean_ns = 1e9, total_ns = 1e12 })
    local plan = make({ long, kernel(2) }, { budget_s = 10 })
    assert.same({ 3, 3 * 16 * 0.06, "regex:^(_Z2)$" },
      { plan.expected, plan.seconds, plan.kernels })
    assert.same({ { kernel = 1, launches = 3, seconds = 3 * 16 * 1.06 } }, plan.dropped)
  end)

  it("counts what else has the name in the stages, shape by shape", function()
    local chosen = kernel(1, { shapes = { shape(1, 1, 10) } })
    local same = { mangled_name = "_Z1", short_name = "k1" }
    local other = kernel(2, same)
    local elsewhere = kernel(3, same)
    elsewhere.stage = "mine:decode"
    local plan = make({ chosen }, nil, nil, { chosen, other, elsewhere })
    -- of the first shape 6 launches, of the second 1
    assert.same({ "regex:^(_Z1)$", 3 }, { plan.kernels, plan.expected })
    plan = make({ chosen, other }, { budget_s = 1 })
    assert.same({ { kernel = 1, launches = 3, seconds = 3 * 16 * 0.06 },
      { kernel = 2, launches = 3, seconds = 3 * 16 * 0.06 } }, plan.dropped)
  end)

  it("prefers what has the most GPU time per launch to measure", function()
    local cheap = kernel(2, { shapes = { shape(1, 1, 998) } })
    local plan = make({ kernel(1), cheap }, { budget_s = 1 })
    assert.equal("regex:^(_Z2)$", plan.kernels)
  end)

  it("takes the range that the configuration names", function()
    local plan = make({ kernel(1) }, { nvtx_include = { "mine@other/" } })
    assert.same({ { "mine@other/" }, nil }, { plan.ranges, plan.instances })
  end)

  it("numbers the ranges of the one stage that the configuration names", function()
    for _, include in ipairs { "mine@decode/", "mine:decode/", "mine:decode" } do
      local plan = make({ kernel(1, { stage = "mine:decode" }) }, { nvtx_include = { include } })
      assert.same({ { "mine@decode/" }, "2" }, { plan.ranges, plan.instances })
      assert.same({ ["mine:decode"] = true }, counter_plan.focus({ include }, found))
    end
    assert.same({ prefill = true, ["mine:decode"] = true },
      counter_plan.focus({ "prefill/", "mine@decode/" }, found))
    for _, start in ipairs { "mine:d*", "mine@dec*/", "mine:decode*" } do
      assert.same({ ["mine:decode"] = true }, counter_plan.focus({ start }, found), start)
    end
    assert.is_nil(counter_plan.focus({ "d*" }, found))
    assert.is_nil(counter_plan.focus({ "prefill/", "other/" }, found))
    assert.is_nil(counter_plan.focus(nil, found))
  end)

  it("asks for no range where there is none, and for nothing where nothing is chosen", function()
    local plan = make({ kernel(1) }, nil, { whole = true, declared = {}, instances = {} })
    assert.same({ {}, nil }, { plan.ranges, plan.instances })
    assert.same({ ranges = {}, names = {}, name_base = "mangled", launches = 2, expected = 0,
      seconds = 0, overhead_s = 0, changes = {}, dropped = {} }, make {})
  end)

  describe("of a run to be made", function()
    local OPTIONS = { ["infer.repeats"] = {}, ["infer.warmup"] = {}, ["infer.max_new_tokens"] = {} }

    -- 2 repeats and a warm-up of 33 tokens; each has 40 launches, and a launch that is not
    -- measured takes launch_s.
    local function plan_of(chosen, budget, launch_s)
      local cfg = { ncu = { budget_s = budget, kernel_name_base = "auto" }, run = {},
        infer = { repeats = 2, warmup = 1, max_new_tokens = 33 },
        top_n = { launches_per_kernel = 2 } }
      return counter_plan.make(chosen, chosen, found, cfg, { pass_s = 0.05, launch_s = launch_s,
        launches = 80, start_s = 10, tokens = 33, ways = counter_plan.ways(OPTIONS, cfg, 33) })
    end

    local function changes_of(plan) return counter_plan.shortened_text(plan.changes) end

    -- Decode: one shape in all 64 steps, one for each step.
    local function growing()
      local shapes = { shape(1, 64, 640) }
      for i = 2, 33 do shapes[i] = shape(i, 2, 20) end
      return kernel(1, { stage = "mine:decode", calls = 128, total_ns = 1280, shapes = shapes })
    end

    it("keeps the workload while the budget allows", function()
      local plan = plan_of({ kernel(1, { calls = 6 }) }, 1000, 1)
      assert.is_nil(changes_of(plan))
      assert.same({ "2", 10 + 120, 10, 3 }, { plan.instances, plan.overhead_s, plan.start_s,
        plan.expected })
      assert.near(130 + 3 * 16 * 0.05, plan.seconds, 1e-9)
    end)

    it("does once what was done several times, where the rest would not fit", function()
      local plan = plan_of({ kernel(1, { calls = 6 }) }, 60, 1)
      assert.equal("infer.repeats=1 instead of 2, infer.warmup=0 instead of 1", changes_of(plan))
      assert.same({ 50, 3 }, { plan.overhead_s, plan.expected })
      assert.is_nil(plan.instances) -- the one repeat counts
    end)

    it("generates fewer tokens where that lets more be measured", function()
      local steps = { kernel(1, { calls = 6 }), growing() }
      steps[2].id, steps[2].mangled_name = 2, "_Z2"
      found.declared[3].step = "s"
      local plan = plan_of(steps, 35, 0)
      found.declared[3].step = nil
      assert.equal("infer.repeats=1 instead of 2, infer.warmup=0 instead of 1, "
        .. "infer.max_new_tokens=16 instead of 33", changes_of(plan))
      -- 15 of 32 steps: 2 launches of the one shape, 1 of each of 15
      assert.same({ _Z1 = 3, _Z2 = 2 + 15 }, plan.names)
    end)

    it("has nothing to measure where the start takes the budget", function()
      local plan = plan_of({ kernel(1, { calls = 6 }) }, 9, 0)
      assert.same({ 0, 10 }, { plan.expected, plan.overhead_s })
    end)
  end)
end)
