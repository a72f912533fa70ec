-- What the rows of both pages share: the columns that say which launch it is.
local csv = require "llmprof.csv"
local errors = require "llmprof.base.errors"
local nvtx = require "llmprof.nvidia.ncu.nvtx"

local row = {}

local STACK = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
local RANGES = "Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"

-- These columns stay text; every other one is a metric (raw page).
row.COLUMNS = { "ID", "Process ID", "Process Name", "Host Name", STACK, RANGES, "Kernel Name",
  "Context", "Stream", "Block Size", "Grid Size", "Device", "CC" }

local QUOTED = 80 -- of a cell, in a message


-- row.quote(text): fit to stand in a one-line message.
function row.quote(text)
  text = tostring(text):gsub("%c", "?")
  return #text > QUOTED and text:sub(1, QUOTED) .. "..." or text
end


function row.fail(name, line, format, ...)
  return nil, ("%s:%d: "):format(name, line) .. format:format(...), "syntax"
end


-- The column that appears twice, if one does.
function row.duplicate(header)
  local seen = {}
  for _, column in ipairs(header) do
    if seen[column] then return column end
    seen[column] = true
  end
  return nil
end


function row.fail_twice(name, line, id, first)
  return row.fail(name, line, "ID %d was on line %d already", id, first)
end


-- row.iterate(reader): a function that gives cells, line; nothing at
-- the end; false, message, code where the file is broken. Anything else the
-- reader raises (an interrupt) goes through.
function row.iterate(reader)
  local step, state = reader:rows()
  return function()
    local ok, cells, line = pcall(step, state)
    if ok then return cells, line end
    local err = cells
    if not errors.is(err) or errors.is_interrupt(err) then error(err, 0) end
    return false, err.message, err.code
  end
end


-- row.filled(text): nil for an empty or missing cell.
function row.filled(text)
  return text ~= "" and text or nil
end


-- As filled, and nil for the ways to say that there is no value. Not for
-- names: a kernel may be called "nan".
local function present(text)
  if not text then return nil end
  local number, why = csv.number(text)
  return (number or why ~= "absent") and text or nil
end


local function integer(text)
  return text and math.tointeger((csv.number(text)))
end


-- An id that need not be a number: a stream may be a handle.
local function id(text)
  return integer(text) or present(text)
end


local function dim3(text)
  local x, y, z = text:match "^%(?%s*(%d+),%s*(%d+),%s*(%d+)%s*%)?$"
  if not x then return nil end
  local size = { x = integer(x), y = integer(y), z = integer(z) }
  return size.x and size.y and size.z and size or nil
end


local function sizes(launch, cells, name, line)
  for _, field in ipairs { "block", "grid" } do
    local column = field == "block" and "Block Size" or "Grid Size"
    local text = present(cells[column])
    launch[field] = text and dim3(text)
    if text and not launch[field] then
      return row.fail(name, line, "%s is not (x, y, z): %s", column, row.quote(text))
    end
  end
  return launch
end


-- An ID as the number that it is, or nil.
row.id = integer


-- row.key(cells) -> what makes a launch distinct: ids count per process.
function row.key(cells)
  return (cells["Process ID"] or "") .. ":" .. cells.ID
end


-- ncu calls a result "range" that is a whole range, and gives it no stream; a
-- kernel of that name has one.
local function is_whole_range(cells)
  return cells["Kernel Name"] == "range" and cells.Stream ~= nil and not present(cells.Stream)
end


-- row.launch(cells, name, line) -> launch with its identity, or nil, message,
-- code.
function row.launch(cells, name, line)
  local launch = {
    id = integer(cells.ID),
    process_id = id(cells["Process ID"]),
    process = row.filled(cells["Process Name"]),
    host = row.filled(cells["Host Name"]),
    kernel = row.filled(cells["Kernel Name"]),
    context = id(cells.Context),
    stream = id(cells.Stream),
    device = id(cells.Device),
    cc = present(cells.CC),
  }
  if not launch.id then
    return row.fail(name, line, "ID is not a number: %s", row.quote(cells.ID or ""))
  end
  launch.whole_range = is_whole_range(cells) or nil
  if cells[STACK] then launch.stages, launch.thread = nvtx.stack(cells[STACK]) end
  if cells[RANGES] then launch.ranges = nvtx.ranges(cells[RANGES]) end
  if launch.whole_range then return launch end
  return sizes(launch, cells, name, line)
end


return row
