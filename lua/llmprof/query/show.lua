-- Frames as text: aligned tables with units, and bars.
local columns = require "llmprof.query.columns"
local errors = require "llmprof.process.errors"
local frame_rows = require "llmprof.ranks.rows"
local group = require "llmprof.query.group"
local lists = require "llmprof.tables.lists"
local out = require "llmprof.io.output"
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
local ids = lists.set { "id", "op", "call", "range", "stage_range", "part_range", "correlation",
  "pid", "tid", "launch_pid", "launch_tid", "graph_node", "device", "context", "stream", "shape" }


local function largest(rows, name)
  return select(2, lists.largest(rows, function(row)
    return row[name] and math.abs(row[name])
  end)) or 0
end


-- How a quantity is shown whose largest value is `most`: factor, unit (nil: none), digits
-- after the point (nil: those that values need).
function show.scale(unit, most)
  for _, scale in ipairs(scales[unit] or {}) do
    if most < scale[1] then return scale[2], scale[3], scale[2] ~= 1 and scale[4] or nil end
  end
  return 1, unit, nil
end


local function number_column(column, rows)
  if ids[column.name] then return { key = column.name, title = column.name, type = "id" } end
  local factor, unit, digits = show.scale(column.unit, largest(rows, column.name))
  local is_whole = not lists.any(rows, function(row)
    return math.type(row[column.name]) == "float"
      and row[column.name] ~= math.floor(row[column.name])
  end)
  return { key = column.name, title = unit and column.name .. " " .. unit or column.name,
    scale = factor, digits = digits or is_whole and 0 or 2 }
end


-- Columns for llmprof.tables: of a frame's columns named, for these rows.
function show.columns(of, names, rows)
  local by_name = columns.of(of)
  return lists.map(names, function(name)
    local column = by_name[name]
    return column.type == "string" and { key = name, title = name, type = "text",
      max = NAME_WIDTH, code = true } or number_column(column, rows)
  end)
end


-- Put a bar under `key` beside the rows' own fields.
local function with_bars(rows, name)
  local most = largest(rows, name)
  return lists.map(rows, function(row)
    local value = row[name]
    local drawn = most > 0 and value and value > 0
    return setmetatable({ ["\0bar"] = drawn and tables.bar(value / most, BAR_WIDTH) or "" },
      { __index = function(_, key) return row[key] end })
  end), { key = "\0bar", title = "", type = "text" }
end


