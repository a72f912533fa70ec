-- Kernels of another stream outlast the step that launched them, and later steps wait for them.
local evidence = require "llmprof.advice.evidence"
local lists = require "llmprof.tables.lists"

local rule = { name = "other_stream_in_the_way" }

-- Waiting from this share of the stage's time on.
local WORTH = 0.05


function rule.examine_stage(results, stage, report)
  local other = stage.other_stream
  if not other then return "no stream works beyond the step that launched its kernels" end
  local share = evidence.part(other.ns, stage.wall.mean_ns)
  if share < WORTH then
    return evidence.say("steps wait %P of the time for kernels of another stream", share)
  end
  local named = lists.filtered(evidence.kernels_of(results, stage), function(kernel)
    return kernel.name == other.kernel
  end)
  report.finding {
    title = ("kernels of another stream hold the steps of %s up"):format(stage.name),
    evidence = {
      evidence.seen("for %T of %T kernels of steps are launched and wait, while another stream "
        .. "runs work that outlasts its step: %N{kernel} a %s, mostly %s", other.ns,
        stage.wall.mean_ns, other.calls, stage.name, named[1] and named[1].label or other.kernel),
    },
    try = "run that work where the GPU waits anyway, or in smaller pieces, by a stream of lower "
      .. "priority (cudaStreamCreateWithPriority), or on other SMs (green contexts)",
    kernels = lists.map(named, "id"),
    confidence = "high",
  }
end


return rule
