-- At batch 1 every product of a decode step is a matrix times one vector: each
-- weight is read for a single multiplication.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "gemv_at_batch_1" }

-- From this share of the stage's GPU time in products on.
local WORTH = 0.2


local function is_product(kernel)
  return kernel.category == "gemm" or kernel.category == "moe"
end


local function measured(kernel)
  local counters = kernel.counters
  if not counters.dram_percent then return "" end
  return (", %.0f %% of the DRAM bandwidth%s"):format(counters.dram_percent,
    counters.tensor_percent and (", %.0f %% of the tensor pipe"):format(counters.tensor_percent)
      or "")
end


local function finding(stage, products)
  return {
    stage = stage.name,
    title = ("%s multiplies matrices by single vectors (batch 1)"):format(stage.name),
    evidence = evidence.with_kernels({
      evidence.note(evidence.TIMELINE, "%s of the GPU time is in %s matmuls per step, of "
        .. "batch 1", evidence.percent(products.share),
        evidence.count(products.calls / stage.steps)),
    }, products, stage, measured),
    try = "batch requests: a step costs about the same for several sequences. For one "
      .. "sequence, weights of 8 or 4 bits, or speculative decoding",
    kernels = products.ids,
    confidence = "medium",
  }
end


function rule.examine(results, report)
  local rate = results.latency and results.latency.tokens_per_s
  if not (rate and rate.batch) then
    report.abstain "the batch is not known (batch in metrics.json)"
    return
  end
  if rate.batch > 1 then return "the batch is " .. evidence.count(rate.batch) end
  local most = evidence.each_share(results, evidence.decodes(results), is_product, WORTH,
    function(stage, products) report.finding(finding(stage, products)) end)
  return ("matmuls take %s of the GPU time of decode"):format(evidence.percent(most))
end


return rule
