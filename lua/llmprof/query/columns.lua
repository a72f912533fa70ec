-- Columns of frames by the names people type: aliases, and errors that say
-- what there is.
local errors = require "llmprof.process.errors"
local lists = require "llmprof.tables.lists"
local nearest = require "llmprof.tables.keys"

local columns = {}

-- Raise what somebody typed wrong; hint: what to type.
function columns.usage(message, hint) errors.raise("usage", message, { hint = hint }) end


-- Short names, for frames that have no column of the name itself.
columns.aliases = {
  dur = "duration", short = "short_name", regs = "registers", corr = "correlation",
  cat = "category", queue = "queue_time", gap = "gap_before", gpu_gap = "gpu_gap_before",
}


-- By name: { name, type ("string", "integer", "number"), unit }; and the list.
function columns.of(frame)
  local list, by_name = frame:columns(), {}
  for _, column in ipairs(list) do by_name[column.name] = by_name[column.name] or column end
  return by_name, list
end


function columns.names(frame) return lists.map(frame:columns(), "name") end


-- The column that a name or alias stands for, or nil. Of steps, dur is the length.
function columns.find(frame, name)
  local by_name = columns.of(frame)
  return by_name[name] or by_name[columns.aliases[name]] or name == "dur" and by_name.length or nil
end


