-- Steps that take longer than the others again and again: every N-th, or several in a row; or
-- a few that take many times as long. What runs besides the model makes them (a collection of
-- garbage, a log line, a cache that grows, another program, a kernel that is compiled at its
-- first use), and a mean hides them.
local lists = require "llmprof.tables.lists"
local sorted_keys = require("llmprof.tables.keys").sorted
local statistics = require "llmprof.statistics"
local steps = require "llmprof.analysis.stages.steps"

local uneven_steps = {}

-- Fewer steps show no pattern.
local LEAST_STEPS = 12

-- A step is slow that is longer than the median by this many times the spread, and by this
-- share of it.
local SPREADS, SHARE = 5, 0.2

-- The fewest slow steps that make a pattern, and the share of its places that are slow.
local LEAST_SLOW, HITS = 3, 0.8

-- A few show no pattern, but count if each takes this many times as long as half of the steps.
local MANY_TIMES = 8

-- Slow ones elsewhere are no more than this part of those at the places of a pattern.
local ELSEWHERE = 0.5

-- Percent of values that are off by a standard deviation or less.
local WITHIN = 68

local PARTS = { "gpu", "launch", "sync", "memory", "other", "host", "graph" }


-- ---- the pattern ----

-- By place, how much longer a step is than the median, of slow ones alone; and the median.
local function excesses_of(lengths)
  local median, off, list, count = statistics.median(lengths), {}, {}, 0
  for i, length in ipairs(lengths) do off[i] = math.abs(length - median) end
  local bar = math.max(SPREADS * statistics.percentile(off, WITHIN), SHARE * median)
  for i, length in ipairs(lengths) do
    if length - median > bar then list[i], count = length - median, count + 1 end
  end
  return list, median, count
end


