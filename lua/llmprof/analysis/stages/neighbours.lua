-- What else the GPU does while a stage wants it: another stream, or another program. Collectives
-- wait for other ranks and are not looked at.
local categories = require "llmprof.analysis.kernels.categories"
local check = require("llmprof.process.errors").check
local lists = require "llmprof.tables.lists"
local rows = require "llmprof.ranks.rows"
local statistics = require "llmprof.statistics"

local neighbours = {}


-- ---- another stream ----

-- Kernels of another stream that hold the steps of a stage up: they outlast the step that
-- launched them, so that it does not need them, and meanwhile kernels of steps wait that are
-- launched already.

local is_collective = categories.marker(nil, categories.COMMUNICATION)

-- Kernels of the steps of these instances, of computing alone.
local function kernels_of(trace, tag, instances)
  local kernels = check(trace:frame "kernels")
  check(trace:label(kernels, "step", { tag }))
  kernels = check(kernels:where {
    step_range = lists.map(lists.flat(instances, "steps"), "range") })
  is_collective(kernels, "name", "is_collective")
  return check(kernels:where { is_collective = 0 })
end


local function both(a, b, from, to)
  return a:gaps(from, to):join(b:gaps(from, to)):gaps(from, to)
end


-- { ns (for which steps are held up), calls, kernel (the name of the largest) } of an
-- instance of a stage, means; nil without. instances: of llmprof.analysis.stages.steps.of;
-- tag: of the range of a step.
function neighbours.stream(trace, tag, instances)
  if not tag or #instances == 0 or instances[1].rank then return nil end
  local kernels = kernels_of(trace, tag, instances)
  local groups = kernels:group { by = { "step_range", "stream" },
    columns = { { "calls", "count" }, { "last", "max", "end" } } }
  local list = rows.list(groups, { "step_range", "stream", "calls", "last" })
  local first, last = kernels:union():span()
  if not first then return nil end
  local main = lists.largest(kernels:group { by = { "stream" } }, "count").stream
  local _, of_step = lists.grouped(lists.filtered(list, function(row)
    return row.stream == main
  end), "step_range")
  local found, held
  for _, row in ipairs(list) do
    local of_main = of_step[row.step_range]
    if row.stream ~= main and of_main and row.last > of_main[1].last then
      local own = check(kernels:where { step_range = row.step_range, stream = row.stream })
      held = held and held:join(own:union()) or own:union()
      found = found or { calls = 0, kernel = lists.largest(own:group { by = { "name" },
        sum = { "duration" } }, function(group) return group.duration.total end).name }
      found.calls = found.calls + row.calls
    end
  end
  if not found then return nil end
  local of_main = check(kernels:where { stream = main })
  local queued = check(of_main:where { { "queue_time", ">", 0 } })
  if #queued == 0 then return nil end
  queued:less { column = "start", by = "queue_time", name = "launched" }
  local waiting, idle = queued:union("launched", "start"), of_main:union():gaps(first, last)
  found.ns = both(both(held, waiting, first, last), idle, first, last):covered() / #instances
  found.calls = found.calls / #instances
  return found
end


-- ---- another program ----

-- Where programs take turns on a GPU, whichever kernel runs when a turn ends lasts until the next
-- one, a few milliseconds later: launches of many kernels, few of each, take longer by about the
-- same time, and between them the program has its turn. A kernel that is slow by itself is slow
-- in most of its launches; a step with more work has long launches one after the other.

-- A launch that lasts longer than half of those like it by this, and this many times as long.
local LONGER_NS, TIMES = 500000, 5

-- Launches like it, at least, and of them at most this part lasts longer.
local LEAST_ALIKE, FEW = 8, 0.2

-- Fewer launches, or of fewer kernels, may have reasons of their own; and they may differ by so
-- many times, all but the tenth that is longest and that which is shortest.
local LEAST_LAUNCHES, LEAST_KINDS, SPREAD = 5, 3, 4

-- From the end of one to the start of the next: at least this part of what they last longer.
local APART = 0.25

local ALIKE = { "short_name", "grid_x", "grid_y", "grid_z", "block_x", "device" }


-- Launches like these that last longer: { usual (ns), durations, starts }; nil without.
local function longer_ones(kernels, group)
  local usual = group.duration.median
  local from = math.ceil(math.max(usual + LONGER_NS, TIMES * usual))
  if group.count < LEAST_ALIKE or group.duration.max < from then return nil end
  local alike = { { "duration", ">=", from } }
  for _, column in ipairs(ALIKE) do alike[column] = group[column] or false end
  local longer = check(kernels:where(alike))
  if #longer > FEW * group.count then return nil end
  return { usual = usual, durations = longer:values "duration", starts = longer:values "start" }
end


-- The median time from the end of one of these { start, stop } to the start of the next.
local function distance(spans)
  table.sort(spans, function(a, b) return a[1] < b[1] end)
  local list = {}
  for i = 2, #spans do list[i - 1] = spans[i][1] - spans[i - 1][2] end
  return statistics.median(list)
end


-- Of the kernels of a stage, with is_collective, means over its instances: { calls, kinds (of
-- kernels), p50_ns (how much longer), excess_ns, from_ns (how long each lasts at least), usual_ns
-- (what they would take), names }; nil without.
function neighbours.program(kernels, instances)
  local own = check(kernels:where { is_collective = 0 })
  local made = { kinds = 0, usual_ns = 0, from_ns = math.huge, names = {} }
  local excess, spans, known = {}, {}, {}
  for _, group in ipairs(own:group { by = ALIKE, sum = { "duration" }, percentiles = { 50 } }) do
    local longer = longer_ones(own, group)
    if longer and not known[group.short_name] then
      made.kinds, known[group.short_name] = made.kinds + 1, true
      made.names[made.kinds] = group.short_name
    end
    for i, ns in ipairs(longer and longer.durations or {}) do
      excess[#excess + 1] = ns - longer.usual
      spans[#spans + 1] = { longer.starts[i], longer.starts[i] + ns }
      made.usual_ns, made.from_ns = made.usual_ns + longer.usual, math.min(made.from_ns, ns)
    end
  end
  if #excess < LEAST_LAUNCHES or made.kinds < LEAST_KINDS
    or statistics.percentile(excess, 90) > SPREAD * statistics.percentile(excess, 10)
    or distance(spans) < APART * statistics.median(excess) then
    return nil
  end
  made.excess_ns = statistics.sum(excess) / instances
  made.calls, made.p50_ns = #excess / instances, statistics.median(excess)
  made.usual_ns = made.usual_ns / instances
  return made
end


return neighbours
