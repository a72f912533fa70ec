-- Requests wait while the KV cache has room: something else limits the batch.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "kv_room", about = "engine_metrics" }

local PAGE = "engine"

-- Little of the cache, and a queue that is more than a moment's, on the mean.
local LITTLE, QUEUE = 0.5, 1


function rule.examine(results, report)
  local engine = results.engine_metrics
  local kv, running, waiting = engine.kv_use, engine.running, engine.waiting
  if not (kv and running and waiting) then
    return report.abstain "the engine's page lacks KV use, running or waiting requests"
  elseif kv.max >= LITTLE then
    return ("up to %s of the KV cache is in use"):format(evidence.percent(kv.max))
  elseif waiting.mean < QUEUE then
    return "no requests wait"
  end
  report.finding {
    title = "requests wait while most of the KV cache is free",
    evidence = {
      evidence.note(PAGE, "%.1f requests wait on the mean, %.1f run", waiting.mean, running.mean),
      evidence.note(PAGE, "at most %s of the KV cache is in use", evidence.percent(kv.max)),
    },
    try = "larger batches (vLLM: --max-num-seqs, --max-num-batched-tokens, SGLang: "
      .. "--max-running-requests, TensorRT-LLM: max_batch_size, llama.cpp: --parallel)",
    confidence = "medium",
  }
end


return rule
