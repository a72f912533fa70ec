-- Counters of ncu as a frame, and beside the kernels of a trace.
local errors = require "llmprof.process.errors"
local formula = require "llmprof.nvidia.ncu.formula"
local lazy = require "llmprof.io.lazy"
local join = lazy "llmprof.analysis.counters.join"
local kernels = lazy "llmprof.analysis.kernels.table"
local ncu = lazy "llmprof.nvidia.ncu"
local query = require "llmprof.query"
local tuple = require("llmprof.tables.keys").tuple
local stages = lazy "llmprof.analysis.stages.find"

local counters = {}


local check = errors.check


-- With the limits of the GPUs of the trace, where there is one.
local function launches(source)
  local devices, results = source.trace and source.trace:devices(), source.results or nil
  return check(ncu.launches(source.counters_path, devices and join.limits(devices, nil, results)))
end


-- ---- every measured launch ----

local path = formula.path

-- Columns of figures: name, type, unit, formula.
local figures = {
  { "duration", "integer", "ns", formula.scale(1e9, path "duration") },
  { "sm_percent", "number", nil, path "throughput.sm" },
  { "dram_percent", "number", nil, path "throughput.dram" },
  { "memory_percent", "number", nil, path "throughput.memory" },
  { "tensor_percent", "number", nil, path "throughput.tensor" },
  { "occupancy_percent", "number", nil, path "occupancy.achieved" },
  { "flop", "number", nil, path "flop.total" },
  { "dram_bytes", "integer", "bytes", path "bytes.dram" },
  { "intensity", "number", nil, path "intensity.dram" },
  { "registers", "integer", nil, path "registers" },
  { "waves", "number", nil, path "waves" },
  { "bound number", "integer", nil, ncu.formula },
}

local names = { "id", "name", "stage", "duration", "sm_percent", "dram_percent",
  "memory_percent", "tensor_percent", "occupancy_percent", "flop", "dram_bytes", "intensity",
  "registers", "waves", "bound" }

local shown = { "id", "stage", "duration", "sm_percent", "dram_percent", "occupancy_percent",
  "bound", "name" }


-- The stage of each class of launches; of a page alone the outermost range, as nothing says
-- which are stages.
local function stages_of(found, source)
  if source.trace then return join.stages(found, source.trace, source.found) end
  local list = {}
  for i, class in ipairs(found.classes) do list[i] = class.ranges[1] or false end
  return list
end


local function add_stage(found, source)
  check(found.frame:extend(found.shared, #found.classes,
    { { name = "stage", type = "string", values = stages_of(found, source) } }))
end


-- The class of ncu.formula by its name.
local function add_bound(frame)
  local groups, values = check(frame:group { by = { "bound number" }, columns = {} }), {}
  for i = 1, #groups do values[i] = ncu.names[groups:get(i, "bound number")] end
  check(frame:extend({ "bound number" }, #groups,
    { { name = "bound", type = "string", values = values } }))
end


-- The launches of the raw page of a source: a query.
function counters.frame(source)
  local found = launches(source)
  add_stage(found, source)
  check(found.frame:compute { name = "id", type = "integer", steps = { { "launch" } } })
  for _, figure in ipairs(figures) do
    check(found.frame:compute { name = figure[1], type = figure[2], unit = figure[3],
      steps = found:steps(figure[4]) })
  end
  add_bound(found.frame)
  return query.wrap(check(found.frame:select(names)), shown)
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
  join.join(list, launches(source), source.found)
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
