-- The raw page: a units row after the header, then one row per launch with
-- every metric in a column of its own.
local record = require "llmprof.nvidia.ncu.record"
local row = require "llmprof.nvidia.ncu.row"
local tensor = require "llmprof.nvidia.ncu.tensor"
local units = require "llmprof.nvidia.ncu.units"

local raw = {}

-- For csv.open.
raw.OPTIONS = { header = "Kernel Name", units = true, numbers = true, text = row.COLUMNS }

-- What has to be done to a row's cells to leave its metrics, looked at once:
-- scaled: columns to scale, left_out: those that are none. A metric that appears
-- twice has no one value and is left out, too. nil, name when a column of
-- another kind does.
local function classify(header, unit_row)
  local counts, fixed = {}, {}
  for _, name in ipairs(header) do counts[name] = (counts[name] or 0) + 1 end
  for _, name in ipairs(row.COLUMNS) do
    if (counts[name] or 0) > 1 then return nil, name end
    fixed[name] = true
  end
  local columns = { units = {}, ambiguous = {}, scaled = {},
    left_out = table.move(row.COLUMNS, 1, #row.COLUMNS, 1, {}) }
  for i, name in ipairs(header) do
    if counts[name] == 1 and not fixed[name] then
      local base, power = units.parse(unit_row[i])
      columns.units[name] = base
      if power ~= 0 then columns.scaled[#columns.scaled + 1] = { name = name, power = power } end
    elseif counts[name] > 1 then
      columns.ambiguous[#columns.ambiguous + 1] = name
      columns.left_out[#columns.left_out + 1] = name
      counts[name] = 0 -- listed
    end
  end
  return columns
end


-- The cells, made metrics. There are over a thousand a launch: most stay where
-- they are.
local function metrics(cells, columns)
  for _, name in ipairs(columns.left_out) do cells[name] = nil end
  for _, column in ipairs(columns.scaled) do
    local value = cells[column.name]
    if math.type(value) then cells[column.name] = units.scale(value, column.power) end
  end
  return cells
end


-- The same of cells that pass: one table for all rows, whose metrics are read
-- when they are asked for.
local function passing_metrics(cells, columns)
  local hidden, powers = {}, {}
  for _, name in ipairs(columns.left_out) do hidden[name] = true end
  for _, column in ipairs(columns.scaled) do powers[column.name] = column.power end
  return setmetatable({}, { __index = function(_, name)
    if hidden[name] then return nil end
    local value, power = cells[name], powers[name]
    if power and math.type(value) then return units.scale(value, power) end
    return value
  end })
end


-- Numbers without a word on where they are from.
local function measure_bare(launch, passing, columns, plan)
  launch.metrics, launch.units, launch.sections = passing, columns.units, {}
  record.fill(launch, plan, true)
  launch.metrics, launch.units, launch.sections = nil, nil, nil
  return launch
end


local function measure(launch, cells, columns, plan)
  launch.metrics = metrics(cells, columns)
  launch.units = columns.units
  launch.sections, launch.section_units, launch.rules = {}, {}, {}
  return record.fill(launch, plan)
end


-- The header's position of a column.
local function position(header, column)
  for i, name in ipairs(header) do
    if name == column then return i end
  end
  return nil
end


-- raw.read(reader, name, bare) -> { launches, ambiguous } | nil, message, code
function raw.read(reader, name, bare)
  local header, unit_row = reader:header(), reader:units()
  if #unit_row == 0 then return { launches = {}, ambiguous = {} } end
  local id = unit_row[position(header, "ID")]
  if id ~= "" then
    return nil, ("%s: units row missing: the row after the header has ID %s")
      :format(name, row.quote(id)), "syntax"
  end
  local columns, twice = classify(header, unit_row)
  if not columns then
    return nil, ("%s: column '%s' appears twice"):format(name, twice), "syntax"
  end
  local plan = tensor.plan(columns.units)
  local launches, seen, passing = {}, {}, nil
  for cells, line, code in row.iterate(reader, bare) do
    if not cells then return nil, line, code end
    local launch, message, why = row.launch(cells, name, line)
    if not launch then return nil, message, why end
    local key = row.key(cells)
    if seen[key] then
      return row.fail(name, line, "ID %d was on line %d already", launch.id, seen[key])
    end
    seen[key] = line
    if bare then
      passing = passing or passing_metrics(cells, columns)
      launches[#launches + 1] = measure_bare(launch, passing, columns, plan)
    else
      launches[#launches + 1] = measure(launch, cells, columns, plan)
    end
  end
  return { launches = launches, ambiguous = columns.ambiguous }
end


return raw
