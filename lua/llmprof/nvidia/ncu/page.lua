-- A table of counters written as the raw page that ncu prints, for people and for what reads
-- such pages: values are in base units, and read back they are the same numbers.
local page = {}

local STACK = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
local RANGES = "Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"


local function number(value)
  if not value then return "" end
  local whole = math.tointeger(value)
  if whole then return ("%d"):format(whole) end
  local text = ("%.15g"):format(value)
  return tonumber(text) == value and text or ("%.17g"):format(value)
end


local function stack(cells)
  local items = {}
  for tag in (cells.ranges or ""):gmatch "[^\n]+" do
    items[#items + 1] = ('"<default domain>:%s:none:none:none:none:none:none"'):format(tag)
  end
  return ("%d  %s"):format(cells.tid or 0, table.concat(items, "  "))
end


local function size(what)
  return function(cells)
    if cells.whole then return "" end
    return ("(%d, %d, %d)"):format(cells[what .. "_x"], cells[what .. "_y"], cells[what .. "_z"])
  end
end


local function none() return "" end

-- Title and what a row has below it.
local COLUMNS = {
  { "ID", function(_, row) return row - 1 end },
  { "Process ID", function(cells) return cells.pid or "" end },
  { "Process Name", none }, { "Host Name", none }, { STACK, stack }, { RANGES, none },
  { "Kernel Name", function(cells) return cells.name or "" end },
  { "Context", function(cells) return cells.context or "" end },
  { "Stream", function(cells) return not cells.whole and cells.stream or "" end },
  { "Block Size", size "block" }, { "Grid Size", size "grid" },
  { "Device", function(cells) return cells.device or "" end }, { "CC", none },
}


local function line_of(cells)
  for i, cell in ipairs(cells) do cells[i] = '"' .. tostring(cell):gsub('"', '""') .. '"' end
  return table.concat(cells, ",") .. "\n"
end


-- The metrics that have a unit by name, in the order of the frame's columns.
local function metrics_of(frame, units)
  local list = {}
  for _, column in ipairs(frame:columns()) do
    if units[column.name] then list[#list + 1] = column.name end
  end
  return list
end


local function head_lines(metrics, units)
  local head, unit_row = {}, {}
  for i, column in ipairs(COLUMNS) do head[i], unit_row[i] = column[1], "" end
  for _, name in ipairs(metrics) do
    head[#head + 1], unit_row[#unit_row + 1] = name, units[name]
  end
  return line_of(head) .. line_of(unit_row)
end


-- The text of a page. frame, units: as llmprof.nvidia.ncu.launches has them of a recording.
function page.text(frame, units)
  local metrics, values = metrics_of(frame, units), {}
  local lines = { head_lines(metrics, units) }
  for _, column in ipairs(frame:columns()) do values[column.name] = frame:values(column.name) end
  for row = 1, #frame do
    local cells, line = {}, {}
    for name, column in pairs(values) do cells[name] = column[row] or nil end
    for i, column in ipairs(COLUMNS) do line[i] = column[2](cells, row) end
    for _, name in ipairs(metrics) do line[#line + 1] = number(cells[name]) end
    lines[#lines + 1] = line_of(line)
  end
  return table.concat(lines)
end


return page
