-- The raw page: a units row after the header, then one row per launch with
-- every metric in a column of its own.
local figures = require "llmprof.nvidia.ncu.figures"
local formula = require "llmprof.nvidia.ncu.formula"
local launches = require "llmprof.nvidia.ncu.launches"
local record = require "llmprof.nvidia.ncu.record"
local row = require "llmprof.nvidia.ncu.row"
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


local function measure(launch, cells, columns)
  launch.metrics = metrics(cells, columns)
  launch.units = columns.units
  launch.sections, launch.section_units, launch.rules = {}, {}, {}
  return record.fill(launch, columns.figures)
end


-- The header's position of a column.
local function position(header, column)
  for i, name in ipairs(header) do
    if name == column then return i end
  end
  return nil
end


-- What the header and the row of units say, or nil, message, code.
local function columns_of(reader, name)
  local header, unit_row = reader:header(), reader:units()
  local id = unit_row[position(header, "ID")]
  if id ~= "" then
    return nil, ("%s: units row missing: the row after the header has ID %s")
      :format(name, row.quote(id)), "syntax"
  end
  local columns, twice = classify(header, unit_row)
  if not columns then
    return nil, ("%s: column '%s' appears twice"):format(name, twice), "syntax"
  end
  columns.figures = figures.of(columns.units)
  return columns
end


-- raw.read(reader, name) -> { launches, ambiguous } | nil, message, code
function raw.read(reader, name)
  if #reader:units() == 0 then return { launches = {}, ambiguous = {} } end
  local columns, message, code = columns_of(reader, name)
  if not columns then return nil, message, code end
  local list, seen = {}, {}
  for cells, line, why in row.iterate(reader) do
    if not cells then return nil, line, why end
    local launch
    launch, message, code = row.launch(cells, name, line)
    if not launch then return nil, message, code end
    local key = row.key(cells)
    if seen[key] then return row.fail_twice(name, line, launch.id, seen[key]) end
    seen[key] = line
    list[#list + 1] = measure(launch, cells, columns)
  end
  return { launches = list, ambiguous = columns.ambiguous }
end


-- ---- all at once ----

-- What formulas are made steps of: metrics of a file.
local Metrics = {}
Metrics.__index = Metrics


function Metrics:metric(name, what)
  local base, power = self.units[name], self.powers[name] or 0
  if not base or not units.fits(base, what) then return nil end
  self.asked[name] = true
  if power == 0 then return { { name } } end
  return { { name }, 10.0 ^ math.abs(power), power < 0 and "/" or "*" }
end


-- Any number may be there while it is only asked which metrics are needed.
function Metrics.path()
  return {}
end


local function metrics_of(columns)
  local source = setmetatable({ units = columns.units, powers = {}, asked = {} }, Metrics)
  for _, column in ipairs(columns.scaled) do source.powers[column.name] = column.power end
  for _, figure in ipairs(columns.figures) do formula.steps(figure.tree, source) end
  return source
end


-- For the reader: the columns that say which launch it is, and these metrics.
local function asked(header, wanted)
  local list, fixed = {}, {}
  for _, name in ipairs(row.COLUMNS) do fixed[name] = true end
  for i, name in ipairs(header) do
    if fixed[name] then
      list[#list + 1] = { name, i, "string" }
      if name == "ID" then list[#list + 1] = { "id", i, "integer" } end
    elseif wanted[name] then
      list[#list + 1] = { name, i, "number" }
    end
  end
  return list
end


-- raw.launches(reader, name) -> launches of llmprof.nvidia.ncu.launches | nil, message,
-- code
function raw.launches(reader, name)
  if #reader:units() == 0 then return {} end
  local columns, message, code = columns_of(reader, name)
  if not columns then return nil, message, code end
  local source = metrics_of(columns)
  local frame, broken, why = reader:columns(asked(reader:header(), source.asked))
  local found
  found, message, code = launches.read(frame, name, broken and {} or columns.figures, source)
  if not found or broken then return nil, message or broken, code or why end
  return found
end


return raw
