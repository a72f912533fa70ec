-- Collectives that take much of the GPU time, and wait little, or nobody can tell for what.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "collective_bound", of_ranks = true }


-- Of the time of the stages: from this share in collectives on it matters that waiting is not
-- told.
local MOST = 0.5


-- Stages that are mostly collectives of which nobody knows what they wait for.
local function find_untold(results, report, verdict)
  local notes, times, sum = {}, 0, 0
  for i, stage in ipairs(evidence.stages(results)) do
    local time, source = evidence.stage_time(results, stage)
    time = time * evidence.ranks_in_stage(results)
    local ns = evidence.in_collectives(stage)
    times, sum = times + time * stage.wall.count, sum + ns * stage.wall.count
    notes[i] = evidence.note(source, "kernels of collectives take %T of %T of %s", ns, time,
      stage.name)
  end
  if times == 0 or sum < MOST * times then return verdict.text end
  table.insert(notes, 1, evidence.seen("%T of the stages' %T: %s", sum, times, verdict.text))
  report.finding {
    blocking = true,
    title = evidence.say("%P of the time is in collectives, and what they wait for is not in the "
      .. "capture", sum / times),
    evidence = notes,
    try = "open the files of all ranks together (llmprof report FOLDER): the rank that the others "
      .. "wait for comes before what this one does",
    confidence = "high",
  }
end


function rule.examine(results, report)
  local record = results.ranks
  local verdict = record.verdict
  if not verdict then return "there is one rank" end
  if verdict.kind == "unknown" and not record.pipeline then
    return find_untold(results, report, verdict)
  end
  if verdict.kind ~= "transfer" then return verdict.text end
  local totals = record.totals
  report.finding {
    title = "moving data between the GPUs takes much of their time",
    evidence = {
      evidence.seen("%s", verdict.text),
      evidence.seen("%T of %T are hidden behind computing", totals.hidden_ns, totals.collective_ns),
    },
    try = "fewer GPUs in tensor parallel, combined with data parallel; collectives that run while "
      .. "the next kernels compute; fused all-reduce and norm; see whether all GPUs are joined by "
      .. "NVLink (nvidia-smi topo -m)",
  }
end


return rule