-- The slow ones at every N-th place from one on, and what they take together; 0 where that is no
-- pattern.
local function at_places(excess, count, first, every)
  local places, ns, all = {}, 0, 0
  for place = first, count, every do
    all = all + 1
    if excess[place] then places[#places + 1], ns = place, ns + excess[place] end
  end
  if #places < LEAST_SLOW or #places < HITS * all then return places, 0 end
  local usual = statistics.median(lists.map(places, function(place) return excess[place] end))
  local elsewhere = lists.filtered(sorted_keys(excess), function(place)
    return (place - first) % every ~= 0 and excess[place] > usual / 2
  end)
  return places, #elsewhere <= ELSEWHERE * #places and ns or 0
end


-- The longest period that is looked for.
local MOST_EVERY = 256

-- The period that explains most: places, every.
local function periodic(excess, count)
  local best, most, found = nil, 0, nil
  for every = 2, math.min(count // LEAST_SLOW, MOST_EVERY) do
    for first = 1, every do
      local places, ns = at_places(excess, count, first, every)
      if ns > most then best, most, found = places, ns, every end
    end
  end
  return best, found
end


-- Do places follow each other at about one distance? That, or nil.
local function distance_of(places)
  local distances = {}
  for i = 2, #places do distances[i - 1] = places[i] - places[i - 1] end
  local usual = math.floor(statistics.median(distances) + 0.5)
  local near = lists.filtered(distances, function(one) return math.abs(one - usual) <= 1 end)
  return usual > 2 and #near >= HITS * #distances and usual or nil
end


-- The slowest at about one distance, as many as there are, where other steps shift them.
local function spaced(excess)
  local slowest = lists.stable(sorted_keys(excess), function(place) return -excess[place] end)
  for count = math.min(#slowest, MOST_EVERY), LEAST_SLOW + 1, -1 do
    local places = lists.sort(lists.first(slowest, count))
    local every = distance_of(places)
    if every then return places, every end
  end
  return nil
end


-- All slow ones, where they lie together; and how many such groups there are.
local function clustered(excess, count)
  local places, groups = {}, 0
  for place = 1, count do
    if excess[place] then
      places[#places + 1] = place
      if not excess[place - 1] then groups = groups + 1 end
    end
  end
  if #places < LEAST_SLOW or groups * LEAST_SLOW > #places then return nil end
  return places, groups
end


-- How much longer these are than the usual steps before and behind them, by the median: what
-- all steps take longer for a while is not theirs.
local function beside_neighbours(lengths, excess, places)
  local values = {}
  for i, place in ipairs(places) do
    local sum, count = 0, 0
    for _, other in ipairs { place - 1, place + 1 } do
      if lengths[other] and not excess[other] then sum, count = sum + lengths[other], count + 1 end
    end
    values[i] = count > 0 and lengths[place] - sum / count or excess[place]
  end
  return statistics.median(values)
end


-- The slow ones of steps in order, of these lengths: { places, every (N; nil: they lie
-- in groups), groups (nil without a pattern), excess_ns (how much longer than usual, by the
-- median), total_ns, usual_ns }; nil without any.
function uneven_steps.find(lengths)
  if #lengths < LEAST_STEPS then return nil end
  local excess, median, count = excesses_of(lengths)
  if 2 * count > #lengths then return nil end
  local places, every = periodic(excess, #lengths)
  if not places then places, every = spaced(excess) end
  local groups
  if not places then places, groups = clustered(excess, #lengths) end
  places = places or lists.filtered(sorted_keys(excess), function(place)
    return excess[place] >= (MANY_TIMES - 1) * median
  end)
  if #places == 0 then return nil end
  return {
    places = places,
    every = every,
    groups = groups,
    excess_ns = beside_neighbours(lengths, excess, places),
    total_ns = lists.sum(places, function(place) return excess[place] end),
    usual_ns = median,
  }
end


-- ---- where the time goes ----

-- From the range of the step before it to its own, where ranges mark steps; of an engine how
-- long the GPU waited for it. nil of others.
local function before_of(step, previous)
  if step.begin then return step.begin - step.start end
  if not step.host_start then return nil end
  return previous and math.max(step.host_start - previous.host_stop, 0) or 0
end


-- What steps are made of: ns in which the GPU worked, and idle ones by what the CPU was in.
local function mean_parts(found, split, items)
  local sums = {}
  for _, item in ipairs(items) do
    local parts = split(item.step, item.pid)
    parts.gpu = found.busy(item.pid):covered(item.step.start, item.step.stop)
    for part, ns in pairs(parts) do
      sums[part] = (sums[part] or 0) + ns / #items
    end
  end
  return sums
end


-- The part that makes slow steps longer than the others.
local function longest_part(found, split, slow, others)
  local a, b = mean_parts(found, split, slow), mean_parts(found, split, others)
  local part, ns = lists.largest(PARTS, function(name) return (a[name] or 0) - (b[name] or 0) end)
  return ns > 0 and part or nil
end


-- Where slow steps take longer, "before" or "inside", and by how much if before; nil where
-- that is not known.
local function place_of(slow, others, excess)
  local function usual(items)
    local values = lists.map(items, "before")
    return #values == #items and statistics.median(values) or nil
  end
  local a, b = usual(slow), usual(others)
  if not (a and b) then return nil end
  if a - b >= excess / 2 then return "before", a - b end
  return "inside"
end


-- The steps of a stage that count, of the first rank that has any: list of { step, pid, before }.
local function items_of(found, name)
  local list, runs = {}, lists.filtered(steps.runs(found.instances, found.by_engine),
    function(run) return run.stage == name end)
  for _, run in ipairs(runs) do
    for i, step in ipairs(run.used and run.rank == runs[1].rank and run.steps or {}) do
      if not step.cold then
        list[#list + 1] = { step = step, pid = run.rank and run.pid,
          before = before_of(step, run.steps[i - 1]) }
      end
    end
  end
  return list
end


-- The most usual steps that are looked at for what a step is made of.
local MOST_OTHERS = 64

local function divide(items, places)
  local slow = lists.map(places, function(place) return items[place] end)
  local is_slow = lists.set(slow)
  local others = lists.filtered(items, function(item) return not is_slow[item] end)
  return slow, lists.first(others, MOST_OTHERS)
end


-- { count, of, every, groups, first (its place, from 0), excess_ns, total_ns, usual_ns, where
-- ("before", "inside" or nil), part (of PARTS) } of the slow steps of a stage; nil where no
-- pattern is in them. found: of llmprof.analysis.stages.find; split: a classifier of
-- llmprof.analysis.stages.idle_causes; without one `part` is not known.
function uneven_steps.of(found, name, split)
  local items = items_of(found, name)
  local made = uneven_steps.find(lists.map(items, function(item)
    return item.step.stop - item.step.start
  end))
  if not made then return nil end
  local slow, others = divide(items, made.places)
  local where, longer = place_of(slow, others, made.excess_ns)
  return { count = #slow, of = #items, every = made.every, groups = made.groups,
    first = made.places[1] - 1, excess_ns = longer or made.excess_ns, total_ns = made.total_ns,
    usual_ns = made.usual_ns, part = split and longest_part(found, split, slow, others) or nil,
    where = where }
end


return uneven_steps
