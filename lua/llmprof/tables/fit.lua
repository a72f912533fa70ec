-- A table that fits a terminal: texts are cut down to what can still be read; where that is
-- not enough, columns are left out from the right, those first that are declared `lesser` or
-- have no value. The first column and the one with the names of things stay.
local text = require "llmprof.text"

local fitted = {}

-- Between two columns.
fitted.BETWEEN = 2

-- Columns of a terminal by which a name is well told from others, by which names and other
-- texts can be told at all, and the least.
local NAME, SHORT_NAME, WORD, LEAST = 40, 24, 20, 8


local function is_text(column) return column.type == "text" end


-- Of texts that are wider the others of the column take no notice.
local WIDEST = 4096


-- How wide columns would like to be.
local function natural(columns, lines)
  local widths = {}
  for i, column in ipairs(columns) do widths[i] = text.width(column.title) end
  for _, line in ipairs(lines) do
    for i, column in ipairs(columns) do
      if column.max then line[i] = text.truncate(line[i], column.max, "middle") end
      widths[i] = math.max(widths[i], math.min(text.width(line[i]), WIDEST))
    end
  end
  return widths
end


-- The places of the columns that are kept, in order.
local function all(columns)
  local list = {}
  for i = 1, #columns do list[i] = i end
  return list
end


local function room_of(list, widths)
  local sum = fitted.BETWEEN * (#list - 1)
  for _, i in ipairs(list) do sum = sum + widths[i] end
  return sum
end


-- The place of the column that names things: the widest text that is not lesser.
local function naming(columns, list, widths)
  local found
  for _, i in ipairs(list) do
    if is_text(columns[i]) and not columns[i].lesser
      and (not found or widths[i] > widths[found]) then found = i end
  end
  return found
end


-- By place: the columns that go first.
local function lesser(columns, lines)
  local made = {}
  for i, column in ipairs(columns) do
    made[i] = column.lesser or #lines > 0
    for _, line in ipairs(column.lesser and {} or lines) do
      if line[i] ~= "" then
        made[i] = false
        break
      end
    end
  end
  return made
end


-- The place in the list of what is left out next; nil where nothing may be.
local function expendable(list, name, is_lesser)
  for at = #list, 1, -1 do
    if is_lesser[list[at]] then return at end
  end
  for at = #list, 2, -1 do
    if list[at] ~= name then return at end
  end
  return nil
end


-- Give what is left of the terminal to texts that were cut, from the left.
local function widen(list, widths, wanted, spare)
  for _, i in ipairs(list) do
    local more = math.min(math.max(spare, 0), wanted[i] - widths[i])
    widths[i], spare = widths[i] + more, spare - more
  end
end


-- The least that columns need.
local function least(columns, wanted, name, of_name)
  local widths = {}
  for i, column in ipairs(columns) do
    widths[i] = is_text(column) and math.min(wanted[i], i == name and of_name or WORD) or wanted[i]
  end
  return widths
end


-- The places of the columns that fit, how wide each is, and titles of the others.
local function choose(columns, wanted, width, is_lesser)
  local list, hidden = all(columns), {}
  local name = naming(columns, list, wanted)
  local widths = least(columns, wanted, name, SHORT_NAME)
  if room_of(list, widths) > width then widths = least(columns, wanted, name, NAME) end
  while room_of(list, widths) > width do
    local at = expendable(list, name, is_lesser)
    if not at then break end
    hidden[#hidden + 1] = table.remove(list, at)
  end
  local missing = room_of(list, widths) - width
  if missing > 0 and name then widths[name] = math.max(widths[name] - missing, LEAST) end
  widen(list, widths, wanted, width - room_of(list, widths))
  table.sort(hidden)
  for i, place in ipairs(hidden) do hidden[i] = columns[place].title end
  return list, widths, hidden
end


-- A line, or the lines that it takes when its last cell wraps.
local function cut(line, list, widths, last)
  local made, more = {}, nil
  for at, i in ipairs(list) do
    if i == last then
      more = text.wrap(line[i], widths[i])
      made[at] = more[1] or ""
    else
      made[at] = text.truncate(line[i], widths[i], "middle")
    end
  end
  local lines = { made }
  for row = 2, more and #more or 1 do
    local below = {}
    for at = 1, #list do below[at] = at == #list and more[row] or "" end
    lines[row] = below
  end
  return lines
end


-- Columns, lines of cells and widths that fit `width` (nil: as wide as they are), and the
-- titles of columns that do not. A last column that is declared `wraps` takes several lines.
function fitted.of(columns, lines, width)
  local wanted = natural(columns, lines)
  if not width or room_of(all(columns), wanted) <= width then return columns, lines, wanted, {} end
  local list, widths, hidden = choose(columns, wanted, width, lesser(columns, lines))
  local last = columns[#columns].wraps and list[#list] == #columns and #columns or nil
  local kept, kept_widths, made = {}, {}, {}
  for at, i in ipairs(list) do kept[at], kept_widths[at] = columns[i], widths[i] end
  for _, line in ipairs(lines) do
    for _, one in ipairs(cut(line, list, widths, last)) do made[#made + 1] = one end
  end
  return kept, made, kept_widths, hidden
end


-- ---- bars ----

local eighths = { "▏", "▎", "▍", "▌", "▋", "▊", "▉" }


-- A bar for a share (0..1) of a width in columns; something is shown for anything
-- above 0.
function fitted.bar(share, width)
  local units = math.floor(share * width * 8 + 0.5)
  if units == 0 and share > 0 then units = 1 end
  return ("█"):rep(units // 8) .. (eighths[units % 8] or "")
end


return fitted
