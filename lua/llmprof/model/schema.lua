-- Checks descriptions against declared fields: what is there, of which kind,
-- with which default.
--
-- A field is { kind, default }, and has what its caller knows of it besides; one without a default
-- must be given. Kinds:
--   count    a whole number of at least 1
--   layers   such a number of what is described one by one
--   whole    a whole number of at least 0
--   flag     true or false
--   text     text
--   places   a list of whole numbers of at least 0
--   words    a list of texts
--   list     a list of tables, each with its `fields`
--   table    a table, with its `fields`, or values that are each of a kind; else the caller checks
--   number   a number above 0
-- and a list of words: one of these.
local errors = require "llmprof.process.errors"
local nearest = require "llmprof.tables.keys"
local sorted_keys = require("llmprof.tables.keys").sorted
local yaml = require "llmprof.yaml"

local schema = {}

-- More of anything, and more layers, no model has.
local MOST, MOST_LAYERS = 2 ^ 48, 4096

-- Names in a message.
local MOST_LISTED = 20


local function is_whole(value, least)
  return math.type(value) == "integer" and value >= least and value <= MOST
end


local function is_a(type_name) return function(v) return type(v) == type_name end end

local function list_of(what, fits)
  return { "a list of " .. what, function(v)
    local count = 0
    for _ in pairs(type(v) == "table" and v or {}) do count = count + 1 end
    for i = 1, count do
      if not fits(v[i]) then return false end
    end
    return type(v) == "table"
  end }
end


local kinds = {
  count = { "a whole number of at least 1", function(v) return is_whole(v, 1) end },
  layers = { ("a whole number from 1 to %d"):format(MOST_LAYERS),
    function(v) return is_whole(v, 1) and v <= MOST_LAYERS end },
  whole = { "a whole number of at least 0", function(v) return is_whole(v, 0) end },
  flag = { "true or false", is_a "boolean" },
  text = { "text", is_a "string" },
  number = { "a number above 0", function(v)
    return math.type(v) ~= nil and v > 0 and v < math.huge
  end },
  places = list_of("whole numbers", function(item) return is_whole(item, 0) end),
  words = list_of("texts", is_a "string"),
  table = { "a table", is_a "table" },
  list = list_of("tables", is_a "table"),
}


-- What a kind expects, in words, and whether a value is that.
local function expectation(kind, value)
  if type(kind) == "string" then return kinds[kind][1], kinds[kind][2](value) end
  for _, choice in ipairs(kind) do
    if choice == value then return nil, true end
  end
  return "one of " .. table.concat(kind, ", "), false
end


function schema.bad(message, hint) errors.raise("usage", message, { hint = hint }) end


local function shown(value)
  if type(value) == "string" then return ("'%s'"):format(value) end
  return type(value) == "table" and "a table" or tostring(value)
end


-- The value of one field, its default where it is absent. name is what the
-- message calls it: "conf/model/x.yaml: decoder.hidden_size".
function schema.value(value, field, name)
  if value == nil or value == yaml.null then
    if field[2] == nil then schema.bad(name .. ": missing") end
    return field[2]
  end
  local wanted, fits = expectation(field[1], value)
  if not fits then schema.bad(("%s: %s is expected, not %s"):format(name, wanted, shown(value))) end
  local made = value
  if field.each then
    for _, key in ipairs(sorted_keys(value)) do
      schema.value(value[key], { field.each }, name .. "." .. key)
    end
  elseif field.fields and field[1] == "list" then
    made = {}
    for i, item in ipairs(value) do
      made[i] = schema.read(item, field.fields, ("%s[%d]"):format(name, i))
    end
  elseif field.fields then
    made = schema.read(value, field.fields, name)
  end
  return made
end


-- A field in words: "x.yaml: key" in a file, "x.yaml: part.key" inside a part.
local function name_in(where, key)
  return where .. (where:find(": ", 1, true) and "." or ": ") .. key
end


-- A table of all declared fields; keys that are not declared are errors.
function schema.read(given, fields, where)
  if type(given) ~= "table" then
    schema.bad(("%s: a table is expected, not %s"):format(where, shown(given)))
  end
  local known, made = sorted_keys(fields), {}
  for _, key in ipairs(sorted_keys(given)) do
    if not fields[key] then
      schema.bad(("%s: no key '%s'%s"):format(where, key, nearest.suggestion(tostring(key), known)),
        #known > MOST_LISTED and "llmprof help models lists them"
          or "there are: " .. table.concat(known, ", "))
    end
  end
  for _, key in ipairs(known) do
    made[key] = schema.value(given[key], fields[key], name_in(where, key))
  end
  return made
end


return schema
