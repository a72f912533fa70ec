-- Kernels where there is no timeline: what the measured launches themselves say.
-- Their times are those of gpu__time_duration, with the caches and clocks that the
-- measurement used, and their number is that of the launches measured, not of the
-- run's.
local counters = require "llmprof.analysis.counters"
local kernels = require "llmprof.analysis.kernels"
local stages = require "llmprof.analysis.stages"
local tuple = require "llmprof.base.tuple"
local statistics = require "llmprof.base.statistics"

local measured = {}


-- Stands for what analysis.stages finds in a trace: stages as declared, by the
-- ranges that each launch was in; where no launch was in one the run is whole.
function measured.found(declared, launches)
  local found = { declared = declared, instances = {}, missing = {} }
  local stage_of = counters.stage_finder(found)
  for _, launch in ipairs(launches) do
    if stage_of(launch) then return found end
  end
  found.whole = true
  return found
end


local function short_name(name)
  local plain = name:match "^[%w_:<> *&]- ([%w_:]+)[<(]" or name:match "^([%w_:]+)[<(]" or name
  return plain:match "([^:]+)$" or plain
end


-- gpu__time_duration of a launch; ns.
local function ns(launch)
  return math.floor(launch.duration * 1e9 + 0.5)
end


-- Launches by kernel, stage and device, in order of appearance.
local function grouped(launches, stage_of)
  local order, by_key = {}, {}
  for _, launch in ipairs(launches) do
    if launch.kernel and not launch.whole_range and launch.duration then
      local stage = stage_of(launch) or stages.WHOLE_RUN
      local key = tuple(stage, launch.kernel, launch.device)
      local group = by_key[key]
      if not group then
        group = { name = launch.kernel, stage = stage, device = launch.device, times = {},
          shapes = {} }
        by_key[key], order[#order + 1] = group, group
      end
      table.insert(group.times, ns(launch))
      table.insert(group.shapes, launch)
    end
  end
  return order
end


-- Static and dynamic shared memory per block in bytes, as a timeline has it; nil where
-- the file does not say.
local function shared_of(launch)
  local shared = launch.shared or {}
  return shared.static and shared.dynamic and math.tointeger(shared.static + shared.dynamic)
end


-- Distinct grids and blocks with calls and times, the largest first.
local function shapes_of(launches)
  local list, by_key = {}, {}
  for _, launch in ipairs(launches) do
    local grid, block = launch.grid or {}, launch.block or {}
    local key = counters.shape_key(grid, block)
    local shape = by_key[key]
    if not shape then
      shape = { grid = { grid.x, grid.y, grid.z }, block = { block.x, block.y, block.z },
        registers = math.tointeger(launch.registers), shared_bytes = shared_of(launch),
        calls = 0, total_ns = 0 }
      by_key[key], list[#list + 1] = shape, shape
    end
    shape.calls, shape.total_ns = shape.calls + 1, shape.total_ns + ns(launch)
  end
  table.sort(list, function(a, b)
    if a.total_ns ~= b.total_ns then return a.total_ns > b.total_ns end
    return table.concat(a.grid, ",") < table.concat(b.grid, ",")
  end)
  return list
end


local function record(group)
  local times = statistics.describe(group.times)
  return { name = group.name, short_name = short_name(group.name), stage = group.stage,
    device = group.device, calls = times.count, total_ns = times.total, mean_ns = times.mean,
    median_ns = statistics.median(group.times), min_ns = times.min, max_ns = times.max,
    std_ns = times.std, shapes = shapes_of(group.shapes) }
end


-- The list that analysis.kernels would make of a trace: of measured launches (of
-- llmprof.nvidia.ncu), by total time. found: of measured.found. Shares are of the time
-- of these launches.
function measured.kernels(launches, found)
  local list = {}
  for i, group in ipairs(grouped(launches, counters.stage_finder(found))) do
    list[i] = record(group)
  end
  return kernels.rank(list)
end


-- The counters of such a list, as counters.join gives them; what they cover of the
-- run is not known.
function measured.join(list, launches, found)
  local joined = counters.join(list, launches, found)
  joined.coverage, joined.stages, joined.elsewhere = nil, nil, nil
  return joined
end


return measured
