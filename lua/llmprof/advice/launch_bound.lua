-- The GPU waits while the CPU issues work: a CUDA graph replays it in one call.
local evidence = require "llmprof.analysis.evidence"

local rule = { name = "launch_bound" }


local function what_was_seen(results, stage)
  local time, source = evidence.stage_time(results, stage)
  local notes = {
    evidence.note(source, "it takes %s, of which the GPU works %s", evidence.time(time),
      evidence.time(stage.gpu_busy_ns)),
    evidence.note(evidence.TIMELINE, "%s launches, %s in launching calls",
      evidence.count(stage.launches), evidence.time(stage.api.launch.ns)),
    evidence.note(evidence.TIMELINE,
      "while the GPU was idle the CPU spent %s in launching calls and %s outside CUDA",
      evidence.time(stage.waiting.launch_ns), evidence.time(stage.waiting.host_ns)),
  }
  if stage.kernels_per_token then
    notes[4] = evidence.note(evidence.TIMELINE, "%s kernels per token",
      evidence.count(stage.kernels_per_token))
  end
  return notes
end


-- Against a plain time, all that the GPU does not work. Else what the profile
-- says the CPU did meanwhile, less the calls that wait for the GPU or allocate.
local function gain_of(results, stage)
  local _, source = evidence.stage_time(results, stage)
  if source ~= evidence.TIMELINE then
    return evidence.waiting(results, stage),
      "shapes are static, and the GPU's own work stays as it is"
  end
  local waiting = stage.waiting
  return waiting.launch_ns + waiting.host_ns + waiting.other_ns,
    "shapes are static, the GPU's own work stays as it is, and the profiler did not slow the "
      .. "launches (overhead=before tells)"
end


-- A stage with several kernels to a launch replays graphs already.
local function replays_graphs(stage)
  return stage.kernels >= 2 * stage.launches
end


local function title_of(results, stage)
  local share = evidence.waiting_share(results, stage)
  if replays_graphs(stage) then
    return ("%s leaves the GPU idle for %s of its time, although it replays CUDA graphs")
      :format(stage.name, evidence.percent(share))
  elseif share >= evidence.LAUNCH_BOUND then
    return stage.name .. " is launch-bound"
  end
  return ("%s leaves the GPU idle for %s of its time"):format(stage.name, evidence.percent(share))
end


function rule.examine_stage(results, stage, report)
  if not stage.waiting or not evidence.is_held_up(results, stage) then return end
  local gain, assumption = gain_of(results, stage)
  report.finding {
    stage = stage.name,
    title = title_of(results, stage),
    evidence = what_was_seen(results, stage),
    try = replays_graphs(stage)
      and "capture more in one graph, and shorten what the CPU does between replays"
      or "run it as a CUDA graph, or torch.compile(mode=\"reduce-overhead\"); both replay its "
        .. "launches in one call",
    gain_ns = gain,
    spends = "waiting",
    assumption = assumption,
    confidence = "high",
  }
end


return rule
