-- Requests that lost their KV cache to others are prefilled again.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "preemptions", about = "engine_metrics" }

local PAGE = "engine"


function rule.examine(results, report)
  local engine = results.engine_metrics
  if not engine.preemptions then
    return report.abstain "the engine's page does not count preemptions"
  elseif engine.preemptions == 0 then
    return "no request was preempted"
  end
  local notes = { evidence.note(PAGE, "%s preemptions in the window",
    evidence.count(engine.preemptions)) }
  if engine.kv_use then
    notes[2] = evidence.note(PAGE, "up to %s of the KV cache was in use",
      evidence.percent(engine.kv_use.max))
  end
  report.finding {
    title = "the KV cache is too small for this load: requests are preempted", evidence = notes,
    try = "fewer requests at once (vLLM: --max-num-seqs, SGLang: --max-running-requests), more "
      .. "memory for the cache (--gpu-memory-utilization, --mem-fraction-static), or one of "
      .. "fewer bytes (--kv-cache-dtype fp8)",
    confidence = "high",
  }
end


return rule
