-- Results tables for the specs of reports: as little as a run can find out, and
-- a little of everything.
local json = require "llmprof.json"

local results = {}


local function with(made, given)
  for key, value in pairs(given or {}) do made[key] = value end
  return made
end


-- A trace without stages or kernels, nothing else measured.
function results.empty(given)
  return with({
    schema_version = 1,
    run = { id = "x", recipe = "r", created = "2026-01-02T03:04:05Z", llmprof = "0.1.0" },
    source = { timeline = { from = "recorded", file = "nsys/run.sqlite" } },
    environment = {},
    repeats = { count = 1, used = 1, skipped_first = false, whole_run = false },
    stages = json.list {}, kernels = json.list {}, missing = json.list {},
    advice = { findings = json.list {}, abstained = json.list {} },
  }, given)
end


local shapes = { { grid = { 4, 1, 1 }, block = { 128, 1, 1 }, registers = 32, shared_bytes = 0,
  calls = 2, total_ns = 1 } }

-- Two stages of two repeats, three kernels, one of them with counters.
function results.full(given)
  return with(results.empty {
    model = { name = "Model|X", variant = "1B" },
    source = {
      timeline = { from = "recorded", tool = "Nsight Systems 2025.3.1", file = "nsys/run.sqlite",
        recorded = "2026-01-01" },
      counters = { from = "recorded", tool = "Nsight Compute 2025.3.1", file = "ncu/raw.csv" },
    },
    environment = { driver = "580", cuda = "13.0", torch = "2.7", devices = { { id = 0,
      name = "NVIDIA H200", memory_bytes = 150e9, bandwidth_bytes_per_s = 4814304000000,
      max_clock_hz = 1980000000, sm_count = 132, compute_capability = "9.0" } } },
    repeats = { count = 3, used = 2, skipped_first = true, slowdown = 2.5,
      left_out = { { stage = "prefill", rep = 1, ns = 20.8e6, usual_ns = 8.3e6 } },
      first_excess_ns = 12.5e6, whole_run = false },
    totals = { kernels = 1234, copies = 5, sets = 1, graphs = 0, api_calls = 4321,
      gpu_time_ns = 30e6, busy_ns = 28e6, span_ns = 90e6, stage_share = 0.8 },
    integrity = { verdict = "fair", checks = {
      { name = "launches", level = "ok", text = "1,234 kernel launches" },
      { name = "ranges", level = "warning", text = "1 was open", fix = "end later" } } },
    stages = {
      { name = "prefill", instances = json.list {}, share = 0.25, idle_share = 0.2, bound = "gpu",
        wall = { count = 2, mean_ns = 5e6, std_ns = 1e5, min_ns = 4.9e6, max_ns = 5.1e6,
          total_ns = 10e6 },
        gpu_busy_ns = 4e6, gpu_idle_ns = 1e6, gpu_time_ns = 4e6, kernels = 20, launches = 21,
        copies = 1 },
      { name = "sam", parent = "prefill", instances = json.list {}, share = 0.1, idle_share = 0.5,
        bound = "launch",
        wall = { count = 2, mean_ns = 2e6, std_ns = 0, min_ns = 2e6, max_ns = 2e6,
          total_ns = 4e6 },
        gpu_busy_ns = 1e6, gpu_idle_ns = 1e6, gpu_time_ns = 1e6, kernels = 5, launches = 5,
        copies = 0 },
      { name = "decode", instances = json.list {}, share = 0.75, idle_share = 0.6, bound = "launch",
        wall = { count = 2, mean_ns = 40e6, std_ns = 0, min_ns = 40e6, max_ns = 40e6,
          total_ns = 80e6 },
        gpu_busy_ns = 16e6, gpu_idle_ns = 24e6, gpu_time_ns = 16e6, kernels = 400, launches = 400,
        copies = 0, tokens = 8, steps = 8, kernels_per_token = 50, ns_per_token = 5e6 },
    },
    kernels = {
      { id = 1, name = "void gemm<4>(T *)", short_name = "gemm", label = "gemm 4",
        category = "gemm", stage = "decode",
        device = 0, calls = 200, total_ns = 20e6, mean_ns = 1e5, median_ns = 1e5,
        min_ns = 9e4, max_ns = 2e5, std_ns = 1e3, share = 0.625,
        cumulative = 0.625, stage_share = 0.8, stage_cumulative = 0.8, shapes = shapes,
        counters = { launches = 2, match = "exact", sm_percent = 12.34, dram_percent = 70,
          intensity = 1.5, bound = "DRAM", bound_percent = 70 } },
      { id = 2, name = "add(float *)", short_name = "add", label = "add", category = "elementwise",
        stage = "prefill", part = "sam", device = 0, calls = 10, total_ns = 7e6, mean_ns = 7e5,
        median_ns = 7e5, min_ns = 7e5, max_ns = 7e5, std_ns = 0,
        share = 0.21875, cumulative = 0.84375, stage_share = 1, stage_cumulative = 1,
        shapes = shapes },
      { id = 3, name = "void gemm<8>(T *)", short_name = "gemm", label = "gemm 8",
        category = "gemm", stage = "decode",
        device = 1, calls = 4, total_ns = 5e6, mean_ns = 1.25e6,
        median_ns = 1e6, min_ns = 1e6, max_ns = 2e6, std_ns = 5e5, share = 0.15625,
        cumulative = 1, stage_share = 0.2, stage_cumulative = 1, shapes = shapes },
    },
    selection = { policy = { kernels = 1 }, coverage = 0.8, filter = "regex:^(gemm)$",
      kernels = { 1 }, dropped = json.list {}, groups = {
        { name = "decode", kernels = { 1 }, coverage = 0.8, of = 2 } } },
    counters = { launches = 2, matched = 2, kernels = 1, coverage = 0.625, stages = {
      { name = "decode", coverage = 0.8 }, { name = "prefill", coverage = 0 } } },
    missing = { { what = "operators", why = "it was <not> asked for", how = "operators=on" },
      { what = "the model's cost", why = "model.arch is not set", how = "describe the model" } },
  }, given)
end


return results
