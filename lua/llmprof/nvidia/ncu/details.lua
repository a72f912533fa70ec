-- The details page: one row per metric or rule, several rows per launch. A
-- metric row names its section as displayed and is cut after the value; a
-- rule row names the section's identifier.
local figures = require "llmprof.nvidia.ncu.figures"
local record = require "llmprof.nvidia.ncu.record"
local row = require "llmprof.nvidia.ncu.row"
local units = require "llmprof.nvidia.ncu.units"

local details = {}

local COMMAND_LINE = "Command line profiler metrics" -- what --metrics asked for

-- For csv.open: all text but the value and the speed-up.
details.OPTIONS = { header = "Kernel Name", short = true, numbers = true,
  text = { "Section Name", "Metric Name", "Metric Unit", "Rule Name", "Rule Type",
    "Rule Description", "Estimated Speedup Type" } }
table.move(row.COLUMNS, 1, #row.COLUMNS, #details.OPTIONS.text + 1, details.OPTIONS.text)


local function start_launch(cells, name, line)
  local launch, message, code = row.launch(cells, name, line)
  if not launch then return nil, message, code end
  launch.metrics, launch.units = {}, {}
  launch.sections, launch.section_units, launch.rules = {}, {}, {}
  return launch
end


-- A row may name the metric itself and not a label, as those of --metrics do.
local function is_metric_name(section, label)
  return section == COMMAND_LINE or label:match "^%a[%w_]*__[%w_.]+$" ~= nil
end


-- The first value counts where a label comes twice in a section.
local function set_once(values, unit_map, key, value, unit)
  if values[key] == nil then values[key], unit_map[key] = value, unit end
end


local function add_metric(launch, cells, label)
  local section, value = cells["Section Name"] or "", cells["Metric Value"]
  if value == nil then return end
  local base, power = units.parse(cells["Metric Unit"] or "")
  if math.type(value) then value = units.scale(value, power) end
  launch.sections[section] = launch.sections[section] or {}
  launch.section_units[section] = launch.section_units[section] or {}
  set_once(launch.sections[section], launch.section_units[section], label, value, base)
  if is_metric_name(section, label) then
    set_once(launch.metrics, launch.units, label, value, base)
  end
end


local function add_rule(launch, cells)
  local speedup = cells["Estimated Speedup"]
  table.insert(launch.rules, {
    section = row.filled(cells["Section Name"]),
    name = row.filled(cells["Rule Name"]),
    type = row.filled(cells["Rule Type"]),
    description = row.filled(cells["Rule Description"]),
    speedup_type = row.filled(cells["Estimated Speedup Type"]),
    speedup = math.type(speedup) and speedup or nil,
  })
end


local function add_row(launch, cells)
  local label, rule = row.filled(cells["Metric Name"]), row.filled(cells["Rule Name"])
  if label then
    add_metric(launch, cells, label)
  elseif rule then
    add_rule(launch, cells)
  end
end


-- details.read(reader, name) -> { launches, ambiguous } | nil, message, code
function details.read(reader, name)
  local twice = row.duplicate(reader:header())
  if twice then return nil, ("%s: column '%s' appears twice"):format(name, twice), "syntax" end
  local launches, by_key = {}, {}
  for cells, line, code in row.iterate(reader) do
    if not cells then return nil, line, code end
    local key = row.key(cells)
    local launch = by_key[key]
    if not launch then
      local message, why
      launch, message, why = start_launch(cells, name, line)
      if not launch then return nil, message, why end
      by_key[key] = launch
      launches[#launches + 1] = launch
    elseif (launch.kernel or "") ~= cells["Kernel Name"] then
      return row.fail(name, line, "ID %d is '%s' here and '%s' before", launch.id,
        row.quote(cells["Kernel Name"]), row.quote(launch.kernel or ""))
    end
    add_row(launch, cells)
  end
  local list = figures.of_launches(launches)
  for _, launch in ipairs(launches) do record.fill(launch, list) end
  return { launches = launches, ambiguous = {} }
end


return details
