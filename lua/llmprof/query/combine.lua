-- Columns beside those that a frame has: computed in Lua, from other rows, or from the
-- rows of another frame. Each gives a frame (of C) with all columns of the one given; one
-- of the same name is replaced.
local columns = require "llmprof.query.columns"
local errors = require "llmprof.process.errors"
local frame = require "llmprof.frame"
local range_name = require "llmprof.trace.nvtx_names"
local show = require "llmprof.query.show"
local spans = require "llmprof.spans"
local lists = require "llmprof.tables.lists"
local pack = require "llmprof.pack"

local combine = {}

local check, usage = errors.check, columns.usage


-- All rows, with room for a column of that name.
local function room_for(rows, name)
  local names = columns.names(rows)
  if not lists.has(names, name) then return check(rows:slice(1, #rows)) end
  return check(rows:select(lists.filtered(names, function(other) return other ~= name end)))
end


-- A frame of a list of Lua tables. declared: list of { name, type ("string", "integer",
-- "number"), unit, get (function from a row to its value; the field of the same name without) }.
function combine.of_list(list, declared)
  return frame.new(#list, lists.map(declared, function(column)
    local function get(row) return row[column.name] end
    return { name = column.name, type = column.type, unit = column.unit,
      values = lists.map(list, function(row) return (column.get or get)(row) or false end) }
  end))
end


-- ---- computed in Lua ----

-- Methods of frames that add a column: each gives the frame with it, and its name.
combine.added = {}


local VALUES = { integer = true, float = true, string = true }

-- Set the type of a column by its values (false: absent): numbers where all are, else text.
function combine.set_type(column)
  local has, values = {}, column.values
  for _, value in ipairs(values) do
    local kind = math.type(value) or type(value)
    if value and not VALUES[kind] then
      usage(("with: column '%s': a %s is no value"):format(column.name, kind))
    end
    has[kind] = true
  end
  column.type = has.string and "string" or has.float and "number" or "integer"
  if not has.string then return end
  for i, value in ipairs(values) do values[i] = value and tostring(value) end
end


-- One more column, of get(row) for every row.
function combine.added.with(rows, name, get, unit)
  if type(name) ~= "string" or type(get) ~= "function" then
    usage("with: a name and a function are expected",
      'for example: with("mean", function(r) return r.dur / r.count end, "ns")')
  end
  local values = {}
  local reader, move = show.row_reader(rows)
  for i = 1, #rows do
    move(i)
    values[i] = get(reader) or false
  end
  local declared = { name = name, unit = unit, values = values }
  combine.set_type(declared)
  local made = frame.new(#rows, { declared })
  return room_for(rows, name):lazy({ { name = name, type = declared.type, unit = unit } },
    function() return made end), name
end


function combine.added.share(rows, name)
  local column = columns.check_number(rows, name, "share").name
  local sum = rows:weigh({ column })[1]
  return room_for(rows, "share"):compute { name = "share", unit = "share",
    steps = sum > 0 and { { column }, sum, "/" } or { 0, 0, "/" } }, "share"
end


-- ---- as a tree ----

-- The sums of paths, and of those around them, which have what is inside: list of { path, count,
-- total, own }, each behind the one around it, the largest first. Numbers in a path are "*", so
-- that layers meet.
local function sums_of(rows, by, column)
  local sums, list = {}, {}
  local function add(path, count, total, own)
    local one = lists.entry(list, sums, path, { path = path, count = 0, total = 0, own = 0 })
    one.count, one.total, one.own = one.count + count, one.total + total, one.own + own
  end
  for _, group in ipairs(rows:group { by = { by }, total = { column } }) do
    local path, total = range_name.all_layers(group[by] or ""), group[column].total or 0
    add(path, group.count, total, total)
    local outer, inner = path:match "^(.*)%.([^.]*)$"
    while outer do
      if inner ~= "*" then add(outer, group.count, total, 0) end
      outer, inner = outer:match "^(.*)%.([^.]*)$"
    end
  end
  for i, one in ipairs(lists.sort(list, "-total", "path")) do one.at = ("%08d"):format(i) end
  local function place(path)
    local outer = path:match "^(.*)%.[^.]*$"
    return (outer and place(outer) or "") .. (sums[path] and sums[path].at or "")
  end
  for _, one in ipairs(list) do one.place = place(one.path) end
  return lists.sort(list, "place")
end


-- Rows by the paths in a column ("model.layers.7.mlp"), as sums_of has them.
function combine.tree(rows, by, name)
  local path = columns.check(rows, by)
  if path.type ~= "string" then
    usage(("tree: column '%s' holds numbers, not paths"):format(path.name))
  end
  local column = columns.check_number(rows, name or "duration", "tree")
  local function sum(title, field)
    return { name = title, type = column.type, unit = column.unit,
      get = function(one) return one[field] end }
  end
  return combine.of_list(sums_of(rows, path.name, column.name), {
    { name = path.name, type = "string",
      get = function(one) return one.path ~= "" and one.path end },
    { name = "count", type = "integer" }, sum(column.name, "total"), sum("self", "own") })
end


-- ---- from other rows ----

-- The cell `offset` rows before, among rows with equal columns, those behind it.
function combine.added.lag(rows, name, offset, ...)
  local column = columns.check(rows, name).name
  offset = columns.check_count("lag", offset, 1, -columns.MOST)
  local made = (offset < 0 and "lead_" or "lag_") .. column
  return room_for(rows, made):lag { column = column, offset = offset,
    by = columns.resolve(rows, { ... }), name = made }, made
end


local rolled = { sum = true, mean = true, median = true, min = true, max = true }

-- A statistic of `size` rows up to each, among rows with equal columns.
function combine.added.rolling(rows, name, size, statistic, ...)
  local column = columns.check_number(rows, name, "rolling").name
  statistic = statistic or "mean"
  if not rolled[statistic] then
    usage(("rolling: no '%s'"):format(tostring(statistic)),
      "there are mean, median, sum, min and max")
  end
  local made = ("rolling_%s_%s"):format(statistic, column)
  return room_for(rows, made):rolling { column = column, statistic = statistic,
    size = columns.check_count("rolling", size, 10, 1),
    by = columns.resolve(rows, { ... }), name = made }, made
end


-- ---- from another frame ----

-- Pairs of key columns: names in both, and tables of { ours = "theirs" }.
local function read_keys(rows, other, given)
  local here, there = {}, {}
  local function add(ours, theirs)
    here[#here + 1] = columns.check(rows, ours).name
    there[#there + 1] = columns.check(other, theirs).name
  end
  for _, key in ipairs(given) do
    if type(key) == "table" then
      for ours, theirs in pairs(key) do add(ours, theirs) end
    else
      add(key, key)
    end
  end
  if #here == 0 then
    usage("join: by which columns?", 'for example: a:join(b, "name") or '
      .. 'kernels:join(steps, "step", { rank = "world" })')
  end
  return here, there
end


local ROW = " row" -- no name that anybody types

-- Add the row of another frame with the same keys, as a column.
local function match(what, rows, here, other, there, name)
  local ok, err = pcall(rows.match, rows, { by = here, other = other, keys = there, name = name })
  if ok then return end
  if errors.is(err) and err.code == "range" then
    usage(what .. ": several rows of a frame have the same key", "group it by "
      .. table.concat(there, ", ") .. " first")
  end
  error(err, 0)
end


-- Columns of the row of another frame that has the same keys; and by name of theirs
-- what each is called here.
function combine.join(rows, other, keys)
  local here, there = read_keys(rows, other, keys)
  local made = check(rows:slice(1, #rows))
  match("join", made, here, other, there, ROW)
  local names, taken = {}, lists.set(columns.names(made))
  for _, theirs in ipairs(columns.names(other)) do
    local name = taken[theirs] and "other_" .. theirs or theirs
    if not lists.has(there, theirs) and not columns.of(made)[name] then
      spans.look_up(made, ROW, other, theirs, name)
      names[theirs] = name
    end
  end
  return check(made:select(lists.filtered(columns.names(made), function(name)
    return name ~= ROW
  end))), names
end


-- ---- time ----

-- Raise where rows have no start and end.
function combine.check_times(rows, what)
  if not (columns.find(rows, "start") and columns.find(rows, "end")) then
    usage(("%s: a frame with start and end is expected"):format(what),
      "kernels, ops, transfers, api, ranges, stages, layers, gaps and collectives have them")
  end
end


-- When any row ran, and for how long.
local function times_of(rows)
  combine.check_times(rows, "overlap")
  local set = rows:union()
  local first, last = set:span()
  return set, first and set:covered(first, last) or 0
end


-- Times between the rows in which none of them ran: start, end, duration.
function combine.gaps(rows, shortest)
  combine.check_times(rows, "gaps")
  local least = columns.check_count("gaps", shortest, 1, 1)
  local busy = rows:union()
  local first, last = busy:span()
  return busy:gaps(first or 0, last or 0, least):frame()
    :less { column = "end", by = "start", name = "duration" }
end


-- How much of the time of one frame another one ran, too: a frame of one row.
function combine.overlap(a, b)
  local left, whole_a = times_of(a)
  local right, whole_b = times_of(b)
  local both = left:overlap(right)
  return combine.of_list({ { a = whole_a, b = whole_b, both = both,
    share_a = whole_a > 0 and both / whole_a, share_b = whole_b > 0 and both / whole_b } }, {
    { name = "a", type = "integer", unit = "ns" }, { name = "b", type = "integer", unit = "ns" },
    { name = "both", type = "integer", unit = "ns" },
    { name = "share_a", type = "number", unit = "share" },
    { name = "share_b", type = "number", unit = "share" } })
end


-- ---- two frames compared ----

-- Text columns that both have: what rows are matched by.
local function common_keys(before, after)
  local there = columns.of(after)
  local keys = lists.map(before:columns(), function(column)
    local other = there[column.name]
    return column.type == "string" and other and other.type == "string" and column.name or nil
  end)
  if #keys == 0 then
    usage("diff: the frames share no text column to match rows by",
      'for example: a:group("name"):sum("dur"):diff(b:group("name"):sum("dur"))')
  end
  return keys
end


-- The column compared: the one asked for, else the first number both have
-- besides count, else count.
local function value_column(before, after, wanted)
  if wanted then
    columns.check_number(after, wanted, "diff")
    return columns.check_number(before, wanted, "diff")
  end
  local there = columns.of(after)
  local common = lists.filtered(before:columns(), function(column)
    return column.type ~= "string" and there[column.name]
  end)
  local others = lists.filtered(common, function(column) return column.name ~= "count" end)
  return others[1] or common[1] or usage "diff: the frames share no column of numbers"
end


-- A frame (of C): the common text columns, before, after, difference, and change (of before;
-- absent for what is new). What is on one side only has no value on the other, and changed by all
-- it is. Largest differences first.
function combine.diff(before, after, wanted)
  local keys, value = common_keys(before, after), value_column(before, after, wanted)
  local all = pack.join { check(before:select(keys)), check(after:select(keys)) }
    :group { by = keys, columns = {} }
  for name, side in pairs { before = before, after = after } do
    match("diff", all, keys, side, keys, name .. ROW)
    spans.look_up(all, name .. ROW, side, value.name, name)
  end
  local function add(name, unit, type, steps)
    check(all:compute { name = name, unit = unit, type = type, steps = steps })
  end
  add("difference", value.unit, value.type, { { "after" }, 0, { "after" .. ROW }, "unless", "or",
    { "before" }, 0, { "before" .. ROW }, "unless", "or", -1, "*", "+" })
  add("change", "share", "number", { { "difference" }, { "before" }, "/" })
  add("size", nil, value.type, { { "difference" }, { "difference" }, -1, "*", "most" })
  local order = lists.map(keys, function(key) return { key } end)
  return check(check(all:sort(lists.joined({ { "size", true } }, order))):select(lists.joined(keys,
    { "before", "after", "difference", "change" })))
end


return combine
