-- A validator for the part of JSON Schema (draft 2020-12) that docs/*.json use.
-- A keyword that it does not know raises, so that no rule is passed over.
local json = require "llmprof.json"

local schema = {}

local LIST = getmetatable(json.list {})

local check -- (root, rule, value, where): what is wrong, or nil


local function type_of(value)
  if value == json.null then return "null" end
  if math.type(value) then return value == math.floor(value) and "integer" or "number" end
  if type(value) ~= "table" then return type(value) end
  return getmetatable(value) == LIST and "array" or "object"
end


local function is(value, wanted)
  local found = type_of(value)
  return found == wanted or (wanted == "number" and found == "integer")
end


local function sorted_keys(map)
  local keys = {}
  for key in pairs(map) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end


local function shown(value)
  return assert(json.encode(value))
end


-- The expression as a Lua pattern. It may hold literals, classes, * and +, and
-- {n} behind a class.
local function lua_pattern(expression)
  assert(not expression:find "[|()%%?]", "pattern too clever: " .. expression)
  local pattern = expression:gsub("(%b[]){(%d+)}", string.rep)
  pattern = pattern:gsub("%b[]", function(class) return (class:gsub("%-", "\1")) end)
  return (pattern:gsub("%-", "%%-"):gsub("\1", "-"):gsub("\\(.)", "%%%1"))
end


-- ---- keywords: function(root, argument, value, where, rule) ----

local keywords = {}
local annotations = { ["$schema"] = true, ["$defs"] = true, title = true, description = true }


function keywords.type(_, wanted, value, where)
  for _, name in ipairs(type(wanted) == "table" and wanted or { wanted }) do
    if is(value, name) then return nil end
  end
  return ("%s: %s expected, got %s"):format(where,
    type(wanted) == "table" and table.concat(wanted, " or ") or wanted, shown(value))
end


function keywords.const(_, wanted, value, where)
  if value ~= wanted then return ("%s: %s expected, got %s"):format(where, shown(wanted),
    shown(value)) end
end


function keywords.enum(_, choices, value, where)
  for _, choice in ipairs(choices) do
    if choice == value then return nil end
  end
  return ("%s: one of %s expected, got %s"):format(where, shown(choices), shown(value))
end


function keywords.minimum(_, least, value, where)
  if is(value, "number") and value < least then
    return ("%s: at least %s expected, got %s"):format(where, shown(least), shown(value))
  end
end


function keywords.maximum(_, most, value, where)
  if is(value, "number") and value > most then
    return ("%s: at most %s expected, got %s"):format(where, shown(most), shown(value))
  end
end


function keywords.pattern(_, expression, value, where)
  if type(value) == "string" and not value:find(lua_pattern(expression)) then
    return ("%s: %s does not match %s"):format(where, shown(value), expression)
  end
end


function keywords.minItems(_, least, value, where)
  if is(value, "array") and #value < least then
    return ("%s: at least %d items expected, got %d"):format(where, least, #value)
  end
end


function keywords.maxItems(_, most, value, where)
  if is(value, "array") and #value > most then
    return ("%s: at most %d items expected, got %d"):format(where, most, #value)
  end
end


function keywords.items(root, rule, value, where)
  if not is(value, "array") then return nil end
  for i, item in ipairs(value) do
    local wrong = check(root, rule, item, ("%s[%d]"):format(where, i))
    if wrong then return wrong end
  end
end


function keywords.required(_, names, value, where)
  if not is(value, "object") then return nil end
  for _, name in ipairs(names) do
    if value[name] == nil then return ("%s: no '%s'"):format(where, name) end
  end
end


function keywords.properties(root, rules, value, where)
  if not is(value, "object") then return nil end
  for _, name in ipairs(sorted_keys(rules)) do
    local wrong = value[name] ~= nil
      and check(root, rules[name], value[name], ("%s.%s"):format(where, name))
    if wrong then return wrong end
  end
end


function keywords.additionalProperties(root, rule, value, where, around)
  if not is(value, "object") then return nil end
  for _, name in ipairs(sorted_keys(value)) do
    if not (around.properties and around.properties[name]) then
      if rule == false then return ("%s: unknown '%s'"):format(where, name) end
      local wrong = check(root, rule, value[name], ("%s.%s"):format(where, name))
      if wrong then return wrong end
    end
  end
end


keywords["$ref"] = function(root, reference, value, where)
  local name = assert(reference:match "^#/%$defs/([%w_]+)$", "no local reference: " .. reference)
  return check(root, assert(root["$defs"][name], "nothing at " .. reference), value, where)
end


-- ---- together ----

function check(root, rule, value, where)
  for _, keyword in ipairs(sorted_keys(rule)) do
    if not annotations[keyword] then
      local test = keywords[keyword] or error(("unknown keyword '%s'"):format(keyword), 0)
      local wrong = test(root, rule[keyword], value, where, rule)
      if wrong then return wrong end
    end
  end
  return nil
end


-- The first thing wrong with a value that was read from JSON, or nil. rules: a
-- schema, read likewise.
function schema.check(rules, value)
  return check(rules, rules, value, "$")
end


-- A schema of docs/, by name: "results".
function schema.load(name)
  return assert(json.load(("docs/%s.schema.json"):format(name)))
end


return schema
