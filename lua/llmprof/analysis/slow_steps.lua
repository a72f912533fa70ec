-- Steps of a stage that take many times as long as the others: what is compiled or loaded at
-- its first use holds everything up once.
local statistics = require "llmprof.base.statistics"

local slow_steps = {}

-- A step is slow that takes this many times as long as half of them, and this long.
local TIMES, LONG_NS = 10, 100e6


local function used_of(instances)
  local list = {}
  for _, instance in ipairs(instances or {}) do
    if instance.used then list[#list + 1] = instance end
  end
  return list
end


local function add(made, instance, median)
  made.count = made.count + 1
  made.excess_ns = made.excess_ns + instance.wall_ns - median
  made.idle_ns = made.idle_ns and instance.gpu_idle_ns and made.idle_ns + instance.gpu_idle_ns
  made.min_ns = math.min(made.min_ns, instance.wall_ns)
  made.max_ns = math.max(made.max_ns, instance.wall_ns)
end


-- Of the steps of a stage that count, those that are slow: { count, of (all that count), ranks
-- (that these are of), median_ns, total_ns (of all), excess_ns (beyond the median), idle_ns (of the
-- GPU in them; nil where one's is not known), min_ns, max_ns }, nil without.
function slow_steps.of(stage)
  local used, lengths, ranks = used_of(stage.instances), {}, {}
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
      add(made, instance, made.median_ns)
    end
  end
  return made.count > 0 and made or nil
end


return slow_steps
