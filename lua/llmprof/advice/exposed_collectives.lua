-- Collectives have streams of their own, so that they could run beside kernels, and none does.
local evidence = require "llmprof.advice.evidence"
local lists = require "llmprof.tables.lists"

local rule = { name = "exposed_collectives", own_code = true }

-- From this part of the stage's time on, where this part of them or less is hidden.
local WORTH, HIDDEN = 0.05, 0.2


-- Those of streams of their own are a part of all; what they take of the GPU while they are hidden
-- stays: the blocks that run them are on SMs that others could have.
local function changes_of(results, stage, own)
  local sms = results.hardware and results.hardware.sm_count
  local group = evidence.kernels(results, stage, evidence.is_collective)
  local kept = own.blocks and sms and math.min(own.blocks / sms, 1) or 0
  return evidence.faster(stage, group, own.alone_ns * (1 - kept)), group.ids
end


function rule.examine_stage(results, stage, report)
  local own = stage.collectives and stage.collectives.own
  if not own then return "no collectives have a stream of their own" end
  local hidden = 1 - own.alone_ns / math.max(own.ns, 1)
  if hidden > HIDDEN or own.alone_ns < WORTH * stage.wall.mean_ns then
    return evidence.say("%P of %T in collectives on streams of their own are hidden", hidden,
      own.ns)
  end
  -- does the program choose which have a stream of their own? Libraries that give one to all, as
  -- PyTorch before 2.8, say nothing of what it wants
  if not lists.any(results.stages, function(one)
    local made = one.collectives
    return made and made.calls > (made.own and made.own.calls or 0)
  end) then
    return "all collectives have streams of their own"
  end
  local changes, ids = changes_of(results, stage, own)
  report.finding {
    title = ("%s computes nothing during its collectives, though they have a stream of their own")
      :format(stage.name),
    evidence = { evidence.seen("%N{collective} on streams of their own take %T, and for %T of it "
      .. "no other kernel runs", own.calls, own.ns, own.alone_ns) },
    try = "wait for a collective where its result is read, and not where it is called; where the "
      .. "next kernels need it, divide the batch in two, and compute one half while the other's "
      .. "is on its way",
    changes = changes, kernels = ids,
    assumption = "they run with other kernels, on the SMs that they take",
  }
end


return rule
