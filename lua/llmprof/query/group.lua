-- Groups: what frame:group(...) gives, and the statistics over them. Every
-- statistic makes a frame of one row per group: the columns grouped by, count
-- (rows), and the statistics' own.
local columns = require "llmprof.query.columns"
local errors = require "llmprof.process.errors"
local lists = require "llmprof.tables.lists"

local group = {}

-- The statistics that stats() gives of a column, beside how many rows there are.
group.usual = { "sum", "mean", "median", "min", "max", "std" }

-- Those that a method of the same name gives.
group.methods = lists.joined(group.usual, { "distinct" })

-- What "STATISTIC COLUMN" may start with, besides pN for the N-th percentile.
local statistics = lists.set(lists.joined(group.methods, { "count" }))


-- A statistic of a column, and what it is called; percentile: of "percentile" alone.
local function spec(statistic, column, percentile)
  return { statistic = statistic, column = column, percentile = percentile,
    label = percentile and ("p%g"):format(percentile) or statistic }
end


-- "p99 dur" as a spec.
local function parse_spec(said)
  local word, column = tostring(said):match "^%s*(%S+)%s*(%S*)%s*$"
  local percentile = word and tonumber(word:match "^p(%d+%.?%d*)$")
  if not word or not (percentile or statistics[word]) or (column == "" and word ~= "count") then
    columns.usage(("agg: '%s' is no statistic of a column"):format(tostring(said)),
      'for example: agg("count", "sum dur", "p99 dur"); there are '
        .. "count distinct sum mean median min max std and pN")
  end
  return spec(percentile and "percentile" or word, column ~= "" and column or nil, percentile)
end


function group.check_percentile(value)
  if type(value) ~= "number" or not (value >= 0 and value <= 100) then
    columns.usage("percentile: a number between 0 and 100 is expected",
      'for example: percentile("dur", 99)')
  end
  return value
end


-- Compute these specs over groups of the frame. A column is called as the one that it is made of,
-- with the statistic behind it where is_long, or where that name is taken.
local function aggregate(frame, keys, wanted, is_long)
  local taken = lists.set(keys)
  return errors.check(frame:group { by = keys, columns = lists.map(wanted, function(one)
    local column = one.column and columns.check(frame, one.column)
    if column and one.statistic ~= "distinct" and one.statistic ~= "count" then
      columns.check_number(frame, one.column, one.label)
    end
    local long = (column and column.name or "group") .. "_" .. one.label
    local name = column and (is_long and long or column.name) or "count"
    if taken[name] then name = long end
    taken[name] = true
    return { name, one.statistic, column and column.name or nil, one.percentile }
  end) })
end


local Group = { __name = "llmprof.group" }

-- What groups do not do a statistic of them may.
function Group:__index(name)
  local method = Group[name]
  if method then return method end
  columns.usage(("groups have no '%s' before a statistic"):format(tostring(name)),
    'for example: group("name"):sum("dur"):top(5); there are '
      .. "agg count distinct max mean median min percentile std stats sum")
end


-- By group: { frame, keys, wrap }. Not fields, which a question could reach.
local inner = setmetatable({}, { __mode = "k" })


-- Groups of a frame (of C) by columns. wrap(frame) makes the results.
function group.new(frame, by, wrap)
  if #by == 0 then columns.usage("group: by which columns?", 'for example: group("name")') end
  local self = setmetatable({}, Group)
  inner[self] = { frame = frame, keys = columns.resolve(frame, by), wrap = wrap }
  return self
end


local function state_of(self)
  return inner[self] or columns.usage("groups are expected",
    'methods are called with a colon: kernels:group("name"):sum("dur")')
end


-- These statistics of the groups, as a frame.
local function made_of(self, wanted, is_long)
  local state = state_of(self)
  return state.wrap(aggregate(state.frame, state.keys, wanted, is_long))
end


-- One statistic of some columns, as the method of its name.
local function one_statistic(self, statistic, names, percentile)
  if #names == 0 then
    columns.usage(statistic .. ": of which column?",
      ('for example: %s("dur")'):format(statistic))
  end
  return made_of(self, lists.joined({ spec "count" }, lists.map(names, function(name)
    return spec(statistic, name, percentile)
  end)))
end


for _, name in ipairs(group.methods) do
  Group[name] = function(self, ...) return one_statistic(self, name, { ... }) end
end


function Group:percentile(column, percentile)
  return one_statistic(self, "percentile", { column }, group.check_percentile(percentile))
end


function Group:count() return made_of(self, { spec "count" }) end


-- Several statistics: agg("count", "sum dur", "p99 dur").
function Group:agg(...)
  local wanted = lists.map({ ... }, parse_spec)
  if #wanted == 0 then parse_spec "" end
  return made_of(self, wanted, true)
end


-- The usual ones of a column.
function Group:stats(column)
  columns.check_number(state_of(self).frame, column, "stats")
  return made_of(self, lists.joined({ spec "count" }, lists.map(group.usual, function(statistic)
    return spec(statistic, column)
  end)), true)
end


function Group:__tostring()
  return ("groups by %s: add count(), sum(column), stats(column), agg(...)")
    :format(table.concat(inner[self].keys, ", "))
end


-- One statistic of a whole frame: a number; nil when there is no value.
function group.single(frame, statistic, name, percentile)
  local column = statistic == "distinct" and columns.check(frame, name)
    or columns.check_number(frame, name, statistic)
  local made = errors.check(frame:group {
      columns = { { "value", statistic, column.name, percentile } } })
  if #made == 0 then return (statistic == "sum" or statistic == "distinct") and 0 or nil end
  return made:get(1, "value")
end


group.class = Group

return group
