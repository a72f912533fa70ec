-- Tables: columns declared once, rendered for people (terminal, Markdown, HTML)
-- and for programs (CSV, JSON).
--
-- A column: key (the field of a row), title, type ("text", "integer", "id": an
-- integer that names something and has no thousands, or number), digits (after
-- the point), scale (factor from the row's unit to the title's), exact (round
-- half to even on the binary value, as C and Python do; else half away from
-- zero), and for people only: max (columns to show at most), code (as inline
-- code), bar (drawn as well, where a page can: values are 0 to 100 as shown), optional (not
-- shown when no row has it), and of a terminal that is too narrow: lesser (left out first),
-- wraps (a last text takes lines).
--
-- JSON holds the rows' own values, unrounded, CSV the digits of them that can be measured. An
-- absent value is an empty cell, in JSON null.
local errors = require "llmprof.process.errors"
local frames = require "llmprof.frame"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"
local markdown = require "llmprof.markdown"
local out = require "llmprof.io.output"
local sheet = require "llmprof.sheet"
local text = require "llmprof.text"

local tables = {}


local function number_text(column, value)
  value = value * (column.scale or 1)
  if value - value ~= 0 then return ("%g"):format(value) end -- as a query may give
  if column.exact then return ("%%.%df"):format(column.digits):format(value) end
  return text.number(value, column.digits or 0, ",")
end


-- One cell as people see it in a table.
function tables.cell(column, row)
  local value = row[column.key]
  if value == nil then return "" end
  if type(value) == "string" then return value end
  if column.type == "id" and math.type(value) == "integer" then return ("%d"):format(value) end
  return number_text(column, value)
end


-- ---- for programs ----

-- What programs get: a row may have it in `raw`, where people are shown something else.
local function raw_value(column, row)
  local raw = type(row) == "table" and rawget(row, "raw")
  if raw and raw[column.key] ~= nil then return raw[column.key] end
  return row[column.key]
end


local function raw_cell(column, row)
  local value = raw_value(column, row)
  if value == nil then return "" end
  if type(value) == "table" then return errors.check(json.encode(value)) end
  if math.type(value) ~= "float" then return tostring(value) end
  local size = math.abs(value) -- nine digits are measured at most, and whole numbers in full
  return (size >= 1e9 and size < 1e18 and "%.0f" or "%.9g"):format(value)
end


