-- The GPU does nothing but copy from or to the host: weights that are kept there, caches that
-- were moved out. Pageable memory is another rule's.
local evidence = require "llmprof.advice.evidence"
local text = require "llmprof.text"

local rule = { name = "host_copies" }

-- From this part of the stage's time on such copies are worth a finding.
local WORTH = 0.05

local to_or_from_host = { ["host to device"] = true, ["device to host"] = true }


-- Copies of a stage from or to the host, per instance, and how many of their bytes are pageable.
local function copies_of(results, stage)
  local sum = { calls = 0, bytes = 0, ns = 0, pageable = 0 }
  for _, row in ipairs(results.transfers) do
    if row.stage == stage.name and to_or_from_host[row.direction] then
      sum.calls = sum.calls + row.calls / stage.wall.count
      sum.bytes = sum.bytes + row.bytes / stage.wall.count
      sum.ns = sum.ns + row.gpu_time_ns / stage.wall.count
      sum.pageable = sum.pageable + (row.pageable and row.bytes / stage.wall.count or 0)
    end
  end
  return sum
end


function rule.examine_stage(results, stage, report)
  if not results.transfers then return report.abstain "there is no timeline" end
  local alone, time = stage.host_copies_alone_ns, stage.wall.mean_ns
  if not alone then
    return ("copies from or to the host take less than 1 %% of %s"):format(stage.name)
  end
  local copies = copies_of(results, stage)
  if alone < WORTH * time or 2 * copies.pageable >= copies.bytes then
    return ("the GPU does nothing but copy from or to the host for %s of %s"):format(
      evidence.percent(evidence.part(alone, time)), stage.name)
  end
  local computing = math.max(stage.gpu_busy_ns - alone, 0)
  report.finding {
    stage = stage.name,
    title = ("%s copies from or to the host for %s of its time, and computes nothing meanwhile")
      :format(stage.name, evidence.percent(alone / time)),
    evidence = {
      evidence.note(evidence.TIMELINE, "%s of %s, %s/s while they run",
        evidence.things(copies.calls, "copy"), text.bytes(copies.bytes),
        text.bytes(copies.bytes / copies.ns * 1e9)),
      evidence.note(evidence.TIMELINE, "nothing else runs for %s of %s; other work takes %s, which "
        .. "is the most that copying at the same time can hide", evidence.time(alone),
        evidence.time(time), evidence.time(computing)),
    },
    try = "keep on the GPU what is copied each time (weights that are offloaded, a cache that was "
      .. "moved out), or make it smaller (8 bits); copy what comes next on a stream of its own "
      .. "while kernels run",
    changes = { ("remove(%s)"):format(evidence.transfers(stage,
      'direction = { "host to device", "device to host" }')) },
    assumption = ("nothing is copied; copies during all other work leave %s of them"):format(
      evidence.time(math.max(alone - computing, 0))),
    confidence = "medium",
  }
end


return rule