-- No column of that name; methods lists what else it could have been.
function columns.unknown(frame, name, methods)
  local names = columns.names(frame)
  local known = lists.joined(names, methods or {})
  for alias, full in pairs(columns.aliases) do
    if columns.find(frame, full) then known[#known + 1] = alias end
  end
  columns.usage(("no %s '%s' here%s"):format(methods and "column or method" or "column",
    tostring(name), nearest.suggestion(tostring(name), known)),
    "columns: " .. table.concat(names, " "))
end


-- As find, or the error.
function columns.check(frame, name)
  if type(name) ~= "string" then
    columns.usage(name == nil and "of which column?"
      or ("a column's name is a string, not a %s"):format(type(name)))
  end
  return columns.find(frame, name) or columns.unknown(frame, name)
end


-- A column of numbers.
function columns.check_number(frame, name, what)
  local column = columns.check(frame, name)
  if column.type == "string" then
    columns.usage(("%s: column '%s' holds text, not numbers"):format(what, column.name))
  end
  return column
end


-- The names that a list of names or aliases stands for.
function columns.resolve(frame, names)
  return lists.map(names, function(name) return columns.check(frame, name).name end)
end


-- Rows at most.
columns.MOST = 0x7fffffff

-- A number of rows (nil: otherwise), from `least` on.
function columns.check_count(what, n, otherwise, least)
  if n == nil then n = otherwise end
  n = n == math.huge and columns.MOST or math.tointeger(n)
  if not n or n < least or n > columns.MOST then
    columns.usage(what .. ": a number of rows is expected")
  end
  return n
end


-- ---- conditions ----

-- What where() takes, and what llmprof's frames call it; texts by a pattern become a list of them.
local comparisons = { ["=="] = "==", ["="] = "==", ["~="] = "~=", ["!="] = "~=", ["<"] = "<",
  ["<="] = "<=", [">"] = ">", [">="] = ">=", ["~"] = "~", ["!~"] = "!~" }


local function bad(message, hint) columns.usage("where: " .. message, hint) end


-- ---- text ----

-- The different texts of a column.
local function texts_of(frame, name)
  return lists.map(errors.check(frame:group { by = { name }, columns = {} }):values(name),
    function(value) return value or nil end)
end


-- Texts that hold the pattern as it stands, else those that match it as a Lua
-- pattern: names of kernels are full of what a pattern takes as special.
local function add_match(out, frame, column, comparison, pattern)
  if column.type ~= "string" or type(pattern) ~= "string" then
    bad(("'%s' looks for text; column '%s' holds numbers"):format(comparison, column.name))
  end
  local texts = texts_of(frame, column.name)
  local list = lists.filtered(texts, function(value) return value:find(pattern, 1, true) end)
  if #list == 0 and pcall(string.find, "", pattern) then
    list = lists.filtered(texts, function(value) return value:find(pattern) end)
  end
  if comparison == "~" then
    out[#out + 1] = { column.name, "==", list }
  else
    out[#out + 1] = { column.name, "~=", false }
    if #list > 0 then out[#out + 1] = { column.name, "~=", list } end
  end
end


-- ---- numbers ----

-- Integers compared with a fraction: the same rows by the integer below.
local rounded = { ["<"] = "<=", ["<="] = "<=", [">"] = ">", [">="] = ">" }

-- The comparison and integer that select the same rows; no integer equals a fraction.
local function for_integers(comparison, value)
  local integer = math.tointeger(value)
  if integer then return comparison, integer end
  if comparison == "~=" then return comparison, false end
  if not rounded[comparison] then return comparison, {} end
  local below = math.tointeger(math.floor(value))
  return rounded[comparison], below or (value > 0 and math.maxinteger or math.mininteger + 1)
end


-- Of what type a value has to be the frame says.
local function add_comparison(out, column, comparison, value)
  if type(value) == "boolean" then -- false: absent, true: there
    comparison, value = (comparison == "==") ~= value and "==" or "~=", false
  elseif value ~= value then
    bad(("column '%s': not a number"):format(column.name))
  elseif column.type == "integer" and math.type(value) == "float" then
    comparison, value = for_integers(comparison, value)
  end
  out[#out + 1] = { column.name, comparison, value }
end


local function add(out, frame, name, comparison, value)
  local column = columns.check(frame, name)
  local known = comparisons[comparison]
  if not known then
    bad(("no comparison '%s'"):format(tostring(comparison)), "there are == ~= < <= > >= ~ and !~")
  elseif value == nil then
    bad(("column '%s': compared with nothing"):format(column.name),
      "false stands for an absent value")
  elseif comparison == "~" or comparison == "!~" then
    add_match(out, frame, column, comparison, value)
  else
    add_comparison(out, column, known, value)
  end
end


-- ---- the forms of where() ----

-- column = value; column = { comparison, value, ... }; column = { values }.
local function add_entry(out, frame, name, value)
  local is_comparison = type(value) == "table" and comparisons[value[1]] ~= nil and #value >= 2
  if not is_comparison then return add(out, frame, name, "==", value) end
  for i = 1, #value, 2 do add(out, frame, name, value[i], value[i + 1]) end
end


-- where { column = value, { column, comparison, value }, ... }
local function from_table(frame, wanted)
  local out = {}
  for _, name in ipairs(nearest.sorted(wanted)) do
    if type(name) == "string" then add_entry(out, frame, name, wanted[name]) end
  end
  for _, triple in ipairs(wanted) do
    if type(triple) ~= "table" then
      bad("a condition is column = value or { column, comparison, value }",
        'for example: where { stage = "decode", { "dur", ">", 1e6 } }')
    end
    add(out, frame, triple[1], triple[2], triple[3])
  end
  return out
end


-- The conditions of where(...): a table, or column, value, or column,
-- comparison, value.
function columns.parse(frame, first, ...)
  if type(first) == "table" then return from_table(frame, first) end
  if type(first) ~= "string" then
    bad("which rows?", 'for example: where { stage = "decode" } or where("dur", ">", 1e6)')
  end
  local out = {}
  if select("#", ...) >= 2 then
    add(out, frame, first, ...)
  else
    add_entry(out, frame, first, (...))
  end
  return out
end


-- ---- why nothing is there ----

-- Why no row satisfies these conditions, where a text is asked for that no row has; else "".
function columns.why(frame, wanted)
  local by_name = columns.of(frame)
  for _, condition in ipairs(wanted) do
    local name, comparison, value = table.unpack(condition)
    if by_name[name].type == "string" and comparison == "==" and type(value) == "string" then
      local texts = texts_of(frame, name)
      if not lists.has(texts, value) then
        return (": no %s is '%s'%s"):format(name, value, nearest.suggestion(value, texts))
      end
    end
  end
  return ""
end


return columns