-- Cells are texts of a frame, of which llmprof.sheet makes rows.
local function csv(columns, rows, options)
  local made, list, pieces = {}, {}, {}
  for i, column in ipairs(columns) do
    local name, values = tostring(i), {}
    for r, row in ipairs(rows) do values[r] = raw_cell(column, row) end
    made[i] = { name = name, type = "string", values = values }
    list[i] = { key = name, title = column.key }
  end
  local opened = sheet.open(frames.new(#rows, made), list,
    { format = "csv", guard = options.safe })
  for piece in sheet.next, opened do pieces[#pieces + 1] = piece end
  return table.concat(pieces)
end


local function to_json(columns, rows)
  local keys, list = lists.map(columns, "key"), json.list {}
  for r, row in ipairs(rows) do
    local object = {}
    for _, column in ipairs(columns) do
      local value = raw_value(column, row)
      object[column.key] = value == nil and json.null or value
    end
    list[r] = json.ordered(object, keys)
  end
  return errors.check(json.encode(list, { pretty = true })) .. "\n"
end


-- ---- for people ----

local function is_text(column) return column.type == "text" end


local function cells(columns, rows)
  return lists.map(rows, function(row)
    return lists.map(columns, function(column) return tables.cell(column, row) end)
  end)
end


local function to_markdown(columns, rows, options)
  local declared = lists.map(columns, function(column)
    return { title = column.title, align = is_text(column) and "left" or "right",
      max = column.max, code = column.code }
  end)
  local notes = options.notes or { count = 0 }
  local body, footnotes, count = markdown.table(declared, cells(columns, rows),
    { first = notes.count + 1 })
  notes.count = notes.count + count
  return footnotes and body .. "\n" .. footnotes or body
end


-- What a page tells of a name in full, in columns of a terminal: the name of a
-- template can be as long as a book.
local HTML_TITLE = 1000


-- The text of a cell; what was cut off shows where the pointer rests.
local function html_text(column, value)
  local shown = column.max and text.truncate(value, column.max, "middle") or value
  local inner = text.html(shown)
  if column.code and value ~= "" then inner = "<code>" .. inner .. "</code>" end
  if shown == value then return inner end
  return ('<span title="%s">%s</span>'):format(
    text.html(text.truncate(value, HTML_TITLE, "middle")), inner)
end


-- Classes: n a number, wN a bar of N percent.
local function html_class(column, row)
  if is_text(column) then return "" end
  local value = column.bar and row[column.key]
  if not value then return ' class="n"' end
  local width = math.min(math.max(value * (column.scale or 1), 0), 100)
  return (' class="n w%.0f"'):format(width)
end


local function to_html(columns, rows, options)
  local pieces = { '<table><thead><tr>' }
  for _, column in ipairs(columns) do
    local meaning = options.meaning and options.meaning(column)
    pieces[#pieces + 1] = ('<th scope="col"%s%s>%s</th>'):format(html_class(column, {}),
      meaning and (' title="%s"'):format(text.html(meaning)) or "", text.html(column.title))
  end
  pieces[#pieces + 1] = "</tr></thead>\n<tbody>\n"
  for r, line in ipairs(cells(columns, rows)) do
    pieces[#pieces + 1] = ("<tr%s>"):format(options.row and options.row(rows[r]) or "")
    for i, column in ipairs(columns) do
      pieces[#pieces + 1] = "<td" .. html_class(column, rows[r]) .. ">"
        .. html_text(column, line[i]) .. "</td>"
    end
    pieces[#pieces + 1] = "</tr>\n"
  end
  pieces[#pieces + 1] = "</tbody></table>\n"
  return table.concat(pieces)
end


-- ---- on a terminal ----

-- A table that fits a terminal: texts are cut down to what can still be read; where that is
-- not enough, columns are left out from the right, those first that are declared `lesser` or
-- have no value. The first column and the one with the names of things stay.

-- Between two columns.
local BETWEEN = 2

-- Columns of a terminal by which a name is well told from others, by which names and other
-- texts can be told at all, and the least.
local NAME, SHORT_NAME, WORD, LEAST = 40, 24, 20, 8

-- Of texts that are wider the others of the column take no notice.
local WIDEST = 4096


local function widest(column, lines, place)
  local width = text.width(column.title)
  for _, line in ipairs(lines) do
    width = math.max(width, math.min(text.width(line[place]), WIDEST))
  end
  return width
end


local function room_of(list) return lists.sum(list, "width") + BETWEEN * (#list - 1) end


-- The place in the list of what is left out next; nil where nothing may be.
local function expendable(list, name)
  for at = #list, 1, -1 do
    if list[at].lesser then return at end
  end
  for at = #list, 2, -1 do
    if list[at] ~= name then return at end
  end
  return nil
end


-- The columns that fit `width` (nil: all): a list of { place, width, wanted }, and the titles of
-- those that do not.
local function fitted(columns, lines, width)
  local list, name, hidden = {}, nil, {}
  for i, column in ipairs(columns) do
    local wanted = widest(column, lines, i)
    list[i] = { place = i, width = wanted, wanted = wanted, lesser = column.lesser
      or #lines > 0 and not lists.any(lines, function(line) return line[i] ~= "" end) }
    -- what names things: the widest text
    if is_text(column) and not column.lesser and (not name or wanted > name.wanted) then
      name = list[i]
    end
  end
  if not width or room_of(list) <= width then return list, hidden end
  for _, of_name in ipairs { SHORT_NAME, NAME } do
    if of_name == NAME and room_of(list) <= width then break end
    for i, one in ipairs(list) do
      local least = one == name and of_name or WORD
      if is_text(columns[i]) then one.width = math.min(one.wanted, least) end
    end
  end
  while room_of(list) > width do
    local at = expendable(list, name)
    if not at then break end
    hidden[#hidden + 1] = table.remove(list, at).place
  end
  local missing = room_of(list) - width
  if missing > 0 and name then name.width = math.max(name.width - missing, LEAST) end
  for _, one in ipairs(list) do -- the rest is for texts that were cut, from the left
    one.width = math.min(one.wanted, one.width + math.max(width - room_of(list), 0))
  end
  return list, lists.map(lists.sort(hidden), function(place) return columns[place].title end)
end


-- ---- bars ----

local eighths = { "▏", "▎", "▍", "▌", "▋", "▊", "▉" }


-- A bar for a share (0..1) of a width in columns; something is shown for anything
-- above 0.
function tables.bar(share, width)
  local units = math.floor(share * width * 8 + 0.5)
  if units == 0 and share > 0 then units = 1 end
  return ("█"):rep(units // 8) .. (eighths[units % 8] or "")
end


-- What columns do not fit, and where they are. more: what to do, or nil.
local function left_out(hidden, width, more)
  if #hidden == 0 then return nil end
  local said = ("%d column%s not fit here: %s. %s"):format(#hidden,
    #hidden == 1 and " does" or "s do", table.concat(hidden, ", "),
    more or "A wider terminal, a file or a pipe gets all.")
  return table.concat(text.wrap(said, width), "\n")
end


-- Aligned by display width; of a terminal whose width is known as much as fits, and then
-- what was left out.
local function to_terminal(columns, rows, options)
  local lines, titles = cells(columns, rows), lists.map(columns, "title")
  for _, line in ipairs(lines) do
    for i, column in ipairs(columns) do
      line[i] = text.clean(line[i])
      if column.max then line[i] = text.truncate(line[i], column.max, "middle") end
    end
  end
  local list, hidden = fitted(columns, lines, options.columns)
  local last, pieces = list[#list], {}
  local is_wrapped = columns[last.place].wraps and last.width < last.wanted
  local function add(line)
    local more = is_wrapped and text.wrap(line[last.place], last.width) or {}
    for row = 1, math.max(#more, 1) do
      local padded = lists.map(list, function(one)
        local value = row == 1 and line[one.place] or ""
        if one == last and is_wrapped then value = more[row] or "" end
        if one.width < one.wanted then value = text.truncate(value, one.width, "middle") end
        return text.pad(value, one.width, is_text(columns[one.place]) and "left" or "right")
      end)
      -- not gsub("%s+$", ""), which takes the square of the length
      pieces[#pieces + 1] = table.concat(padded, (" "):rep(BETWEEN)):match "^.*%S" or ""
    end
  end
  add(titles)
  for _, line in ipairs(lines) do add(line) end
  pieces[#pieces + 1] = left_out(hidden, options.columns, options.more)
  pieces[#pieces + 1] = ""
  return table.concat(pieces, "\n")
end


-- The columns that people see.
local function shown(columns, rows)
  return lists.filtered(columns, function(column)
    local function has_value(row) return row[column.key] ~= nil end
    return not column.data and (not column.optional or lists.any(rows, has_value))
  end)
end


-- ---- of frames ----

-- As llmprof.sheet declares columns.
local function sheet_columns(columns)
  return lists.map(columns, function(column)
    return { key = column.key, title = column.title, digits = column.digits,
      scale = column.scale, exact = column.exact, name = column.type == "id",
      whole = column.type == "id" or column.type == "integer" }
  end)
end


function tables.rows(columns, frame)
  local list = {}
  for r = 1, #frame do
    local row = {}
    for _, column in ipairs(columns) do row[column.key] = frame:get(r, column.key) end
    list[r] = row
  end
  return list
end


-- ---- formats ----

-- Each format: its name; render(columns, rows, options); extension of a file of it,
-- absent where it is only a part of a page; sheet, where llmprof.sheet writes it from
-- frames; shown, where that shows what a terminal would act on; programs, where cells are for
-- these and not for people; heading, what goes
-- before a table's title, absent where a document holds one table only; escape(text) for
-- what stands beside tables; terminal, where lines have to fit one.
local formats = {
  { name = "table", render = to_terminal, extension = "txt", heading = "", escape = text.clean,
    terminal = true, sheet = true },
  { name = "md", render = to_markdown, extension = "md", heading = "## ",
    escape = markdown.escape },
  { name = "csv", render = csv, extension = "csv", programs = true, sheet = true, shown = true },
  { name = "json", render = to_json, extension = "json", programs = true, sheet = true },
  { name = "html", render = to_html },
}

local by_name = {}
for _, format in ipairs(formats) do by_name[format.name] = format end


-- The formats that commands offer, in the order in which people are told of them.
function tables.formats() return lists.filtered(formats, "extension") end


-- A format by its name; nil when there is none.
function tables.format(name) return by_name[name] end


-- Render rows in a format, by its name. options: safe (no cell of CSV is a formula of a
-- spreadsheet), columns (width of the terminal) and more (where to find columns that do not fit
-- it), notes ({ count }: footnotes that the document has, counted on), row (a function that gives
-- the attributes of a row's element in HTML), meaning (what a column means, a function that gives
-- nil where nothing is known).
function tables.render(name, columns, rows, options)
  local format = by_name[name]
  if not format.programs then columns = shown(columns, rows) end
  return format.render(columns, rows, options or {})
end


local function open_sheet(name, columns, frame, options)
  return sheet.open(frame, sheet_columns(columns),
    { format = name, guard = options.safe, keep_invisible = options.keep_invisible,
      width = options.columns })
end


-- Print the rows of a frame of C as a table on standard output, with the titles of columns for
-- programs, too. columns have no max, code, bar, optional and data. options: of render, and
-- keep_invisible (CSV: characters without a shape stay as they are).
function tables.print(name, columns, frame, options)
  local format = by_name[name]
  if not format.sheet then
    out.write(tables.render(name, columns, tables.rows(columns, frame), options))
    return
  end
  local made = open_sheet(name, columns, frame, options)
  if format.shown then
    out.send(function(...) return sheet.send(made, ...) end)
  else
    for piece in sheet.next, made do out.write(piece) end
  end
end


-- Write the same into a file, as fs.write does or, with options.soon, fs.write_soon.
function tables.save(path, name, columns, frame, options)
  if not by_name[name].sheet then
    return (options.soon and fs.write_soon or fs.write)(path,
      tables.render(name, columns, tables.rows(columns, frame), options))
  end
  return sheet.save(open_sheet(name, columns, frame, options), path, options.soon)
end


-- Write columns of a frame of C into a file as CSV, by their names: numbers as they are.
function tables.save_raw(path, frame, names)
  local list = lists.map(names, function(name) return { key = name, title = name, raw = true } end)
  return sheet.save(sheet.open(frame, list, { format = "csv" }), path)
end


return tables
