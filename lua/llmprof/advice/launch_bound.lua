-- The GPU waits for the CPU: for launching calls, or for the program between them.
local evidence = require "llmprof.advice.evidence"
local stage_summary = require "llmprof.analysis.stages.summary"
local uneven_steps = require "llmprof.advice.uneven_steps"

local rule = { name = "launch_bound", general = true, is_bound = true }


-- Collectives of this part of the GPU's time, which is worth a word.
local NOTABLE = 0.2


local function is_launch_bound(stage)
  return stage_summary.launch_share(stage.waiting) >= stage_summary.LAUNCHES_FILL
end


-- Calls that launch return when their kernel has ended where they last as long as the GPU works,
-- this long or longer each, and hardly any kernel is queued.
local BLOCKS_NS, QUEUED = 25e3, 0.02

local function launches_block(stage)
  local calls, delay = stage.api.launch, stage.launch_delay
  return delay and delay.queued_share <= QUEUED and calls.ns >= BLOCKS_NS * calls.calls
    and calls.ns >= stage.gpu_busy_ns
end


local function what_was_seen(results, stage)
  local time, source = evidence.stage_time(results, stage)
  local profiled = source ~= evidence.TIMELINE and "under the profiler, " or ""
  local notes = {
    evidence.note(source, "it takes %T, of which the GPU works %T", time, stage.gpu_busy_ns),
    evidence.seen("%swhile the GPU was idle the CPU spent %T in launching calls and %T outside "
      .. "CUDA", profiled, stage.waiting.launch_ns, stage.waiting.host_ns),
    evidence.seen("%s%N launches, %T in launching calls", profiled, stage.launches,
      stage.api.launch.ns),
  }
  local collectives = evidence.in_collectives(stage)
  local elsewhere = evidence.is_scheduled_elsewhere(results)
  if collectives >= NOTABLE * stage.gpu_busy_ns and not elsewhere then
    notes[#notes + 1] = evidence.seen("%T of the GPU's work are collectives, in which it waits for "
      .. "the CPUs of other ranks, too", collectives)
  end
  if stage.kernels_per_token then
    notes[#notes + 1] = evidence.seen("%N{kernel} per step", stage.kernels_per_token)
  end
  if elsewhere then
    notes[#notes + 1] = evidence.seen("the process that hands the ranks their steps is not in the "
      .. "trace: how much of that is waiting for it is not known")
  end
  return notes
end


local function title_of(results, stage)
  local share = evidence.waiting_share(results, stage)
  if launches_block(stage) then
    return ("calls that launch kernels of %s return when these have ended"):format(stage.name)
  elseif evidence.replays_graphs(stage) then
    return evidence.say("%s leaves the GPU idle for %P of its time between its CUDA graphs",
      stage.name, share)
  elseif share >= evidence.LAUNCH_BOUND then
    return ("%s is %s"):format(stage.name,
      is_launch_bound(stage) and "launch-bound" or "CPU-bound")
  end
  return evidence.say("%s leaves the GPU idle for %P of its time", stage.name, share)
end


-- Steps have a rule of their own, which knows what must go first. Elsewhere a
-- graph helps where nothing waits in the middle.
local function graph_hint(stage)
  if stage.steps or stage.api.sync.calls > 1 then return "" end
  return "; a CUDA graph where shapes are static"
end


local function remedy(results, stage)
  if launches_block(stage) then
    return "unset CUDA_LAUNCH_BLOCKING, which a debugger may set: launches then return at once"
  elseif results.engine then
    return ("%s; more work per step, by more requests at once; a faster core for its process")
      :format(evidence.engine_settings(results, stage))
  elseif evidence.replays_graphs(stage) then
    return "capture more in one graph, and shorten what the CPU does between replays"
  elseif is_launch_bound(stage) then
    return "fewer launches: " .. evidence.remedy(results, "torch.compile or fused modules",
      "fused kernels") .. graph_hint(stage)
  end
  return evidence.remedy(results, "less work of the interpreter per launch: torch.compile or fused "
    .. "modules leave fewer operators to call; no Python loops over tokens, experts or heads",
    "less work of the CPU per launch: prepare launches while the GPU works on those before, on a "
    .. "thread that does nothing else; fewer of them, by fused kernels") .. graph_hint(stage)
end


function rule.examine_stage(results, stage, report)
  if not stage.waiting then return "what the CPU did meanwhile is not known" end
  if not evidence.is_held_up(results, stage) then
    return evidence.say("the GPU waits for %P of the time", evidence.waiting_share(results, stage))
  end
  if results.engine and results.repeats and results.repeats.whole_run then
    return "the whole run of a server holds its start, too, and times without a request"
  end
  local uneven, time = uneven_steps.waiting_of(stage), evidence.stage_time(results, stage)
  local rest = evidence.part(evidence.waiting(results, stage) - uneven, time - uneven)
  if uneven > 0 and rest < evidence.HELD_UP then
    return evidence.say("but in the steps that are longer than the others the GPU waits for %P of "
      .. "the time", math.max(rest, 0))
  end
  local elsewhere = evidence.is_scheduled_elsewhere(results)
  report.finding {
    title = title_of(results, stage),
    evidence = what_was_seen(results, stage),
    try = remedy(results, stage),
    changes = not elsewhere and { ("scale(cpu %q, 0)"):format(stage.name) } or nil,
    assumption = not elsewhere and "the CPU takes no time at all; the GPU's own work stays as it is"
      or nil,
    no_gain = elsewhere and "the process that hands the ranks their steps is not in the trace"
      or nil,
    confidence = elsewhere and "medium" or "high",
  }
end


return rule
