-- Short collectives in a row: one of all their bytes would have their latency once.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "collectives_in_a_row", own_code = true }

-- In a row is this part of them, and this many of an instance.
local MOST, LEAST = 0.6, 8

-- A collective this short is all latency.
local SHORT_NS = 20000

-- From this part of the stage's time on.
local WORTH = 0.05


-- Where graphs are replayed, their launching takes as much less as they have fewer kernels.
local function changes_of(stage, group, in_row)
  local list = evidence.change("fuse(%s)", stage, group.list)
  if evidence.replays_graphs(stage) and stage.kernels then
    list[2] = ("scale(cpu %q, %.3g)"):format(stage.name, 1 - in_row / math.max(stage.kernels, 1))
  end
  return list
end


function rule.examine_stage(results, stage, report)
  local made = stage.collectives
  if not made then return "there are no collectives" end
  if made.in_row < math.max(MOST * made.calls, LEAST) then
    return evidence.say("%N of %N{collective} follow another one at once", made.in_row, made.calls)
  end
  local ns = made.in_row * made.p50_ns
  if made.p50_ns > SHORT_NS or ns < WORTH * stage.wall.mean_ns then
    return evidence.say("collectives in a row take %T each", made.p50_ns)
  end
  local group = evidence.kernels(results, stage, evidence.is_collective)
  report.finding {
    title = evidence.say("%s divides what its ranks exchange into %N collectives in a row",
      stage.name, made.calls / math.max(made.calls - made.in_row, 1)),
    evidence = { evidence.seen("%N of %N{collective} follow another of their kind, with no other "
      .. "kernel between; half of them take less than %T, which is latency", made.in_row,
      made.calls, made.p50_ns) },
    try = "one collective over all of it: join tensors, or group the calls (ncclGroupStart and "
      .. "ncclGroupEnd" .. evidence.remedy(results, ", torch.distributed._coalescing_manager", "")
      .. ")",
    changes = changes_of(stage, group, made.in_row),
    assumption = "those in a row become one, which takes as long as the longest",
    confidence = "high",
  }
end


return rule
