-- Rows of frames as Lua values: fields are columns, by name or alias.
local columns = require "llmprof.query.columns"
local show = require "llmprof.query.show"
local tables = require "llmprof.tables"

local row = {}

local Row = { __name = "llmprof.row" }

-- By row: { rows (the frame of C), number, names (columns to list) }.
local inner = setmetatable({}, { __mode = "k" })


function row.new(rows, number, names)
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
function row.reader(rows)
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


return row
