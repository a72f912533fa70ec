-- Requests in decode wait while a step prefills others.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "prefill_stalls", of_ranks = true }

-- A mixed step that takes this many times as long as a decode step is a stall.
local TIMES = 3


local function by_phase(record)
  local found = {}
  for _, group in ipairs(record.stages or {}) do
    if group.phase then found[group.phase] = group end
  end
  return found
end


function rule.examine(results, report)
  local record, said = evidence.steps_of_engine(results, report)
  if not record then return said end
  local found = by_phase(record)
  local mixed, decode = found.mixed, found.decode
  if not (mixed and decode and mixed.interval_ns and decode.interval_ns) then
    return "no step prefills and decodes at once"
  elseif mixed.interval_ns < TIMES * decode.interval_ns then
    return ("mixed steps take %s, decode steps %s"):format(evidence.time(mixed.interval_ns),
      evidence.time(decode.interval_ns))
  end
  local notes = { evidence.note(evidence.TIMELINE,
    "%s steps that prefill, too, take %s each; a decode step %s", evidence.count(mixed.count),
    evidence.time(mixed.interval_ns), evidence.time(decode.interval_ns)) }
  local stall = record.requests and record.requests.stall_ns
  if stall then
    notes[2] = evidence.note(evidence.TIMELINE, "%s of the mean time per token is that",
      evidence.time(stall))
  end
  report.finding {
    stage = "mixed", title = "prefill of other requests stalls decode", evidence = notes,
    try = "smaller chunks of prefill (vLLM: --max-num-batched-tokens, SGLang: "
      .. "--chunked-prefill-size, TensorRT-LLM: max_num_tokens), where the time between tokens "
      .. "matters more than that to the first; or prefill on GPUs of its own",
    confidence = "medium",
  }
end


return rule
