-- Kernels of another stream that hold the steps of a stage up: they outlast the step that
-- launched them, so that it does not need them, and meanwhile kernels of steps wait that are
-- launched already. Collectives wait for other ranks and are not looked at.
local categories = require "llmprof.analysis.kernels.categories"
local errors = require "llmprof.process.errors"
local rows = require "llmprof.ranks.rows"

local other_streams = {}

local check = errors.check


local is_collective = categories.marker(nil, categories.COMMUNICATION)

-- Kernels of the steps of these instances, of computing alone.
local function kernels_of(trace, tag, instances)
  local kernels, wanted = check(trace:frame "kernels"), {}
  for _, instance in ipairs(instances) do
    for _, step in ipairs(instance.steps) do wanted[#wanted + 1] = step.range end
  end
  check(trace:label(kernels, "step", { tag }))
  kernels = check(kernels:where { step_range = wanted })
  is_collective(kernels, "name", "is_collective")
  return check(kernels:where { is_collective = 0 })
end


-- The stream with most kernels, and by step when its kernels end.
local function main_of(groups)
  local calls, ends, main = {}, {}, nil
  for _, row in ipairs(groups) do
    calls[row.stream] = (calls[row.stream] or 0) + row.calls
    if not main or calls[row.stream] > calls[main] then main = row.stream end
  end
  for _, row in ipairs(groups) do
    if row.stream == main then ends[row.step_range] = row.last end
  end
  return main, ends
end


-- When launched kernels wait, intervals; nil: never.
local function waiting_of(kernels)
  local queued = check(kernels:where { { "queue_time", ">", 0 } })
  if #queued == 0 then return nil end
  queued:less { column = "start", by = "queue_time", name = "launched" }
  return queued:union("launched", "start")
end


local function both(a, b, from, to)
  return a:gaps(from, to):join(b:gaps(from, to)):gaps(from, to)
end


local function largest(kernels)
  local best
  for _, row in ipairs(kernels:group { by = { "name" }, sum = { "duration" } }) do
    if not best or row.duration.sum > best.duration.sum then best = row end
  end
  return best.name
end


-- { ns (for which steps are held up), calls, kernel (the name of the largest) } of an
-- instance of a stage, means; nil without. instances: of llmprof.analysis.stages.steps.of;
-- tag: of the range of a step.
function other_streams.of(trace, tag, instances)
  if not tag or #instances == 0 or instances[1].rank then return nil end
  local kernels = kernels_of(trace, tag, instances)
  local groups = kernels:group { by = { "step_range", "stream" },
    columns = { { "calls", "count" }, { "last", "max", "end" } } }
  local list = rows.list(groups, { "step_range", "stream", "calls", "last" })
  local main, ends = main_of(list)
  local first, last = kernels:union():span()
  if not first then return nil end
  local found, held
  for _, row in ipairs(list) do
    local done = ends[row.step_range]
    if row.stream ~= main and done and row.last > done then
      local own = check(kernels:where { step_range = row.step_range, stream = row.stream })
      held = held and held:join(own:union()) or own:union()
      found = found or { calls = 0, kernel = largest(own) }
      found.calls = found.calls + row.calls
    end
  end
  if not found then return nil end
  local of_main = check(kernels:where { stream = main })
  local waiting = waiting_of(of_main)
  if not waiting then return nil end
  local idle = of_main:union():gaps(first, last)
  found.ns = both(both(held, waiting, first, last), idle, first, last):covered() / #instances
  found.calls = found.calls / #instances
  return found
end


return other_streams
