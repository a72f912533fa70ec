-- Fills a launch record from its metrics. Every number is put under a path
-- ("flop.fp32") together with its source under the same path, so a report can
-- cite it.
local expr = require "llmprof.nvidia.ncu.expr"
local formula = require "llmprof.nvidia.ncu.formula"
local labels = require "llmprof.nvidia.ncu.labels"
local units = require "llmprof.nvidia.ncu.units"

local record = {}


-- What formulas are worked out from: a launch and the numbers made of it so far.
local source = {}
source.__index = source


-- The metric as an expression: by its name, else by its label on the details
-- page; nil when it is absent, not a number or not in a unit of that kind.
function source:metric(name, what)
  local launch = self.launch
  local value = launch.metrics[name]
  if math.type(value) and units.fits(launch.units[name], what) then
    return expr.input(name, value, launch.units[name])
  end
  for _, label in ipairs(labels[name] or {}) do
    local section, shown = label[1], label[2]
    value = (launch.sections[section] or {})[shown]
    local unit = (launch.section_units[section] or {})[shown]
    if math.type(value) and units.fits(unit, what) then
      return expr.input(section .. ": " .. shown, value, unit)
    end
  end
  return nil
end


function source:path(path)
  return self.known[path]
end


local function put_at(into, path, value)
  local last = path:match "[^.]+$"
  for part in path:sub(1, -#last - 1):gmatch "[^.]+" do
    local group = into[part]
    if not group then
      group = {}
      into[part] = group
    end
    into = group
  end
  into[last] = value
end


-- Put a number and its source at the path.
local function put(from, figure, e)
  if not e or math.abs(e.value) == math.huge then return end
  local value = math.tointeger(e.value) or e.value
  put_at(from.launch, figure.path, value)
  from.launch.source[figure.path] = { formula = e.formula, inputs = e.inputs, unit = figure.unit }
  from.known[figure.path] = expr.input(figure.path, value, figure.unit)
end


-- What allows the fewest blocks per SM; nothing does at full occupancy.
local function limiters(occupancy)
  local least, names = math.huge, {}
  if occupancy.theoretical and occupancy.theoretical >= 100 then return names end
  for _, blocks in pairs(occupancy.limits) do least = math.min(least, blocks) end
  for name, blocks in pairs(occupancy.limits) do
    if blocks == least then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end


-- record.fill(launch, figures): launch has metrics, units, sections, section_units;
-- figures is figures.of() the file's metric names.
function record.fill(launch, figures)
  for _, group in ipairs { "bytes", "flop", "tensor", "rate", "intensity", "throughput",
    "shared", "source" } do
    launch[group] = {}
  end
  launch.peak = { tensor = {} }
  launch.occupancy = { limits = {} }
  local from = setmetatable({ launch = launch, known = {} }, source)
  for _, figure in ipairs(figures) do put(from, figure, formula.explain(figure.tree, from)) end
  launch.occupancy.limiters = limiters(launch.occupancy)
  return launch
end


return record
