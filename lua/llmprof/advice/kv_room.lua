-- A KV cache that is too small for the load, or has room while requests wait.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "kv_room", about = "engine_metrics" }

local PAGE = "engine"

-- Little of the cache, and a queue that is more than a moment's, on the mean.
local LITTLE, QUEUE = 0.5, 1


local function report_preemptions(engine, report)
  local notes = { evidence.note(PAGE, "%N preemptions in the window", engine.preemptions) }
  if engine.kv_use then
    notes[2] = evidence.note(PAGE, "up to %P of the KV cache was in use", engine.kv_use.max)
  end
  report.finding {
    title = "the KV cache is too small for this load: requests are preempted", evidence = notes,
    try = "fewer requests at once (vLLM: --max-num-seqs, SGLang: --max-running-requests), more "
      .. "memory for the cache (--gpu-memory-utilization, --mem-fraction-static), or one of "
      .. "fewer bytes (--kv-cache-dtype fp8)",
    confidence = "high",
  }
end


function rule.examine(results, report)
  local engine = results.engine_metrics
  local kv, running, waiting = engine.kv_use, engine.running, engine.waiting
  if (engine.preemptions or 0) > 0 then
    return report_preemptions(engine, report)
  elseif not (kv and running and waiting) then
    return report.abstain "the engine's page lacks KV use, running or waiting requests"
  elseif kv.max >= LITTLE then
    return evidence.say("up to %P of the KV cache is in use", kv.max)
  elseif waiting.mean < QUEUE then
    return "no requests wait"
  end
  report.finding {
    title = "requests wait while most of the KV cache is free",
    evidence = {
      evidence.note(PAGE, "%.1f requests wait on the mean, %.1f run", waiting.mean, running.mean),
      evidence.note(PAGE, "at most %P of the KV cache is in use", kv.max),
    },
    try = "larger batches (vLLM: --max-num-seqs, --max-num-batched-tokens, SGLang: "
      .. "--max-running-requests, TensorRT-LLM: max_batch_size, llama.cpp: --parallel)",
  }
end


return rule
