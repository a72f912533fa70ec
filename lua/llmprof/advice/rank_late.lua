-- One rank comes last to the collectives, and the others wait for it.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "rank_late", of_ranks = true, in_waiting = true }


-- Steps of a rank in an instance of the stage, whose instances are of all ranks of the
-- timeline, which is the first file.
local function steps_of(stage, record, steps)
  if not stage or #stage.instances == 0 then return 1 end
  local ranks = 0
  for _, rank in ipairs(record.ranks) do
    if rank.file == record.ranks[1].file then ranks = ranks + 1 end
  end
  return math.max(steps * ranks / #stage.instances, 1)
end


-- By how much the rank comes after the next to last in an instance of the stage, which
-- may hold several steps: so much earlier everything behind would be. nil without steps.
local function lateness(results, record, verdict)
  local late, steps = 0, nil
  for _, place in ipairs(record.places or {}) do
    if place.rank == verdict.rank and place.phase == verdict.phase then
      late = late + place.late_ns
    end
  end
  for _, group in ipairs(record.stages or {}) do
    if group.phase == verdict.phase then steps = group.count end
  end
  if not verdict.phase or not steps or steps == 0 or late == 0 then return nil end
  return late / steps * steps_of(evidence.find(results, verdict.phase), record, steps)
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


-- Of two it is one that waits.
local function title_of(record, verdict)
  if #record.ranks ~= 2 then return ("the other ranks wait for rank %d"):format(verdict.rank) end
  local other = record.ranks[1].rank == verdict.rank and record.ranks[2] or record.ranks[1]
  return ("rank %d waits for rank %d"):format(other.rank, verdict.rank)
end


function rule.examine(results, report)
  local record, said = evidence.ranks(results, report)
  if not record then return said end
  local verdict = record.verdict
  if not verdict then return "there is one rank" end
  if verdict.kind ~= "waiting" or not verdict.rank then return verdict.text end
  local gain = lateness(results, record, verdict)
  local notes = { evidence.note(evidence.TIMELINE, "%s", verdict.text) }
  if verdict.instead then
    notes[2] = evidence.note(evidence.TIMELINE, "rank %d came late: %s", verdict.rank,
      verdict.instead)
  end
  report.finding {
    stage = verdict.phase, title = title_of(record, verdict),
    evidence = notes, try = remedy(verdict), gain_ns = gain,
    spends = gain and "gpu" or nil, assumption = gain and "it comes when the next to last does"
      or nil, confidence = "high",
    blocking = true, -- kernels of collectives and steps of the others are as long as it is late
  }
end


return rule
