-- At batch 1 each weight is read for a single multiplication.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "gemv_at_batch_1",
  stages = evidence.decodes,
  worth = 0.2,
  wanted = evidence.is_product,
  title = "%s multiplies matrices by single vectors (batch 1)",
  source = evidence.TIMELINE,
  note = function(products, stage)
    return "%P of the GPU time is in %N matmuls per step, of batch 1", products.share,
      products.calls / stage.steps
  end,
  why = function(kernel)
    local counters = kernel.counters
    if not counters.dram_percent then return "" end
    return (", %.0f %% of the DRAM bandwidth%s"):format(counters.dram_percent,
      counters.tensor_percent and (", %.0f %% of the tensor pipe"):format(counters.tensor_percent)
        or "")
  end,
  try = "batch requests: a step costs about the same for several sequences. For one "
    .. "sequence, weights of 8 or 4 bits, or speculative decoding",
  silent = "matmuls take %P of the GPU time of decode",
}


function rule.examine(results, report)
  local rate = results.latency and results.latency.tokens_per_s
  if not (rate and rate.batch) then
    report.abstain "the batch is not known (batch in metrics.json)"
    return
  end
  if rate.batch > 1 then return evidence.say("the batch is %N", rate.batch) end
  return evidence.examine_kernels(results, report, rule)
end


return rule
