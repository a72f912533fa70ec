-- Public traces of torch.profiler against the tables that TraceLens made of them, where
-- these lie beside the checkout: busy and idle time, and time by operator.
local bundle = require "tests.lua.support.bundle"
local csv = require "llmprof.csv"
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local reports = require "llmprof.run.reports"

local ROOT = debug.getinfo(1, "S").source:match "^@(.-)tests/lua/spec/" or ""
local SHARED = (os.getenv "LLMPROF_SHARED" or ROOT .. "../shared") .. "/data/public/"


-- Rows of a CSV file by their first column.
local function read(path)
  local made = {}
  for row in assert(csv.open(SHARED .. path)):rows() do made[row.type or row.name] = row end
  return made
end


local function near(expected, got, what)
  assert.is_true(math.abs(got - expected) <= 0.001 * expected,
    ("%s: %s expected, got %s"):format(what, expected, got))
end


describe("TraceLens's tables", function()
  local top = bundle.scratch(before_each, after_each)

  local function results_of(name)
    local run, results = reports.make { paths = { SHARED .. name }, settings = {},
      out = top() .. "/run", quiet = true }
    assert.is_truthy(run)
    return results
  end

  local function check_operators(results, path)
    local expected, seen = read(path), 0
    for _, row in ipairs(results.operators.operators) do
      local other = expected[row.name]
      if other then
        near(other.total_direct_kernel_time_ms * 1e6, row.device_self_ns, row.name)
        seen = seen + 1
      end
    end
    assert.is_true(seen >= 10)
  end

  local function offer(title, name, check)
    local there = fs.stat(SHARED .. name)
    it(title, function()
      if not there then return pending(SHARED .. name .. " is not there") end
      check(results_of(name))
    end)
  end

  -- They count what was launched in the trace alone: 509 operations were launched before
  -- it, which are ours in the whole run and not in its step. Their total ends at the last
  -- operation, ours begins where the step does.
  offer("fit an H100's eager step", "kineto/h100_qwen_0.5b.json.gz", function(results)
    local times = read "kineto/h100_qwen_0.5b_tracelens/gpu_timeline.csv"
    local stage = results.stages[1]
    assert.equal("ProfilerStep", stage.name)
    near(times.busy_time["time ms"] * 1e6, stage.gpu_busy_ns, "busy")
    check_operators(results, "kineto/h100_qwen_0.5b_tracelens/ops_summary.csv")
  end)

  offer("fit SGLang's prefill on an MI300X", "kineto/mi300x_sglang_qwen3_8b.json.gz",
    function(results)
      local times = read "kineto/mi300x_sglang_qwen3_8b_tracelens/gpu_timeline.csv"
      near(times.busy_time["time ms"] * 1e6, results.totals.busy_ns, "busy")
      near(times.total_time["time ms"] * 1e6, results.totals.span_ns, "total")
      local overlap = results.totals.overlap
      near(times.computation_time["time ms"] * 1e6, overlap.computation_ns, "computation")
      near(times.total_memcpy_time["time ms"] * 1e6, overlap.transfers_ns, "copies")
      near(times.exposed_memcpy_time["time ms"] * 1e6, overlap.exposed_transfers_ns, "exposed")
      local gemm = 0
      for _, kernel in ipairs(results.kernels) do
        gemm = gemm + (kernel.category == "gemm" and kernel.total_ns or 0)
      end
      near(420305748, gemm, "GEMM")
      assert.equal(1307.4e12, results.hardware.peaks.bf16.per_s)
      for _, name in pairs(layout.reports) do
        local written = assert(fs.read(top() .. "/run/" .. name)):gsub("<script.-</script>", "")
        for _, word in ipairs { "CUDA", "NVTX", "SMs", "Nsight", "ncu", "nsys" } do
          assert.is_nil(written:find("%f[%w_]" .. word .. "%f[^%w_/]"), name .. ": " .. word)
        end
      end
    end)

  offer("fit a decode step of vLLM in a graph", "vllm_capture/graph_execution.json.gz",
    function(results)
      local times = read "vllm_capture/perf_csvs_gpu_timeline.csv"
      near(times.busy_time["time ms"] * 1e6, results.totals.busy_ns, "busy")
      near(times.total_time["time ms"] * 1e6, results.totals.span_ns, "total")
      near((times.computation_time["time ms"] + times.exposed_memcpy_time["time ms"]) * 1e6,
        results.totals.busy_ns, "computation and copies")
    end)

  offer("know the operators of its graph by the trace of the capture", "vllm_capture",
    function(results)
      local operators = results.operators
      assert.equal(0, operators.unattributed_device_ns)
      assert.same({ "vllm::moe_forward", 24 },
        { operators.operators[1].name, operators.operators[1].calls })
      assert.equal(434, operators.joined.by_order.launches)
    end)

  -- They give the mean of the GPUs that did anything: one ran the program, one copied.
  offer("fit a convolution in JAX on an MI300X",
    "xplane/jax_conv_minimal_legacy_chi-mi300x-013.ord.vultr.cpe.ice.amd.com.xplane.pb",
    function(results)
      local times = read "xplane/tracelens/gpu_events_averages.csv"
      local kernels = 0
      for _, kernel in ipairs(results.kernels) do kernels = kernels + kernel.total_ns end
      near(2 * times.computation_time["time ms"] * 1e6, kernels, "kernels")
      near(2 * times.busy_time["time ms"] * 1e6, results.totals.busy_ns, "busy")
      local by_name = {}
      for _, row in ipairs(results.operators.operators) do
        by_name[row.name] = row.device_self_ns
      end
      local tables = read "xplane/tracelens/xla_summary.csv"
      near(tables.input_transpose_fusion.total_direct_kernel_time_ms * 1e6,
        by_name.input_transpose_fusion, "input_transpose_fusion")
    end)
end)
