-- Counters of ncu as a frame, and beside the kernels of a trace.
local errors = require "llmprof.base.errors"
local lazy = require "llmprof.base.lazy"
local join = lazy "llmprof.analysis.counters"
local kernels = lazy "llmprof.analysis.kernels"
local ncu = lazy "llmprof.nvidia.ncu"
local query = require "llmprof.query"
local tuple = require "llmprof.base.tuple"
local stages = lazy "llmprof.analysis.stages"

local counters = {}


local function check(value, message, code)
  return errors.check("failed", value, message, code)
end


local function launches(path)
  return check(ncu.read(path, { page = "raw", bare = true })).launches
end


-- ---- every measured launch ----

local function field(group, name)
  return function(launch)
    local value = launch[group][name]
    return value and value + 0.0
  end
end


local function nanoseconds(launch)
  return launch.duration and launch.duration * 1e9
end


local function whole(get)
  return function(launch)
    local value = get(launch)
    return value and math.tointeger(math.floor(value + 0.5))
  end
end


local declared = {
  { name = "id", type = "integer" },
  { name = "name", type = "string", get = function(launch) return launch.kernel end },
  { name = "stage", type = "string", get = function(launch)
    return launch.stages and launch.stages[1] and launch.stages[1].name
  end },
  { name = "duration", type = "integer", unit = "ns", get = whole(nanoseconds) },
  { name = "sm_percent", type = "number", get = field("throughput", "sm") },
  { name = "dram_percent", type = "number", get = field("throughput", "dram") },
  { name = "memory_percent", type = "number", get = field("throughput", "memory") },
  { name = "tensor_percent", type = "number", get = field("throughput", "tensor") },
  { name = "occupancy_percent", type = "number", get = field("occupancy", "achieved") },
  { name = "flop", type = "number", get = field("flop", "total") },
  { name = "dram_bytes", type = "integer", unit = "bytes", get = whole(field("bytes", "dram")) },
  { name = "intensity", type = "number", get = field("intensity", "dram") },
  { name = "registers", type = "integer" },
  { name = "waves", type = "number", get = function(launch) return launch.waves end },
  { name = "bound", type = "string", get = function(launch) return (ncu.bound(launch)) end },
}

local shown = { "id", "stage", "duration", "sm_percent", "dram_percent", "occupancy_percent",
  "bound", "name" }


-- The launches of a raw page: a query.
function counters.frame(path)
  return query.from_rows(launches(path), declared, shown)
end


-- ---- beside the kernels of a trace ----

-- As results.json gives them for each kernel of a stage.
local joined = {
  { name = "bound", type = "string" }, { name = "sm_percent", type = "number" },
  { name = "dram_percent", type = "number" }, { name = "memory_percent", type = "number" },
  { name = "tensor_percent", type = "number" }, { name = "occupancy_percent", type = "number" },
  { name = "intensity", type = "number" },
}

local keys = { "stage", "part", "name" }


-- By kernel of a stage: its counters.
local function index(source)
  local list = kernels.list(source.trace, source.found)
  join.join(list, launches(source.counters_path), source.found)
  local by_key = {}
  for _, kernel in ipairs(list) do
    by_key[tuple(kernel.stage, kernel.part, kernel.name)] = kernel.counters
  end
  return by_key
end


-- Add the joined columns to a frame (of C) of kernels; absent where no launch
-- of the kernel was measured.
function counters.join(source, frame)
  local by_key, groups = index(source), check(frame:group { by = keys, columns = {} })
  local made = {}
  for c, column in ipairs(joined) do
    made[c] = { name = column.name, type = column.type, values = {} }
  end
  for i = 1, #groups do
    local found = by_key[tuple(groups:get(i, "stage") or stages.WHOLE_RUN,
      groups:get(i, "part"), groups:get(i, "name"))] or {}
    for c, column in ipairs(joined) do
      local value = found[column.name]
      made[c].values[i] = value == nil and false or value
    end
  end
  check(frame:extend(keys, #groups, made))
end


return counters
