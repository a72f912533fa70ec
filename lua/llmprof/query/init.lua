-- Questions to frames, as chained methods:
--
--   kernels:where { stage = "decode" }:group("name"):sum("dur"):sort("-dur"):top(10)
--
-- A frame has columns of equal length; its rows are looped over in C. Every
-- method leaves its frame as it is and returns a new one, which borrows the
-- rows: a view of a million rows costs four bytes a row. docs/repl.md shows
-- what it is good for, help(kernels) lists the methods.
local combine = require "llmprof.query.combine"
local columns = require "llmprof.query.columns"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local group = require "llmprof.query.group"
local lists = require "llmprof.tables.lists"
local merged = require("llmprof.tables.keys").merged
local show = require "llmprof.query.show"
local tables = require "llmprof.tables"

local query = {}

local Frame = { __name = "llmprof.query" }
local methods = {}

-- By frame: { rows (of C), shown (columns to print), limit, bar, draw (gives the
-- picture to print), asked (of where: the rows before and the conditions) }. Not
-- fields, which are columns to their users.
local inner = setmetatable({}, { __mode = "k" })


local check, usage = errors.check, columns.usage


-- ---- making them ----

local function wrap(state)
  local self = setmetatable({}, Frame)
  inner[self] = state
  return self
end


-- A frame of llmprof.frame or llmprof.trace as a query. shown: the columns to
-- print, where it has too many for a terminal; names it lacks are left out.
function query.wrap(rows, shown)
  local by_name = columns.of(rows)
  return wrap { rows = rows, shown = shown and lists.filtered(shown, function(name)
    return by_name[name]
  end) }
end


-- A query over a list of Lua tables; declared: of combine.of_list, shown as for wrap.
function query.from_rows(rows, declared, shown)
  return query.wrap(combine.of_list(rows, declared), shown)
end


function query.is(value) return getmetatable(value) == Frame end


-- The frame of C beneath.
local function rows_of(self)
  local state = inner[self]
  if not state then usage("a frame is expected", "methods are called with a colon: f:top(10)") end
  return state.rows
end


query.rows = rows_of


-- Where a frame has no rows, what is made of it can say the same of why.
local function asked_of(self)
  local state = inner[self]
  return #rows_of(self) == 0 and state.asked or nil
end


-- The same columns over other rows.
local function derived(self, rows)
  return wrap { rows = rows, shown = inner[self].shown, asked = asked_of(self) }
end


-- The same rows, printed in another way.
local function printed(self, how) return wrap(merged(inner[self], how)) end


local function shown_names(self)
  return inner[self].shown or columns.names(rows_of(self))
end