-- As tostring() gives it, whose caller ends the line. given: frame (of C), names (columns), rows
-- (list), limit, bar (column or nil).
function show.table(given)
  if #given.frame == 0 then return "no rows" end
  local rows, limit = given.rows, given.limit or show.ROWS
  local list = show.columns(given.frame, given.names, rows)
  if given.bar then
    local column
    rows, column = with_bars(rows, given.bar)
    list[#list + 1] = column
  end
  local shown = tables.render("table", list, rows, {
    columns = out.columns(1),
    more = "select(...) picks columns, save(file) writes all." })
  local total, more = #given.frame, #given.frame - limit
  return more <= 0 and shown:sub(1, -2) or shown .. ("… %s more of %s rows; show(n) prints more, "
    .. "save(file) writes all"):format(text.count(more), text.count(total))
end


-- ---- rows ----

-- A row of a frame as a Lua value: fields are columns, by name or alias.
local Row = { __name = "llmprof.row" }

-- By row: { rows (the frame of C), number, names (columns to list) }; and by frame the columns
-- by what they were called.
local inner, known = setmetatable({}, { __mode = "k" }), setmetatable({}, { __mode = "k" })


function show.new_row(rows, number, names)
  local self = setmetatable({}, Row)
  inner[self] = { rows = rows, number = number, names = names }
  known[rows] = known[rows] or {}
  return self
end


function Row:__index(name)
  local own = inner[self]
  local called = known[own.rows]
  called[name] = called[name] or columns.check(own.rows, name).name
  return own.rows:get(own.number, called[name])
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
  local own = inner[self]
  local lines = lists.map(show.columns(own.rows, own.names, { self }), function(column)
    return { title = column.title, value = tables.cell(column, self) }
  end)
  return tables.render("table", printed, lines):sub(1, -2)
end


-- One row that moves: what functions called for every row get, and a function
-- to move it. It is the same table each time.
function show.row_reader(rows)
  local self = show.new_row(rows, 0, columns.names(rows))
  local own = inner[self]
  return self, function(number) own.number = number end
end


-- ---- pictures ----

-- Rows of characters of a line; of a strip at most; columns where there is no terminal.
local HEIGHT, STRIPS, WIDTH = 10, 12, 80

-- Columns that labels beside a picture may take.
local LABEL = 28


local function width_of(label) return math.max((out.columns(1) or WIDTH) - label - 2, 16) end


-- A number in its unit, as tables show it.
local function quantity(value, unit, most)
  local factor, name, digits = show.scale(unit, most)
  local shown = text.number(value * factor,
    digits or (value ~= math.floor(value) and 2 or 0), ",")
  return name and ("%s %s"):format(shown, name) or shown
end


local function padded(label, width) return text.pad(label, width, "right") end


-- What is at the left and at the right end, over `width` columns.
local function ends(left, right, width)
  return left .. (" "):rep(math.max(width - text.width(left) - text.width(right), 1)) .. right
end


-- ---- lines ----

-- Bits of a braille character by column (1, 2) and row from above (1 to 4).
local DOTS = { { 0x01, 0x02, 0x04, 0x40 }, { 0x08, 0x10, 0x20, 0x80 } }


-- The rows of characters, from above, of a line over bins: of each from its least to its largest
-- value, and on to those of the bin before, so that there are no holes.
local function curve(bins, low, high, width)
  local dots, cells, before = 4 * HEIGHT, {}, nil
  local function place(value)
    if high == low then return dots // 2 end
    return math.floor((value - low) / (high - low) * (dots - 1) + 0.5)
  end
  for x, bin in ipairs(bins) do
    if bin then
      local from, to = place(bin.least), place(bin.most)
      before = before or { from = from, to = to }
      for y = math.min(from, before.to + 1), math.max(to, before.from - 1) do
        local at = (HEIGHT - 1 - y // 4) * width + (x - 1) // 2
        cells[at] = (cells[at] or 0) | DOTS[(x - 1) % 2 + 1][4 - y % 4]
      end
      before = { from = from, to = to }
    end
  end
  local lines = {}
  for row = 1, HEIGHT do
    local list = {}
    for column = 1, width do
      local bits = cells[(row - 1) * width + column - 1]
      list[column] = bits and utf8.char(0x2800 + bits) or " "
    end
    lines[row] = table.concat(list):gsub(" +$", "")
  end
  return lines
end


-- The least and largest value of each column; rows are numbered from 1 without one.
local function range_of(rows, name)
  if not name then return 1, #rows end
  return group.single(rows, "min", name), group.single(rows, "max", name)
end


local function unit_of(rows, name) return name and columns.find(rows, name).unit or nil end


-- The least and largest y in each of `bins` equal parts of x (nil: the number of the row), from
-- its least value to its largest; false where no row is.
local function binned(rows, y, x, from, to, bins)
  local places, made = x and rows:values(x), {}
  for bin = 1, bins do made[bin] = false end
  for row, value in ipairs(rows:values(y)) do
    local place = places and places[row] or not places and row
    if value and place then
      local share = to > from and (place - from) / (to - from) or 0
      local bin = math.min(math.floor(share * bins) + 1, bins) -- the last one has its end, too
      made[bin] = made[bin] or { least = value, most = value }
      made[bin].least = math.min(made[bin].least, value)
      made[bin].most = math.max(made[bin].most, value)
    end
  end
  return made
end


-- A line: column y over column x (nil: the number of the row), least and largest values
-- where several rows share a place.
function show.line(rows, y, x)
  local low, high = range_of(rows, y)
  local from, to = range_of(rows, x)
  if not low or not from then
    errors.raise("usage", ("plot: column '%s' has no values"):format(low and x or y))
  end
  local unit, most = unit_of(rows, y), math.max(math.abs(low), math.abs(high))
  local top, bottom = quantity(high, unit, most), quantity(low, unit, most)
  local label = math.max(text.width(top), text.width(bottom))
  local width = width_of(label)
  local drawn = curve(binned(rows, y, x, from, to, 2 * width), low, high, width)
  local lines = { ("%s over %s"):format(y, x or "rows") }
  for row, line in ipairs(drawn) do
    local said = row == 1 and top or row == HEIGHT and bottom or ""
    lines[#lines + 1] = padded(said, label) .. " │" .. line
  end
  local far, x_unit = math.max(math.abs(from), math.abs(to)), unit_of(rows, x)
  lines[#lines + 1] = padded("", label) .. "  "
    .. ends(quantity(from, x_unit, far), quantity(to, x_unit, far), width)
  return table.concat(lines, "\n")
end


-- ---- strips ----

local SHADES = { "░", "▒", "▓", "█" }


-- One row of shades: how much of each window was covered.
local function shades(covered, windows)
  local list = {}
  for i, ns in ipairs(covered) do
    local share = ns / (windows[i][2] - windows[i][1])
    list[i] = share <= 0 and " " or SHADES[math.min(math.floor(share * 4) + 1, 4)]
  end
  return table.concat(list)
end


-- A strip for each value of a column, those that ran longest first: how much of each part
-- of the time its rows ran; a last one of all rows.
function show.strip(rows, by)
  local all = rows:group({ union = true })[1]
  local from, to = frame_rows.extent(rows)
  if not from then return "no rows" end
  local parts = rows:group { by = { by }, union = true }
  for i, part in ipairs(parts) do
    part.place, part.label = i, text.truncate(tostring(part[by] or "(none)"), LABEL)
  end
  table.sort(parts, lists.by("-busy", "label"))
  local left_out = #parts - STRIPS
  parts = lists.joined(lists.first(parts, STRIPS), { all })
  all.label = "all"
  local _, label = lists.largest(parts, function(part) return text.width(part.label) end)
  local width, windows = width_of(label + 7), {}
  for i = 1, width do
    local first = from + (to - from) * (i - 1) // width
    windows[i] = { first, math.max(from + (to - from) * i // width, first + 1) }
  end
  local covered, covered_all = rows:covered({ by }, windows), rows:covered({}, windows)[1]
  local lines = { padded("", label) .. "  " .. ends(quantity(from, "ns", to),
    quantity(to, "ns", to), width) }
  for _, part in ipairs(parts) do
    lines[#lines + 1] = ("%s │%s│%4.0f %%"):format(padded(part.label, label),
      shades(part.place and covered[part.place] or covered_all, windows),
      part.busy / (to - from) * 100)
  end
  if left_out > 0 then lines[#lines + 1] = ("… and %d more of %s"):format(left_out, by) end
  return table.concat(lines, "\n")
end


return show
