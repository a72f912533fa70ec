-- Kernels of another stream outlast the step that launched them, and later steps wait for them.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "other_stream_in_the_way" }

-- Waiting from this share of the stage's time on.
local WORTH = 0.05


-- The kernel as tables call it, and its ids.
local function known(results, stage, name)
  local label, ids = nil, {}
  for _, kernel in ipairs(evidence.kernels_of(results, stage)) do
    if kernel.name == name then label, ids[#ids + 1] = kernel.label, kernel.id end
  end
  return label or name, ids
end


function rule.examine_stage(results, stage, report)
  local other = stage.other_stream
  if not other then return "no stream works beyond the step that launched its kernels" end
  local share = evidence.part(other.ns, stage.wall.mean_ns)
  if share < WORTH then
    return ("steps wait %s of the time for kernels of another stream"):format(
      evidence.percent(share))
  end
  local label, ids = known(results, stage, other.kernel)
  report.finding {
    stage = stage.name,
    title = ("kernels of another stream hold the steps of %s up"):format(stage.name),
    evidence = {
      evidence.note(evidence.TIMELINE, "for %s of %s kernels of steps are launched and wait, while "
        .. "another stream runs work that outlasts its step: %s a %s, mostly %s",
        evidence.time(other.ns), evidence.time(stage.wall.mean_ns),
        evidence.things(other.calls, "kernel"), stage.name, label),
    },
    try = "run that work where the GPU waits anyway, or in smaller pieces, by a stream of lower "
      .. "priority (cudaStreamCreateWithPriority), or on other SMs (green contexts)",
    kernels = ids,
    confidence = "high",
  }
end


return rule
