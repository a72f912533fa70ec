-- Two frames of groups side by side: before, after, and what changed.
local columns = require "llmprof.query.columns"
local errors = require "llmprof.process.errors"
local frame = require "llmprof.frame"
local tuple = require("llmprof.tables.keys").tuple

local diff = {}


-- Text columns that both have: what rows are matched by.
local function common_keys(before, after)
  local _, list = columns.of(before)
  local there, keys = columns.of(after), {}
  for _, column in ipairs(list) do
    local other = there[column.name]
    if column.type == "string" and other and other.type == "string" then
      keys[#keys + 1] = column.name
    end
  end
  if #keys == 0 then
    errors.raise("usage", "diff: the frames share no text column to match rows by",
      { hint = 'for example: a:group("name"):sum("dur"):diff(b:group("name"):sum("dur"))' })
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
  local there, found = columns.of(after), nil
  local _, list = columns.of(before)
  for _, column in ipairs(list) do
    local is_common = column.type ~= "string" and there[column.name]
    if is_common and (not found or found.name == "count") then found = column end
  end
  return found or errors.raise("usage", "diff: the frames share no column of numbers")
end


-- Values by key; the order in which keys come is appended to `order`.
local function index(rows, keys, value, by_key, side, order)
  for row = 1, #rows do
    local parts = {}
    for i, key in ipairs(keys) do parts[i] = rows:get(row, key) or "" end
    local id = tuple(table.unpack(parts))
    local entry = by_key[id]
    if not entry then
      entry = { parts = parts }
      by_key[id] = entry
      order[#order + 1] = entry
    end
    if entry[side] ~= nil then
      errors.raise("usage", ("diff: several rows of '%s'"):format(table.concat(parts, " ")),
        { hint = "group both by " .. table.concat(keys, ", ") .. " first" })
    end
    entry[side] = rows:get(row, value) or false -- false: the row is there, its value is not
  end
end


-- What is on one side only changed by all it is; nil when a value is absent.
local function difference(entry)
  if entry.before == false or entry.after == false then return nil end
  return (entry.after or 0) - (entry.before or 0)
end


-- The first part in which they differ, as text, decides.
local function precedes(a, b)
  for i, part in ipairs(a) do
    if part ~= b[i] then return tostring(part) < tostring(b[i]) end
  end
  return false
end


local function by_difference(a, b)
  local left, right = math.abs(difference(a) or 0), math.abs(difference(b) or 0)
  if left ~= right then return left > right end
  return precedes(a.parts, b.parts)
end


local function pick(entries, get)
  local values = {}
  for i, entry in ipairs(entries) do values[i] = get(entry) or false end
  return values
end


-- A frame (of C): the common text columns, before, after, difference, and
-- change (of before; absent for what is new). What is on one side only has no
-- value on the other. Largest differences first.
function diff.make(before, after, wanted)
  local keys, value = common_keys(before, after), value_column(before, after, wanted)
  local entries, by_key = {}, {}
  index(before, keys, value.name, by_key, "before", entries)
  index(after, keys, value.name, by_key, "after", entries)
  table.sort(entries, by_difference)
  local list = {}
  for i, key in ipairs(keys) do
    list[i] = { name = key, type = "string",
      values = pick(entries, function(entry) return entry.parts[i] end) }
  end
  local function add(name, unit, type, get)
    list[#list + 1] = { name = name, unit = unit, type = type, values = pick(entries, get) }
  end
  add("before", value.unit, value.type, function(entry) return entry.before end)
  add("after", value.unit, value.type, function(entry) return entry.after end)
  add("difference", value.unit, value.type, difference)
  add("change", "share", "number", function(entry)
    local from, by = entry.before, difference(entry)
    return by and from and from ~= 0 and by / from or nil
  end)
  return frame.new(#entries, list)
end


return diff
