-- Memory that is allocated, or pinned, and given back in every step.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "allocations", own_code = true, of_decode = true }

-- Calls per step from which on every step allocates, and the share of the stage's time that the
-- GPU waits in them.
local PER_STEP, WORTH = 0.9, 0.05


function rule.examine_stage(results, stage, report)
  if not (stage.api and stage.waiting) then return "what the CPU did meanwhile is not known" end
  local calls = stage.api.memory.calls
  local waits = math.min(stage.api.memory.ns, evidence.waiting(results, stage))
  local seen = evidence.say("%N{call} that allocate, pin or free memory in %N{step}", calls,
    stage.steps)
  if calls < PER_STEP * stage.steps or waits < WORTH * evidence.stage_time(results, stage) then
    return seen
  end
  report.finding {
    title = ("%s allocates or pins memory in every step"):format(stage.name),
    evidence = {
      evidence.seen("%N{call} that allocate, pin or free, %N a step, %T in them", calls,
        calls / stage.steps, stage.api.memory.ns),
      evidence.seen("while the GPU was idle the CPU spent %T in them", stage.waiting.memory_ns),
    },
    try = "allocate once, before the first step" .. evidence.remedy(results,
      ": no torch.cuda.empty_cache() in the loop, and no cache that grows in it; "
      .. "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True where sizes change", ""),
    changes = { ("remove(allocations %q)"):format(stage.name) },
    assumption = "no step allocates, and the CPU launches as fast as it does now",
    confidence = "high",
  }
  return seen
end


return rule
