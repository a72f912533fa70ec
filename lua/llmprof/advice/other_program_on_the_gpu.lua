-- Another program takes turns on the GPU: whatever runs when one ends lasts until the next.
local evidence = require "llmprof.advice.evidence"
local lists = require "llmprof.tables.lists"

local rule = { name = "other_program_on_the_gpu" }

-- From this part of the stage's time on.
local WORTH = 0.05


function rule.examine_stage(results, stage, report)
  local other = stage.other_program
  if not other then return "no launches of several kernels last longer by about one time" end
  local share = other.excess_ns / stage.wall.mean_ns
  if share < WORTH then
    return evidence.say("launches that last longer take %P of the time", share)
  end
  local group = evidence.kernels(results, stage, function(kernel)
    return lists.has(other.names, kernel.short_name)
  end)
  report.finding {
    title = ("another program works on the GPU during %s"):format(stage.name),
    evidence = { evidence.seen("%N launches of %N{kernel}, few of each, last longer than others "
      .. "like them, half of them by %T or more: the GPU went to another program", other.calls,
      other.kinds, other.p50_ns),
      evidence.seen("%T of %T are that", other.excess_ns, stage.wall.mean_ns) },
    try = "see what else runs there (nvidia-smi) and stop it, or give it another GPU or a part of "
      .. "one (MIG)",
    changes = evidence.change(("scale(%%s, %.3g)"):format(other.usual_ns
      / (other.usual_ns + other.excess_ns)), stage, group.list,
      (', { "duration", ">=", %d }'):format(math.floor(other.from_ns))),
    assumption = "these launches take what others like them take",
    kernels = group.ids,
  }
end


return rule
