-- What measured launches say: of kernels where there is no timeline, and what they do not tell.
-- Their times are those of gpu__time_duration, with the caches and clocks that the
-- measurement used, and their number is that of the launches measured, not of the
-- run's.
local counters = require "llmprof.analysis.counters.join"
local families = require "llmprof.analysis.kernels.labels.families"
local kernels = require "llmprof.analysis.kernels.table"
local launches_of = require "llmprof.nvidia.ncu.launches"
local stages = require "llmprof.analysis.stages.find"
local keys = require "llmprof.tables.keys"
local lists = require "llmprof.tables.lists"
local statistics = require "llmprof.statistics"

local measured = { where = { "counters" }, reads = { "kernels", "missing" } }


-- Stands for what analysis.stages.find finds in a trace: stages as declared, by the
-- ranges that each launch was in; where no launch was in one the run is whole.
function measured.found(declared, launches)
  local found = { declared = declared, instances = {}, missing = {} }
  local stage_of = counters.stage_finder(found)
  for _, class in ipairs(launches.classes) do
    if stage_of(class) then return found end
  end
  found.whole = true
  return found
end


-- Distinct grids and blocks of classes with calls and times, the largest first.
local function shapes_of(launches, classes, times)
  local list = lists.map(lists.grouped(classes, function(class)
    return counters.shape_key(class.grid, class.block)
  end), function(own)
    local grid, block, rows = own[1].grid or {}, own[1].block or {}, launches_of.rows(own)
    local first = own[1].rows[1]
    local registers = launches:get(first, "registers")
    local static, dynamic = launches:get(first, "shared.static"),
      launches:get(first, "shared.dynamic")
    return { grid = { grid.x, grid.y, grid.z }, block = { block.x, block.y, block.z },
      registers = registers and math.tointeger(registers),
      shared_bytes = static and dynamic and math.tointeger(static + dynamic), calls = #rows,
      total_ns = lists.sum(rows, function(row) return times[row] end) }
  end)
  return lists.sort(list, "-total_ns", function(shape) return table.concat(shape.grid, ",") end)
end


-- The record of a kernel in a stage; classes: of its launches.
local function record(launches, classes, stage, all_times)
  local own = lists.map(launches_of.rows(classes), function(row) return all_times[row] end)
  local times, name = statistics.describe(own), classes[1].kernel
  local base = families.read(name).base
  return { name = name, short_name = base ~= "" and base or name, stage = stage,
    device = classes[1].device, calls = times.count, total_ns = times.total, mean_ns = times.mean,
    median_ns = statistics.median(own), min_ns = times.min, max_ns = times.max,
    std_ns = times.std, shapes = shapes_of(launches, classes, all_times) }
end


-- The list that analysis.kernels.table would make of a trace: of measured launches (of
-- llmprof.nvidia.ncu.launches), by total time. found: of measured.found. Shares are of the time
-- of these launches.
function measured.kernels(launches, found)
  local timed, find = launches:where_known "duration", counters.stage_finder(found)
  local function stage_of(class) return find(class) or stages.WHOLE_RUN end
  local times = lists.map(timed:values "duration_ns", function(time)
    return math.floor(time + 0.5)
  end)
  local groups = lists.grouped(timed.classes, function(class)
    return class.kernel and not class.whole_range
      and keys.tuple(stage_of(class), class.kernel, class.device) or nil
  end)
  return kernels.rank(lists.map(groups, function(classes)
    return record(timed, classes, stage_of(classes[1]), times)
  end))
end


-- The counters of such a list, as counters.join gives them; what they cover of the
-- run is not known.
function measured.join(list, launches, found)
  local joined = counters.join(list, launches, found)
  joined.coverage, joined.stages, joined.elsewhere = nil, nil, nil
  return joined
end


-- ---- what they do not tell ----

-- What counters do not tell of the kernels that were measured, for the list of what is missing.

local HOW = "capture=nsys mode=deep measures with Nsight Compute all that a kernel's bound takes, "
  .. "where it may read counters"


-- How many kernels have no known bound, and why; nil for none.
local function unknown_of(list)
  local count, reasons = 0, {}
  for _, kernel in ipairs(list) do
    local own = kernel.counters
    if own and own.bound == "unknown" then count, reasons[own.bound_reason] = count + 1, true end
  end
  return count > 0 and count or nil, table.concat(keys.sorted(reasons), "; ")
end


function measured.run(state)
  local joined, none = state.counters, {}
  local function add(what, why)
    table.insert(state.missing, { what = what, why = why, how = HOW })
  end
  for _, figure in ipairs(joined.lacking or {}) do
    if figure.coverage == 0 then none[#none + 1] = figure.name end
  end
  if joined.launches > 0 and joined.kernels == 0 then
    add("counters", ("of %d launches that were measured none has values and is a kernel of the "
      .. "timeline"):format(joined.launches))
  end
  if #none > 0 then
    add("counters: " .. table.concat(none, ", "), "those that were measured do not give them")
  end
  local count, why = unknown_of(state.kernels or {})
  if count then
    add(("what bounds %d of %d measured kernels"):format(count, joined.kernels), why)
  end
end


return measured
