-- Frames as text: aligned tables with units, and bars.
local fitted = require "llmprof.tables.fit"
local columns = require "llmprof.query.columns"
local sys = require "llmprof.sys"
local tables = require "llmprof.tables"
local text = require "llmprof.text"

local show = {}

-- Rows that are printed unless more are asked for.
show.ROWS = 100

local NAME_WIDTH = 60
local BAR_WIDTH = 40


-- ---- columns ----

-- Units that a column of a quantity is shown in, by its largest value.
local scales = {
  ns = { { 1e4, 1, "ns", 0 }, { 1e7, 1e-3, "µs", 2 }, { 1e10, 1e-6, "ms", 3 },
    { math.huge, 1e-9, "s", 6 } },
  bytes = { { 1e4, 1, "B", 0 }, { 1e7, 1e-3, "kB", 1 }, { 1e10, 1e-6, "MB", 2 },
    { math.huge, 1e-9, "GB", 3 } },
  share = { { math.huge, 100, "%", 1 } },
}


-- Integers that name something: no thousands, whatever the query.
local ids = {}
for name in ([[id op call range stage_range part_range correlation pid tid launch_pid launch_tid
  graph_node device context stream]]):gmatch "%S+" do ids[name] = true end


local function largest(rows, name)
  local most = 0
  for _, row in ipairs(rows) do
    local value = row[name]
    if value then most = math.max(most, math.abs(value)) end
  end
  return most
end


-- Digits that numbers without a unit of ours need: none when all are whole.
local function digits_of(rows, name)
  for _, row in ipairs(rows) do
    local value = row[name]
    if value and math.type(value) == "float" and value ~= math.floor(value) then return 2 end
  end
  return 0
end


-- How a quantity is shown whose largest value is `most`: factor, unit (nil: none), digits
-- after the point (nil: those that values need).
function show.scale(unit, most)
  for _, scale in ipairs(scales[unit] or {}) do
    if most < scale[1] then
      return scale[2], scale[3], scale[2] ~= 1 and scale[4] or nil
    end
  end
  return 1, unit, nil
end


local function number_column(column, rows)
  if ids[column.name] then return { key = column.name, title = column.name, type = "id" } end
  local factor, unit, digits = show.scale(column.unit, largest(rows, column.name))
  return { key = column.name, title = unit and column.name .. " " .. unit or column.name,
    scale = factor, digits = digits or digits_of(rows, column.name) }
end


-- Columns for llmprof.tables: of the frame's columns named, for these rows.
function show.columns(frame, names, rows)
  local by_name, list = columns.of(frame), {}
  for i, name in ipairs(names) do
    local column = by_name[name]
    list[i] = column.type == "string" and { key = name, title = name, type = "text",
      max = NAME_WIDTH, code = true } or number_column(column, rows)
  end
  return list
end


-- ---- bars ----

-- Put a bar under `key` beside the rows' own fields.
local function with_bars(rows, name)
  local most, list = largest(rows, name), {}
  for i, row in ipairs(rows) do
    local value = row[name]
    local drawn = most > 0 and value and value > 0
    list[i] = setmetatable({ ["\0bar"] = drawn and fitted.bar(value / most, BAR_WIDTH) or "" },
      { __index = function(_, key) return row[key] end })
  end
  return list, { key = "\0bar", title = "", type = "text" }
end


-- ---- together ----

local function note(total, shown)
  if shown >= total then return "" end
  return ("… %s more of %s rows; show(n) prints more, save(file) writes all\n")
    :format(text.count(total - shown), text.count(total))
end


-- Tables as tostring() gives them: whoever prints them ends the line.
function show.without_newline(text_of)
  return (text_of:gsub("\n$", ""))
end


-- given: frame (of C), names (columns), rows (list), limit, bar (column or nil).
function show.table(given)
  if #given.frame == 0 then return "no rows\n" end
  local rows, limit = given.rows, given.limit or show.ROWS
  local list = show.columns(given.frame, given.names, rows)
  if given.bar then
    local column
    rows, column = with_bars(rows, given.bar)
    list[#list + 1] = column
  end
  local shown = tables.render("table", list, rows, {
    columns = sys.isatty(1) and sys.columns() or nil,
    more = "select(...) picks columns, save(file) writes all." })
  return shown .. note(#given.frame, math.min(limit, #given.frame))
end


-- ---- rows ----

-- Rows of frames as Lua values: fields are columns, by name or alias.

local Row = { __name = "llmprof.row" }

-- By row: { rows (the frame of C), number, names (columns to list) }.
local inner = setmetatable({}, { __mode = "k" })


function show.new_row(rows, number, names)
  local self = setmetatable({}, Row)
  inner[self] = { rows = rows, number = number, names = names }
  return self
end


function Row:__index(name)
  local own = inner[self]
  return own.rows:get(own.number, columns.check(own.rows, name).name)
end


function Row:__pairs()
  local own, i = inner[self], 0
  return function()
    i = i + 1
    local name = own.names[i]
    if name then return name, own.rows:get(own.number, name) end
  end
end


local printed = { { key = "title", title = "column", type = "text" },
  { key = "value", title = "value", type = "text" } }

function Row:__tostring()
  local own, lines = inner[self], {}
  for i, column in ipairs(show.columns(own.rows, own.names, { self })) do
    lines[i] = { title = column.title, value = tables.cell(column, self) }
  end
  return show.without_newline(tables.render("table", printed, lines))
end


-- One row that moves: what functions called for every row get, and a function
-- to move it. It is the same table each time.
function show.row_reader(rows)
  local resolved, position = {}, 0
  local function index(_, name)
    local known = resolved[name]
    if not known then
      known = columns.check(rows, name).name
      resolved[name] = known
    end
    return rows:get(position, known)
  end
  return setmetatable({}, { __index = index }), function(number) position = number end
end


return show
