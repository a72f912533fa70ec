-- One rank comes last to the collectives, and the others wait for it.
local evidence = require "llmprof.analysis.evidence"

local rule = { name = "rank_late" }

local NO_RANKS = "no steps and no second rank were found"


-- The most that one of the others waits in an instance of the stage, which may hold
-- several steps.
local function longest_wait(results, record, verdict)
  local stage, longest = evidence.find(results, verdict.phase), 0
  for _, group in ipairs(record.stages or {}) do
    for _, own in ipairs(group.phase == verdict.phase and group.ranks or {}) do
      if own.rank ~= verdict.rank then longest = math.max(longest, own.waiting_ns or 0) end
    end
  end
  return longest > 0 and longest * (stage and stage.steps or 1) or nil
end


local function remedy(verdict)
  if verdict.instead and verdict.instead:find("launched later", 1, true) then
    return ("look at what the CPU of rank %d's process does, as its kernels are the same: its "
      .. "cores and their NUMA node (numactl, taskset), other processes on them, and work that "
      .. "this rank alone does between steps"):format(verdict.rank)
  end
  return ("look at what rank %d alone does there: an uneven division of layers, experts, heads or "
    .. "requests, or a GPU that is slower or shared"):format(verdict.rank)
end


function rule.examine(results, report)
  local record = results.ranks
  if not record then return report.abstain(NO_RANKS) end
  local verdict = record.verdict
  if not verdict then return "there is one rank" end
  if verdict.kind ~= "waiting" or not verdict.rank then return verdict.text end
  local gain = longest_wait(results, record, verdict)
  local notes = { evidence.note(evidence.TIMELINE, "%s", verdict.text) }
  if verdict.instead then
    notes[2] = evidence.note(evidence.TIMELINE, "rank %d came late: %s", verdict.rank,
      verdict.instead)
  end
  report.finding {
    stage = verdict.phase, title = ("all ranks wait for rank %d"):format(verdict.rank),
    evidence = notes, try = remedy(verdict), gain_ns = verdict.phase and gain or nil,
    spends = gain and "gpu" or nil, assumption = gain and "it comes when the others do, and they "
      .. "then wait for nothing else" or nil, confidence = "high",
    blocking = true, -- kernels of collectives and steps of the others are as long as it is late
  }
end


return rule
