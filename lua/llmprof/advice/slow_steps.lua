-- A few steps of a serving engine take many times as long as the others: something is
-- compiled or loaded at its first use, and all requests wait for it.
local evidence = require "llmprof.analysis.evidence"
local statistics = require "llmprof.base.statistics"

local rule = { name = "slow_steps", about = "engine" }

-- A step is slow that takes this many times as long as half of them, and this long.
local TIMES, LONG_NS = 10, 100e6

-- What is slow about them from this share of the stage's time on.
local WORTH = 0.05


-- Those of the steps that count that are slow: { count, excess_ns, idle_ns (nil where one's is
-- not known), min_ns, max_ns }, nil without.
local function slow_of(instances, median)
  local made = { count = 0, excess_ns = 0, idle_ns = 0, min_ns = math.huge, max_ns = 0 }
  for _, instance in ipairs(instances) do
    if instance.used and instance.wall_ns >= math.max(TIMES * median, LONG_NS) then
      made.count = made.count + 1
      made.excess_ns = made.excess_ns + instance.wall_ns - median
      made.idle_ns = made.idle_ns and instance.gpu_idle_ns
        and made.idle_ns + instance.gpu_idle_ns
      made.min_ns = math.min(made.min_ns, instance.wall_ns)
      made.max_ns = math.max(made.max_ns, instance.wall_ns)
    end
  end
  return made.count > 0 and made or nil
end


local function share_of(slow, total)
  local share = evidence.percent(slow.excess_ns / total)
  if not slow.idle_ns then
    return evidence.note(evidence.TIMELINE, "%s of all its time are that", share)
  end
  return evidence.note(evidence.TIMELINE,
    "%s of all its time are that; the GPU was idle for %s of it", share,
    evidence.time(slow.idle_ns))
end


local function lengths_of(instances)
  local list, total = {}, 0
  for _, instance in ipairs(instances) do
    if instance.used then
      list[#list + 1], total = instance.wall_ns, total + instance.wall_ns
    end
  end
  return list, total
end


function rule.examine_stage(results, stage, report)
  if results.repeats and results.repeats.whole_run then return "its steps are not known" end
  local list, total = lengths_of(stage.instances or {})
  local median = statistics.median(list)
  local slow = median and slow_of(stage.instances, median)
  if not slow or slow.excess_ns < WORTH * total then
    return "no step takes many times as long as the others"
  end
  report.finding {
    stage = stage.name,
    title = ("a few steps of %s take many times as long as the others"):format(stage.name),
    evidence = {
      evidence.note(evidence.TIMELINE, "%s of %s took %s to %s, half of all less than %s",
        evidence.count(slow.count), evidence.count(#list), evidence.time(slow.min_ns),
        evidence.time(slow.max_ns), evidence.time(median)),
      share_of(slow, total),
    },
    try = "warm up with the lengths and as many requests at once as are served (load.warmup, "
      .. "load.concurrency; in service, requests before the first user's): kernels that are "
      .. "compiled or loaded at their first use hold everything up once; keep the caches of "
      .. "compilers between starts",
    confidence = "medium",
  }
end


return rule
