-- A few steps of a serving engine take many times as long as the others: something is
-- compiled or loaded at its first use, and all requests wait for it.
local evidence = require "llmprof.analysis.evidence"
local slow_steps = require "llmprof.analysis.slow_steps"

local rule = { name = "slow_steps", about = "engine" }

-- What is slow about them from this share of the stage's time on.
local WORTH = 0.05


local function share_of(slow)
  local share = evidence.percent(slow.excess_ns / slow.total_ns)
  if not slow.idle_ns then
    return evidence.note(evidence.TIMELINE, "%s of all its time are that", share)
  end
  return evidence.note(evidence.TIMELINE,
    "%s of all its time are that; the GPU was idle for %s of it", share,
    evidence.time(slow.idle_ns))
end


-- Each rank runs each step: it is counted on each.
local function count_of(slow)
  local count = ("%s of %s"):format(evidence.count(slow.count), evidence.count(slow.of))
  if slow.ranks == 1 then return count end
  return ("%s steps, those of %d ranks together,"):format(count, slow.ranks)
end


function rule.examine_stage(results, stage, report)
  if results.repeats and results.repeats.whole_run then return "its steps are not known" end
  local slow = slow_steps.of(stage)
  if not slow or slow.excess_ns < WORTH * slow.total_ns then
    return "no step takes many times as long as the others"
  end
  report.finding {
    stage = stage.name,
    title = ("a few steps of %s take many times as long as the others"):format(stage.name),
    evidence = {
      evidence.note(evidence.TIMELINE, "%s took %s to %s, half of all less than %s",
        count_of(slow), evidence.time(slow.min_ns), evidence.time(slow.max_ns),
        evidence.time(slow.median_ns)),
      share_of(slow),
    },
    try = "warm up with the lengths and as many requests at once as are served (load.warmup, "
      .. "load.concurrency; in service, requests before the first user's): kernels that are "
      .. "compiled or loaded at their first use hold everything up once; keep the caches of "
      .. "compilers between starts",
    confidence = "medium",
  }
end


return rule
