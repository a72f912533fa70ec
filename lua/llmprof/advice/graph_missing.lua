-- Decode steps that launch kernel by kernel while the GPU waits. No graph can be captured while the
-- loop reads the device inside a step, loops over experts on the CPU, or lets tensors grow.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "graph_missing", own_code = true, of_decode = true, general = true }

-- With fewer launches a step there is little for a graph to replace.
local FEWEST = 20

-- From this many kernels a launch on, graphs hold a part of a step.
local IN_PART = 1.1


function rule.examine_stage(results, stage, report)
  local per_step = stage.launches / stage.steps
  if evidence.replays_graphs(stage) then
    return evidence.say("graphs are replayed: %N kernels in %N launches per step",
      stage.kernels / stage.steps, per_step)
  elseif per_step < FEWEST then
    return evidence.say("%N launches per step", per_step)
  elseif not evidence.is_held_up(results, stage) then
    return evidence.say("the GPU waits for %P of the time: launches keep ahead of it",
      evidence.waiting_share(results, stage))
  end
  report.finding {
    title = ("the steps of %s are not replayed as a CUDA graph"):format(stage.name),
    evidence = {
      evidence.seen("%N launches and %N kernels per step, %s", per_step,
        stage.kernels / stage.steps,
        stage.kernels > IN_PART * stage.launches and "which graphs hold in part" or "no graph"),
    },
    try = ("capture one step as a CUDA graph%s, once its shapes are static and nothing in it waits "
      .. "for the GPU"):format(evidence.remedy(results,
        ", or torch.compile(mode=\"reduce-overhead\")", "")),
    changes = { ("graphs(%q)"):format(stage.name) },
    after = { "experts_one_by_one", "sync_per_token", "cat_cache", "pageable_copies" },
    assumption = "shapes are static, and nothing in a step waits for the GPU",
  }
end


return rule
