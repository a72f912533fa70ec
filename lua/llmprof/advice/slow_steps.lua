-- A few steps of a serving engine in which something is compiled or loaded at its first use.
local evidence = require "llmprof.advice.evidence"
local statistics = require "llmprof.statistics"
local lists = require "llmprof.tables.lists"

local rule = { name = "slow_steps", about = "engine" }

-- What is slow about them from this share of the stage's time on.
local WORTH = 0.05

-- A step is slow that takes this many times as long as half of them, and this long.
local TIMES, LONG_NS = 10, 100e6


-- Of the steps of a stage that count, those that are slow: { count, of (all that count), ranks
-- (that these are of), median_ns, total_ns (of all), excess_ns (beyond the median), idle_ns (of the
-- GPU in them; nil where one's is not known), min_ns, max_ns }, nil without.
local function slow_of(stage)
  local used = lists.filtered(stage.instances or {}, "used")
  local median = statistics.median(lists.map(used, "wall_ns"))
  local slow = lists.filtered(used, function(instance)
    return instance.wall_ns >= math.max(TIMES * median, LONG_NS)
  end)
  if #slow == 0 then return nil end
  local lengths = statistics.describe(lists.map(slow, "wall_ns"))
  return { count = #slow, of = #used,
    ranks = #lists.grouped(used, function(instance) return instance.rank or 0 end),
    median_ns = median, min_ns = lengths.min, max_ns = lengths.max,
    total_ns = lists.sum(used, "wall_ns"), excess_ns = lengths.total - #slow * median,
    idle_ns = #lists.map(slow, "gpu_idle_ns") == #slow and lists.sum(slow, "gpu_idle_ns") or nil }
end


function rule.examine_stage(results, stage, report)
  if results.repeats and results.repeats.whole_run then return "its steps are not known" end
  local slow = slow_of(stage)
  if not slow or slow.excess_ns < WORTH * slow.total_ns then
    return "no step takes many times as long as the others"
  end
  local count = evidence.say("%N of %N", slow.count, slow.of)
  if slow.ranks > 1 then -- each runs each step: it is counted on each
    count = ("%s steps, those of %d ranks together,"):format(count, slow.ranks)
  end
  local idle = slow.idle_ns and evidence.say("; the GPU was idle for %T of it", slow.idle_ns)
  report.finding {
    title = ("a few steps of %s take many times as long as the others"):format(stage.name),
    evidence = {
      evidence.seen("%s took %T to %T, half of all less than %T", count, slow.min_ns, slow.max_ns,
        slow.median_ns),
      evidence.seen("%P of all its time are that%s", slow.excess_ns / slow.total_ns, idle or ""),
    },
    try = "warm up with the lengths and as many requests at once as are served (load.warmup, "
      .. "load.concurrency; in service, requests before the first user's): kernels that are "
      .. "compiled or loaded at their first use hold everything up once; keep the caches of "
      .. "compilers between starts",
    changes = { ("even(%q)"):format(stage.name) },
    assumption = "they take as long as the others",
  }
end


return rule
