-- Matrix products that compute, and not on the tensor cores: seen by counters, whatever the
-- kernels are called.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "idle_tensor", own_code = true }

-- Tensor cores busy less than this do nothing of a product, %.
local IDLE = 1

-- From this share of the stage's GPU time on.
local WORTH = 0.03

-- bf16 on tensor cores has four times the peak of FP32 without and more, since Ampere.
local SHARE = 0.5

local COMPUTES = { fp32 = true, fp64 = true, ALU = true, issue = true, ["some SM unit"] = true }


local function is_idle(kernel)
  local counters = kernel.counters
  return evidence.is_product(kernel) and counters ~= nil and counters.tensor_percent ~= nil
    and counters.tensor_percent < IDLE and COMPUTES[counters.bound] ~= nil
end


local function why(kernel)
  return (", tensor cores %.1f %%, bound by %s"):format(kernel.counters.tensor_percent,
    kernel.counters.bound)
end


local function finding(stage, found)
  return {
    stage = stage.name,
    title = ("matmuls of %s leave the tensor cores idle"):format(stage.name),
    evidence = evidence.with_kernels({
      evidence.note(evidence.COUNTERS, "%s in matmuls that compute with less than %d %% of the "
        .. "tensor cores", evidence.time(found.ns), IDLE),
    }, found, stage, why),
    try = "bf16, fp16 or tf32 inputs, dimensions that are multiples of 8 and pointers aligned to "
      .. "16 bytes; in own kernels the mma instructions",
    gain_ns = found.ns * SHARE,
    spends = "gpu",
    assumption = "the tensor cores do it in half the time",
    kernels = found.ids,
    confidence = "medium",
    after = { "gemm_precision" },
  }
end


function rule.examine(results, report)
  if not evidence.has_counter(results, "tensor_percent") then
    report.abstain "the tensor cores were not measured"
    return
  end
  local most = evidence.each_share(results, evidence.stages(results), is_idle, WORTH,
    function(stage, found) report.finding(finding(stage, found)) end)
  return ("such matmuls take %s of the GPU time of a stage at most"):format(evidence.percent(most))
end


return rule