-- The first rows, as tables by column: what a table renderer reads.
local function list_rows(self, limit)
  local rows, names, list = rows_of(self), shown_names(self), {}
  for i = 1, math.min(limit, #rows) do list[i] = show.new_row(rows, i, names) end
  return list
end


-- ---- choosing rows ----

local function where_function(self, wanted)
  local rows, chosen = rows_of(self), {}
  local reader, move = show.row_reader(rows)
  for i = 1, #rows do
    move(i)
    if wanted(reader) then chosen[#chosen + 1] = i end
  end
  return derived(self, check(rows:take(chosen)))
end


function methods:where(first, ...)
  if type(first) == "function" then return where_function(self, first) end
  local rows = rows_of(self)
  local wanted = columns.parse(rows, first, ...)
  local ok, found = pcall(rows.where, rows, wanted)
  if not ok and type(found) == "string" then usage("where: " .. found) end
  if not ok then error(found, 0) end
  local made = derived(self, found)
  inner[made].asked = { rows = rows, wanted = wanted }
  return made
end


function methods:head(n)
  return derived(self, check(rows_of(self):slice(1, columns.check_count("head", n, 10, 0))))
end


function methods:tail(n)
  local rows, count = rows_of(self), columns.check_count("tail", n, 10, 0)
  return derived(self, check(rows:slice(#rows - count + 1, #rows)))
end


-- { column, descending } of "-dur" or "name".
local function sort_keys(rows, names)
  return lists.map(names, function(name)
    local sign, bare = tostring(name):match "^([-+]?)(.*)$"
    return { columns.check(rows, bare).name, sign == "-" }
  end)
end


function methods:sort(...)
  local rows, names = rows_of(self), { ... }
  if #names == 0 then usage("sort: by which columns?", 'for example: sort("-dur", "name")') end
  return derived(self, check(rows:sort(sort_keys(rows, names))))
end


function methods:top(n, by)
  if by == nil then return methods.head(self, n) end
  local rows = rows_of(self)
  columns.check_number(rows, by, "top")
  return derived(self, check(rows:sort(sort_keys(rows, { "-" .. by }),
    columns.check_count("top", n, 10, 0))))
end


-- ---- choosing columns ----

-- The names of columns that a method was given.
local function named(self, method, example, ...)
  local names = columns.resolve(rows_of(self), { ... })
  if #names == 0 then usage(method, example) end
  return names
end


function methods:select(...)
  local names = named(self, "select: which columns?", 'for example: select("name", "dur")', ...)
  return query.wrap(check(rows_of(self):select(names)))
end


function methods:unique(...)
  local names = named(self, "unique: of which columns?", 'for example: unique("name")', ...)
  return query.wrap(check(rows_of(self):group { by = names, columns = {} }))
end


function methods:columns()
  local _, list = columns.of(rows_of(self))
  return query.from_rows(list, { { name = "name", type = "string" },
    { name = "type", type = "string" }, { name = "unit", type = "string" } })
end


function methods:values(name)
  local rows = rows_of(self)
  return rows:values(columns.check(rows, name).name)
end


-- The columns shown, with these after them.
local function also_shown(self, names)
  local shown = inner[self].shown
  return shown and lists.joined(shown, lists.filtered(names, function(name)
    return not lists.has(shown, name)
  end))
end


for name, add in pairs(combine.added) do
  methods[name] = function(self, ...)
    local rows, made = add(rows_of(self), ...)
    return query.wrap(rows, also_shown(self, { made }))
  end
end


function methods:tree(by, name) return query.wrap(combine.tree(rows_of(self), by, name)) end


function methods:join(other, ...)
  if not query.is(other) then
    usage("join: with which other frame?", 'for example: a:join(b, "name")')
  end
  local rows, names = combine.join(rows_of(self), rows_of(other), { ... })
  local added = lists.map(shown_names(other), function(theirs) return names[theirs] end)
  return query.wrap(rows, also_shown(self, added) or lists.joined(shown_names(self), added))
end


function methods:gaps(shortest) return query.wrap(combine.gaps(rows_of(self), shortest)) end


-- How much of the time of a frame another one ran, too: a frame of one row.
function query.overlap(a, b)
  if not (query.is(a) and query.is(b)) then
    usage("overlap: two frames are expected", "for example: overlap(kernels, transfers)")
  end
  return query.wrap(combine.overlap(rows_of(a), rows_of(b)))
end


-- ---- numbers ----

for _, name in ipairs(group.methods) do
  methods[name] = function(self, column) return group.single(rows_of(self), name, column) end
end


function methods:percentile(column, percentile)
  return group.single(rows_of(self), "percentile", column, group.check_percentile(percentile))
end


function methods:group(...)
  local asked = asked_of(self)
  return group.new(rows_of(self), { ... }, function(...)
    local made = query.wrap(...)
    inner[made].asked = asked
    return made
  end)
end


function methods:stats(name)
  local rows = rows_of(self)
  local column = columns.check_number(rows, name, "stats").name
  local all = lists.joined({ "count" }, group.usual)
  return query.wrap(check(rows:group { columns = lists.map(all, function(statistic)
    return { statistic, statistic, column }
  end) }))
end


-- Edges of `bins` bins: equal steps, or equal factors where values spread over
-- more than two orders of magnitude.
local function bin_edges(low, high, bins)
  local edges, factors = {}, low > 0 and high / low > 100
  for i = 0, bins do
    local at = i / bins
    edges[i + 1] = factors and low * (high / low) ^ at or low + (high - low) * at
  end
  edges[1], edges[bins + 1] = low, high
  return edges
end


function methods:hist(name, bins)
  local rows = rows_of(self)
  local column = columns.check_number(rows, name, "hist")
  bins = columns.check_count("hist", bins, 12, 0)
  local low, high = group.single(rows, "min", name), group.single(rows, "max", name)
  if bins == 0 then usage "hist: one bin at least" end
  if not low then usage(("hist: column '%s' has no values"):format(column.name)) end
  local edges = bin_edges(low, high, low == high and 1 or bins)
  local whole = column.type == "integer"
  local list = {}
  for i = 1, #edges - 1 do
    local from, to = edges[i], edges[i + 1]
    list[i] = { from = from + 0.0, to = to + 0.0, count = #check(rows:where {
      { column.name, ">=", whole and math.ceil(from) or from },
      { column.name, i == #edges - 1 and "<=" or "<", whole and math.ceil(to) or to } }) }
  end
  local made = query.from_rows(list, { { name = "from", type = "number", unit = column.unit },
    { name = "to", type = "number", unit = column.unit }, { name = "count", type = "integer" } })
  inner[made].bar = "count"
  return made
end


-- More rows than this are a line, not bars.
local BARS = 50

function methods:plot(name, over)
  local rows = rows_of(self)
  local y = columns.check_number(rows, name, "plot").name
  local x = over and columns.check_number(rows, over, "plot").name
  if x or #rows > BARS then
    local start = columns.find(rows, "start") -- or nothing but their order
    start = start and start.type ~= "string" and start.name or nil
    return printed(self, { draw = function() return show.line(rows, y, x or start) end })
  end
  return printed(self, { bar = y, draw = false })
end


function methods:strip(by)
  local rows = rows_of(self)
  local name = columns.check(rows, by).name
  combine.check_times(rows, "strip")
  return printed(self, { draw = function() return show.strip(rows, name) end })
end


function methods:diff(other, name)
  if not query.is(other) then usage("diff: with which other frame?", "a:diff(b)") end
  return query.wrap(combine.diff(rows_of(self), rows_of(other), name))
end


-- ---- reading and writing ----

function methods:rows()
  local rows, names, i = rows_of(self), shown_names(self), 0
  return function()
    i = i + 1
    if i <= #rows then return show.new_row(rows, i, names) end
  end
end


function methods:show(n)
  rows_of(self)
  return printed(self, { limit = columns.check_count("show", n, math.huge, 0) })
end


local sealed = false

-- From now on nothing is written by save: for questions of somebody else.
function query.seal() sealed = true end


function methods:save(path)
  if sealed then usage "save: nothing is written here" end
  local format = lists.find(tables.formats(), "extension", tostring(path):match "%.(%w+)$" or "")
  if not format then
    local ends = table.concat(lists.sort(lists.map(tables.formats(), "extension")), " .")
    usage(("save: '%s' ends in none of .%s"):format(tostring(path), ends),
      'for example: save("kernels.csv")')
  end
  local rows = rows_of(self)
  if format.name == "csv" then
    check(tables.save_raw(path, rows, shown_names(self)))
  else
    local list = list_rows(self, math.maxinteger)
    local declared = show.columns(rows, shown_names(self), list)
    check(fs.write(path, tables.render(format.name, declared, list)))
  end
  return ("%s: %d row%s"):format(path, #rows, #rows == 1 and "" or "s")
end


-- ---- as a Lua value ----

function Frame:__len() return #rows_of(self) end


function Frame:__index(key)
  if math.type(key) == "integer" then
    local rows = rows_of(self)
    if key < 1 or key > #rows then return nil end
    return show.new_row(rows, key, shown_names(self))
  end
  local method = methods[key]
  if method then return method end
  local rows = rows_of(self)
  local column = type(key) == "string" and columns.find(rows, key)
  if column then return rows:values(column.name) end
  if group.class[key] and type(key) == "string" then
    usage(("'%s' is of groups"):format(key), ('for example: group("name"):%s'):format(
      key == "agg" and 'agg("count", "sum dur")' or "count()"))
  end
  columns.unknown(rows, key, query.methods)
end


-- steps() is steps: what is listed may be called.
function Frame:__call(...)
  if select("#", ...) > 0 then
    usage("a frame is no function", "methods are called with a colon: f:top(10)")
  end
  return self
end


function Frame:__newindex(key)
  usage(("frames do not change: '%s' cannot be set"):format(tostring(key)),
    'with("name", function(row) ... end) makes a frame with one more column')
end


function Frame:__tostring()
  local state = inner[self]
  local rows = rows_of(self)
  local limit = state.limit or show.ROWS
  if state.draw and #rows > 0 then return state.draw() end
  if #rows == 0 and state.asked then
    return "no rows" .. columns.why(state.asked.rows, state.asked.wanted)
  end
  return show.table { frame = rows, names = shown_names(self), rows = list_rows(self, limit),
    limit = limit, bar = state.bar }
end


-- Names of the columns of a frame, for completion.
function query.column_names(self) return columns.names(rows_of(self)) end


-- Names of the methods, sorted.
query.methods = require("llmprof.tables.keys").sorted(methods)

return query
