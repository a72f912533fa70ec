-- Columns about groups of a frame's rows: what Lua knows of a few distinct keys,
-- for millions of rows.
local json = require "llmprof.json"
local keys = require "llmprof.tables.keys"
local lists = require "llmprof.tables.lists"

local rows = {}


function rows.has(frame, name) return lists.find(frame:columns(), "name", name) ~= nil end


-- The names of a frame's columns.
function rows.names(frame) return lists.map(frame:columns(), "name") end

-- Groups of rows by a column, by its value (false where it is absent). asked: what else
-- llmprof.frame's group is asked.
function rows.by(frame, column, asked)
  local found = {}
  for _, group in ipairs(frame:group(keys.merged({ by = { column } }, asked or {}))) do
    found[group[column] or false] = group
  end
  return found
end


-- Add columns by the values of other ones. by: names of columns; columns: list of
-- { name, type, unit, get }, get a function of a row with the columns of `by`, which is the
-- next one after that; what it gives is absent where it is nil or false, and all without `get`.
-- Returns the frame.
function rows.extend(frame, by, columns)
  local groups = frame:group { by = by, columns = {} }
  local made = lists.map(columns, function(column)
    return { name = column.name, type = column.type, unit = column.unit, values = {} }
  end)
  local cells, key = lists.map(by, function(name) return groups:values(name) end), {}
  for row = 1, #groups do
    for i, name in ipairs(by) do key[name] = cells[i][row] or nil end
    for i, column in ipairs(columns) do
      made[i].values[row] = column.get and column.get(key) or false
    end
  end
  return frame:extend(by, #groups, made)
end


-- Add one column of integers, as rows.extend does.
function rows.add(frame, name, by, get)
  return rows.extend(frame, by, { { name = name, type = "integer", get = get } })
end


-- The number of a thread of a process: threads of two processes may have the same number.
function rows.thread_of(pid, tid) return tid and (pid or 0) << 32 | tid end


-- Add `thread`, that number, to a frame that has none yet. pid, tid: its columns.
function rows.add_threads(frame, pid, tid)
  if rows.has(frame, "thread") then return frame end
  return rows.add(frame, "thread", { pid, tid }, function(key)
    return rows.thread_of(key[pid], key[tid])
  end)
end


-- The first start and the last end of all rows; nil without any.
function rows.extent(frame) return frame:union():span() end


-- A row of a frame as a table of the columns named; rows count from 1.
function rows.get(frame, row, names)
  local made = {}
  for _, name in ipairs(names) do made[name] = frame:get(row, name) end
  return made
end


-- All rows of a frame, a list of such tables.
function rows.list(frame, names)
  local list = json.list {}
  for row = 1, #frame do list[row] = rows.get(frame, row, names) end
  return list
end


-- Columns of the steps of a rank that ran something, in the order in which they began: a
-- list each, by name.
function rows.of_rank(steps, world, names)
  local own = steps:where({ world = world, { "begin", "~=", false } }):sort { { "begin" } }
  local made = {}
  for _, name in ipairs(names) do made[name] = own:values(name) end
  return made
end


-- The same of the lowest rank that ran something; nil without any.
function rows.of_first_rank(steps, names)
  local ran = steps:where { { "begin", "~=", false } }
  local first = lists.sort(lists.map(ran:group { by = { "world" } }, "world"))[1]
  return first and rows.of_rank(steps, first, names)
end


return rows
