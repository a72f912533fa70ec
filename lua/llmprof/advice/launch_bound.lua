-- The GPU waits while the CPU issues work: a CUDA graph replays it in one call.
local text = require "llmprof.text"

local rule = { name = "launch_bound" }

-- Idle from this share on is worth a finding.
local WORTH = 0.3


local function evidence(stage)
  local list = {
    { text = ("the GPU is idle %s of %s"):format(text.duration(stage.gpu_idle_ns),
      text.duration(stage.wall.mean_ns)), source = "timeline" },
    { text = ("%s launches, %s in launching calls"):format(
      text.count(math.floor(stage.launches + 0.5)), text.duration(stage.api.launch.ns)),
      source = "timeline" },
    { text = ("while it was idle the CPU spent %s in launching calls and %s outside CUDA"):format(
      text.duration(stage.waiting.launch_ns), text.duration(stage.waiting.host_ns)),
      source = "timeline" },
  }
  if stage.kernels_per_token then
    list[#list + 1] = { text = ("%s kernels per token"):format(
      text.count(math.floor(stage.kernels_per_token + 0.5))), source = "timeline" }
  end
  return list
end


function rule.examine(results, report)
  for _, stage in ipairs(results.stages) do
    if not stage.parent and stage.wall and stage.waiting and (stage.idle_share or 0) >= WORTH then
      report.finding {
        stage = stage.name,
        title = ("%s is launch-bound"):format(stage.name),
        evidence = evidence(stage),
        try = "run it as a CUDA graph, or torch.compile(mode=\"reduce-overhead\"); both replay "
          .. "its launches in one call",
        gain_ns = stage.waiting.launch_ns + stage.waiting.host_ns + stage.waiting.other_ns,
        assumption = "shapes are static, and the GPU's own work stays as it is",
        confidence = "high",
      }
    end
  end
end


return rule
