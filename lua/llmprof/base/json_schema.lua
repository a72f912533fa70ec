-- A validator for the part of JSON Schema (draft 2020-12) that docs/*.json use.
-- A keyword that it does not know raises, so that no rule is passed over.
--
-- A rule is compiled once into a function(value) that returns nothing, or what is
-- wrong and where below value ("[2].name"): paths are only built when there is
-- something to tell.
local json = require "llmprof.json"
local sorted_keys = require "llmprof.base.sorted_keys"

local json_schema = {}

local LIST = getmetatable(json.list {})

-- More of a value than this is not shown in a message; bytes.
local MOST_SHOWN = 60


local function is_array(value)
  return type(value) == "table" and getmetatable(value) == LIST
end


-- Is it what json.decode makes of an object?
function json_schema.is_object(value)
  return type(value) == "table" and not is_array(value)
end

local is_object = json_schema.is_object


local function type_of(value)
  local kind = type(value)
  if kind == "number" then return math.tointeger(value) and "integer" or "number" end
  if kind == "string" or kind == "boolean" then return kind end
  if value == json.null then return "null" end
  if kind ~= "table" then return kind end
  return is_array(value) and "array" or "object"
end


-- Is a value of a type? What type_of says, in one look.
local is_of = {
  string = function(value) return type(value) == "string" end,
  boolean = function(value) return type(value) == "boolean" end,
  number = function(value) return type(value) == "number" end,
  integer = function(value) return math.type(value) == "integer" or type_of(value) == "integer" end,
  null = function(value) return value == json.null end,
  array = is_array,
  object = is_object,
}


local function encoded(value)
  return assert(json.encode(value))
end


-- A value of the file for a message: what is long only by its type.
local function shown(value)
  local written = encoded(value)
  if #written <= MOST_SHOWN then return written end
  return type(value) == "string" and "a long string" or "an " .. type_of(value)
end


-- The expression as a Lua pattern. It may hold literals, classes, * and +, and
-- {n} behind a class.
local function lua_pattern(expression)
  assert(not expression:find "[|()%%?]", "pattern too clever: " .. expression)
  local pattern = expression:gsub("(%b[]){(%d+)}", string.rep)
  pattern = pattern:gsub("%b[]", function(class) return (class:gsub("%-", "\1")) end)
  return (pattern:gsub("%-", "%%-"):gsub("\1", "-"):gsub("\\(.)", "%%%1"))
end


-- ---- keywords: function(argument, compile, rule) -> function(value) ----

local keywords = {}
local annotations = { ["$schema"] = true, ["$defs"] = true, title = true, description = true }


local function one_of(names)
  local list = {}
  for i, name in ipairs(names) do list[i] = is_of[name] end
  return function(value)
    for i = 1, #list do
      if list[i](value) then return true end
    end
    return false
  end
end


local by_type = {} -- what keywords.type made of single types

-- By check of those that ask for nothing but a type, what type() says of the values that
-- they let through: these need no call.
local kinds = {}

function keywords.type(wanted)
  if by_type[wanted] then return by_type[wanted] end
  local names = type(wanted) == "table" and wanted or { wanted }
  local fits = #names == 1 and is_of[names[1]] or one_of(names)
  local function check(value)
    if fits(value) then return nil end
    return table.concat(names, " or ") .. " expected, got " .. shown(value), ""
  end
  if names[1] ~= wanted then return check end
  by_type[wanted] = check
  if wanted == "string" or wanted == "number" or wanted == "boolean" then kinds[check] = wanted end
  return check
end


function keywords.const(wanted)
  return function(value)
    if value ~= wanted then
      return ("%s expected, got %s"):format(encoded(wanted), shown(value)), ""
    end
  end
end


function keywords.enum(choices)
  return function(value)
    for _, choice in ipairs(choices) do
      if choice == value then return nil end
    end
    return ("one of %s expected, got %s"):format(encoded(choices), shown(value)), ""
  end
end


function keywords.minimum(least)
  return function(value)
    if type(value) == "number" and value < least then
      return ("at least %s expected, got %s"):format(encoded(least), encoded(value)), ""
    end
  end
end


function keywords.maximum(most)
  return function(value)
    if type(value) == "number" and value > most then
      return ("at most %s expected, got %s"):format(encoded(most), encoded(value)), ""
    end
  end
end


function keywords.pattern(expression)
  local pattern = lua_pattern(expression)
  return function(value)
    if type(value) == "string" and not value:find(pattern) then
      return ("%s does not match %s"):format(shown(value), expression), ""
    end
  end
end


function keywords.minItems(least)
  return function(value)
    if is_array(value) and #value < least then
      return ("at least %d items expected, got %d"):format(least, #value), ""
    end
  end
end


function keywords.maxItems(most)
  return function(value)
    if is_array(value) and #value > most then
      return ("at most %d items expected, got %d"):format(most, #value), ""
    end
  end
end


function keywords.items(rule, compile)
  local check = compile(rule)
  local kind = kinds[check]
  return function(value)
    if not is_array(value) then return nil end
    for i = 1, #value do
      local item = value[i]
      if kind ~= type(item) then
        local wrong, where = check(item)
        if wrong then return wrong, ("[%d]%s"):format(i, where) end
      end
    end
  end
end


-- Where one key is there, others have to be.
function keywords.dependentRequired(needs)
  local triggers = sorted_keys(needs)
  return function(value)
    if not is_object(value) then return nil end
    for _, trigger in ipairs(triggers) do
      for _, name in ipairs(value[trigger] ~= nil and needs[trigger] or {}) do
        if value[name] == nil then return ("'%s' without '%s'"):format(trigger, name), "" end
      end
    end
  end
end


-- ---- objects ----

-- The keys of an object that no property is declared for, sorted.
local function undeclared(value, declared)
  local names = {}
  for name in next, value do
    if declared[name] == nil then names[name] = true end
  end
  return sorted_keys(names)
end


local function wrong_other(members, value)
  for _, name in ipairs(members.others == nil and {} or undeclared(value, members.checks)) do
    if not members.others then return ("unknown '%s'"):format(name), "" end
    local wrong, where = members.others(value[name])
    if wrong then return wrong, ("." .. name .. where) end
  end
end


local function wrong_property(members, value)
  for _, name in ipairs(sorted_keys(members.checks)) do
    if value[name] ~= nil then
      local wrong, where = members.checks[name](value[name])
      if wrong then return wrong, ("." .. name .. where) end
    end
  end
end


local function lacking(members, value)
  for _, name in ipairs(members.required) do
    if value[name] == nil then return ("no '%s'"):format(name), "" end
  end
end


-- Is everything about an object's keys right? One look at each.
local function members_fit(members, value)
  local checks, others, required = members.checks, members.others, members.required
  local plain = members.plain
  for i = 1, #required do
    if value[required[i]] == nil then return false end
  end
  for name, item in next, value do
    if plain[name] ~= type(item) then
      local check = checks[name]
      if check == nil then check = others end
      if check == false or check and check(item) then return false end
    end
  end
  return true
end


-- additionalProperties, properties and required of a rule, as one check.
local function members_of(rule, compile)
  local checks, plain, others = {}, {}, rule.additionalProperties
  for name, of_property in pairs(rule.properties or {}) do
    checks[name] = compile(of_property)
    plain[name] = kinds[checks[name]]
  end
  local members = { checks = checks, plain = plain, required = rule.required or {},
    others = others and compile(others) or others }
  return function(value)
    if type(value) ~= "table" or getmetatable(value) == LIST then return nil end
    if members_fit(members, value) then return nil end
    local wrong, where = wrong_other(members, value)
    if not wrong then wrong, where = wrong_property(members, value) end
    if not wrong then wrong, where = lacking(members, value) end
    return wrong, where
  end
end


-- ---- references ----

-- Of a reference the file's name before ".schema.json", "" for its own, and the place
-- in it, "" for all: "results.schema.json#/$defs/rank".
function json_schema.split(target)
  local file, place = target:match "^([^#]*)(.*)$"
  local name = file:match "^([%l_]+)%.schema%.json$"
  assert(file == "" or name, "no reference: " .. target)
  return name or "", place
end


-- The name of the definition at a place: "rank" of "#/$defs/rank".
function json_schema.definition(place)
  return assert(place:match "^#/%$defs/([%w_]+)$", "no reference: " .. place)
end


-- A schema of what stands at a place ("" for all) of another one.
function json_schema.part(schema, place)
  return place == "" and schema or { ["$defs"] = schema["$defs"], ["$ref"] = place }
end


-- ---- together ----

-- Keywords in the order in which they are looked at. The type first: of a value that is
-- something else, nothing else is worth saying.
local ORDER = { "type", "$ref", "members", "const", "dependentRequired", "enum", "items",
  "maxItems", "maximum", "minItems", "minimum", "pattern" }

local place_of = {}
for i, name in ipairs(ORDER) do place_of[name] = i end

-- What members_of takes together.
local is_member = { additionalProperties = true, properties = true, required = true }


-- The keywords of a rule that make a check of their own, in order; "members" for some.
local function keywords_of(rule)
  local names, members = {}, false
  for name in next, rule do
    if is_member[name] then members = true
    elseif place_of[name] then names[#names + 1] = name
    elseif not annotations[name] then error(("unknown keyword '%s'"):format(name), 0) end
  end
  if members then names[#names + 1] = "members" end
  if names[2] then table.sort(names, function(a, b) return place_of[a] < place_of[b] end) end
  return names
end


local function in_turn(checks)
  local first, second = checks[1], checks[2]
  if #checks == 1 then return first end
  if #checks == 2 then
    return function(value)
      local wrong, where = first(value)
      if wrong then return wrong, where end
      return second(value)
    end
  end
  return function(value)
    for i = 1, #checks do
      local wrong, where = checks[i](value)
      if wrong then return wrong, where end
    end
  end
end


-- Checks of numbers that are of a type and between bounds, as most are: in one look,
-- and in turn where that finds something wrong.
local function bounded(rule, names, check)
  local wanted = rule.type
  if wanted ~= "integer" and wanted ~= "number" then return check end
  for _, name in ipairs(names) do
    if name ~= "type" and name ~= "minimum" and name ~= "maximum" then return check end
  end
  local least, most = rule.minimum or -math.huge, rule.maximum or math.huge
  local kind_of_number = wanted == "integer" and math.type or type
  return function(value)
    if kind_of_number(value) ~= wanted or value < least or value > most then
      return check(value)
    end
  end
end


-- A schema as a function(value): what is wrong, and where. load(name) gives another
-- one that it refers to by its file.
local function compile_schema(schema, load)
  local definitions, compile = {}, nil

  local referred = {} -- by target

  local function find(target)
    local other, place = json_schema.split(target)
    if other ~= "" then
      assert(load, "a reference into another file: " .. target)
      return compile_schema(json_schema.part(load(other), place), load)
    end
    local name = json_schema.definition(place)
    local rule = assert(schema["$defs"][name], "nothing at " .. target)
    -- a definition may hold itself: it is looked up when it is used
    if definitions[name] == nil then
      definitions[name] = false
      definitions[name] = compile(rule)
    end
    return definitions[name]
  end

  local function reference(target)
    local check = referred[target] or find(target)
    if check then
      referred[target] = check
      return check
    end
    local name = json_schema.definition(select(2, json_schema.split(target)))
    return function(value) return definitions[name](value) end
  end

  function compile(rule)
    local names, checks = keywords_of(rule), {}
    for i, name in ipairs(names) do
      if name == "$ref" then checks[i] = reference(rule[name])
      elseif name == "members" then checks[i] = members_of(rule, compile)
      else checks[i] = keywords[name](rule[name], compile) end
    end
    local check = in_turn(checks)
    return kinds[check] and check or bounded(rule, names, check)
  end

  return compile(schema)
end


-- A schema, read from JSON, as a function(value): what is wrong first with a value
-- that was read likewise ("$.stages[1].name: string expected, got 1"), or nil.
-- load(name): the schema in the file <name>.schema.json; without it none may be
-- referred to.
function json_schema.compile(schema, load)
  local check = compile_schema(schema, load)
  return function(value)
    local wrong, where = check(value)
    return wrong and ("$%s: %s"):format(where, wrong) or nil
  end
end


-- The first thing wrong with a value, or nil: a schema that is used once.
function json_schema.check(schema, value)
  return json_schema.compile(schema)(value)
end


return json_schema
