-- Between decode steps the GPU has nothing to do: sampling on the CPU, the Python loop.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "step_gaps", own_code = true }

-- Idle between steps from this share of the stage's time on is worth a finding.
local WORTH = 0.05


function rule.examine(results, report)
  if results.ranks and results.ranks.source == "labels" then
    return "each step of the engine is a stage of its own: steps_idle looks at what is between"
  end
  local marked, most = false, 0
  for _, stage in ipairs(evidence.stages(results)) do
    local steps = stage.between_steps
    marked = marked or steps ~= nil
    if steps then most = math.max(most, evidence.part(steps.idle_ns, stage.wall.mean_ns)) end
    if steps and steps.idle_ns >= WORTH * stage.wall.mean_ns then
      report.finding {
        stage = stage.name,
        title = ("the GPU is idle between the steps of %s"):format(stage.name),
        evidence = {
          evidence.seen("%T idle between %N steps, of %T", steps.idle_ns, steps.count,
            stage.wall.mean_ns),
          evidence.seen("the CPU spent it %s", evidence.activities(steps)),
        },
        try = "prepare the next step while the GPU works on this one: choose the token on the "
          .. "GPU, look at it one step later, move text work to another thread",
        changes = { ("remove(between %q)"):format(stage.name) },
        assumption = "everything between the steps can be done while the GPU works",
      }
    end
  end
  if not marked then
    report.abstain "no range marks single steps (step of a stage in the recipe)"
  end
  return evidence.say("the GPU is idle between steps for %P of the time", most)
end


return rule
