-- Collectives take much of the GPU time, and little of that is waiting.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "collective_bound", of_ranks = true }


function rule.examine(results, report)
  local record, said = evidence.ranks(results, report)
  if not record then return said end
  local verdict = record.verdict
  if not verdict then return "there is one rank" end
  if verdict.kind ~= "transfer" then return verdict.text end
  local totals = record.totals
  report.finding {
    title = "moving data between the GPUs takes much of their time",
    evidence = {
      evidence.note(evidence.TIMELINE, "%s", verdict.text),
      evidence.note(evidence.TIMELINE, "%s of %s are hidden behind computing",
        evidence.time(totals.hidden_ns), evidence.time(totals.collective_ns)),
    },
    try = "fewer GPUs in tensor parallel, or data parallel beside it; collectives that run while "
      .. "the next kernels compute; fused all-reduce and norm; see whether all GPUs are joined by "
      .. "NVLink (nvidia-smi topo -m)",
    confidence = "medium",
  }
end


return rule
