-- results.json as a whole, on the small capture.
local bundle = require "tests.lua.support.bundle"
local json = require "llmprof.json"

local STAGES = 'stages = { { "prefill", children = { "vision" } }, '
  .. '{ "decode", step = "decode_step" } }, '

describe("llmprof.analysis", function()
  local top = bundle.scratch(before_each, after_each)

  -- results.json of a run of the small capture, and the context.
  local function results(fields, words)
    local ctx, failure = bundle.run_small(top(), fields or STAGES, words)
    assert.is_nil(failure)
    return assert(json.load(ctx.run:path "results.json")), ctx
  end

  -- The fields of an object that are named in another, so that both compare.
  local function like(expected, object)
    local picked = {}
    for key in pairs(expected) do picked[key] = object[key] end
    assert.same(expected, picked)
  end

  it("says what ran, on what, and from where", function()
    local made = results(STAGES .. 'model = { name = "Recipe", dtype = "fp32" },')
    like({ id = "run", recipe = "small" }, made.run)
    like({ name = "Small", variant = "1K", dtype = "bf16", weights = "random" }, made.model)
    like({ driver = "580", cuda = "13.0", torch = "2.7.0", device = "Small GPU" },
      made.environment)
    assert.is_nil(made.environment.transformers)
    like({ id = 0, name = "Small GPU", chip = "GX1", uuid = "u-1", memory_bytes = 8000000000,
      bandwidth_bytes_per_s = 1000000000000, max_clock_hz = 1000000000, sm_count = 16,
      l2_bytes = 1048576, compute_capability = "9.0" }, made.environment.devices[1])
    like({ from = "recorded", tool = "made by tests/fixtures/make_traces.py",
      file = "nsys/run.sqlite", export_schema = "3.20.3", export_product = "2025.3.2.0",
      recorded = "2026-01-01", command = "none" }, made.source.timeline)
    like({ from = "recorded", tool = "written by hand", file = "ncu/raw.csv" },
      made.source.counters)
  end)

  it("adds the whole capture up", function()
    like({ kernels = 11, copies = 4, sets = 0, graphs = 0, api_calls = 21, gpu_time_ns = 1960,
      busy_ns = 1960, span_ns = 28750, stage_share = 1860 / 1960 }, results().totals)
  end)

  it("means the used instances of a stage", function()
    local made = results()
    local prefill, vision, decode = table.unpack(made.stages)
    like({ name = "prefill", gpu_busy_ns = 300, gpu_idle_ns = 700, gpu_time_ns = 300, kernels = 2,
      launches = 3, copies = 1, idle_share = 0.7, share = 600 / 960, bound = "CPU",
      bound_reason = "the GPU is idle 70 % of the time, 10 % of it while a call launches",
      tokens = 16,
      wall = { count = 2, mean_ns = 1000, std_ns = 0, min_ns = 1000, max_ns = 1000,
        total_ns = 2000 } }, prefill)
    like({ name = "vision", parent = "prefill", gpu_busy_ns = 210, gpu_idle_ns = 190,
      share = 420 / 960, bound = "both", bound_reason = "the GPU is idle 48 % of the time" },
      vision)
    like({ name = "decode", gpu_busy_ns = 180, gpu_idle_ns = 1950, host_ns = 2000,
      idle_share = 1950 / 2130, share = 360 / 960, tokens = 4, steps = 2, kernels_per_token = 1,
      ns_per_token = 1065 },
      decode)
    assert.equal(3, #decode.instances)
    like({ start_ns = 5000, wall_ns = 4000, rep = 1, used = false, gpu_busy_ns = 400,
      gpu_idle_ns = 3600, kernels = 1, copies = 0, launches = 1 }, decode.instances[1])
    assert.is_nil(prefill.steps)
    assert.is_nil(prefill.ns_per_token)
  end)

  it("joins counters to kernels", function()
    local made = results()
    like({ launches = 2, matched = 2, kernels = 2, coverage = 620 / 820 }, made.counters)
    like({ match = "exact", sm_percent = 80.25, dram_percent = 40.5, memory_percent = 45.5,
      dram_bytes_per_launch = 1024, bound = "some SM unit", bound_percent = 80.25 },
      made.kernels[1].counters)
    assert.is_nil(made.kernels[1].counters.flop_per_launch)
    assert.is_nil(made.kernels[3].counters)
  end)

  it("notes what was selected, and what was too costly to measure", function()
    local made = results(STAGES, { "ncu.budget_s=1", "top_n.kernels=1" })
    like({ policy = { kernels = 1, coverage = 0.95, per_stage = true, launches_per_kernel = 2 },
      kernels = { 2, 1 }, filter = "regex:^(gemm)$", coverage = 620 / 820 }, made.selection)
    assert.same({ 2, 1 }, { made.selection.dropped[1].kernel, made.selection.dropped[2].kernel })
  end)
end)
