-- A few steps of a serving engine take many times as long as the others: something is
-- compiled or loaded at its first use, and all requests wait for it.
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
  local used, lengths, ranks = lists.filtered(stage.instances or {}, "used"), {}, {}
  local made = { count = 0, of = #used, ranks = 0, total_ns = 0, excess_ns = 0, idle_ns = 0,
    min_ns = math.huge, max_ns = 0 }
  for i, instance in ipairs(used) do
    lengths[i], made.total_ns = instance.wall_ns, made.total_ns + instance.wall_ns
    local rank = instance.rank or 0
    made.ranks, ranks[rank] = made.ranks + (ranks[rank] and 0 or 1), true
  end
  made.median_ns = statistics.median(lengths)
  for _, instance in ipairs(used) do
    if instance.wall_ns >= math.max(TIMES * made.median_ns, LONG_NS) then
      made.count = made.count + 1
      made.excess_ns = made.excess_ns + instance.wall_ns - made.median_ns
      made.idle_ns = made.idle_ns and instance.gpu_idle_ns and made.idle_ns + instance.gpu_idle_ns
      made.min_ns = math.min(made.min_ns, instance.wall_ns)
      made.max_ns = math.max(made.max_ns, instance.wall_ns)
    end
  end
  return made.count > 0 and made or nil
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
  local idle = slow.idle_ns and "; the GPU was idle for " .. evidence.time(slow.idle_ns) .. " of it"
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
