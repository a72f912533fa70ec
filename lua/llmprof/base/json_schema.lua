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


-- Types that are told by what Lua calls them.
local PLAIN = { string = "string", boolean = "boolean", number = "number" }


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


function keywords.type(wanted)
  local names = type(wanted) == "table" and wanted or { wanted }
  local expected = table.concat(names, " or ") .. " expected, got "
  local allowed = {}
  for _, name in ipairs(names) do allowed[name] = true end
  if allowed.number then allowed.integer = true end
  local plain = #names == 1 and PLAIN[names[1]] or nil -- mostly, and told in one look
  return function(value)
    if type(value) == plain or allowed[type_of(value)] then return nil end
    return expected .. shown(value), ""
  end
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
  return function(value)
    if not is_array(value) then return nil end
    for i = 1, #value do
      local wrong, where = check(value[i])
      if wrong then return wrong, ("[%d]%s"):format(i, where) end
    end
  end
end


function keywords.required(names)
  return function(value)
    if not is_object(value) then return nil end
    for _, name in ipairs(names) do
      if value[name] == nil then return ("no '%s'"):format(name), "" end
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


function keywords.properties(rules, compile)
  local names, checks = sorted_keys(rules), {}
  for _, name in ipairs(names) do checks[name] = compile(rules[name]) end
  local function first_wrong(value)
    for _, name in ipairs(names) do
      if value[name] ~= nil then
        local wrong, where = checks[name](value[name])
        if wrong then return wrong, ("." .. name .. where) end
      end
    end
  end
  return function(value)
    if not is_object(value) then return nil end
    for name, item in next, value do
      local check = checks[name]
      if check and check(item) then return first_wrong(value) end
    end
  end
end


local NONE = {}

-- The keys of an object that no property is declared for, sorted.
local function undeclared(value, declared)
  local names
  for name in next, value do
    if declared[name] == nil then
      names = names or {}
      names[name] = true
    end
  end
  return names and sorted_keys(names) or NONE
end


function keywords.additionalProperties(rule, compile, around)
  local declared, check = around.properties or {}, rule ~= false and compile(rule)
  return function(value)
    if not is_object(value) then return nil end
    for _, name in ipairs(undeclared(value, declared)) do
      if not check then return ("unknown '%s'"):format(name), "" end
      local wrong, where = check(value[name])
      if wrong then return wrong, ("." .. name .. where) end
    end
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

-- The type first: of a value that is something else, nothing else is worth saying.
local function keywords_of(rule)
  local names = sorted_keys(rule)
  table.sort(names, function(a, b)
    if (a == "type") ~= (b == "type") then return a == "type" end
    return a < b
  end)
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


-- A schema as a function(value): what is wrong, and where. load(name) gives another
-- one that it refers to by its file.
local function compile_schema(schema, load)
  local definitions, compile = {}, nil

  local function reference(target)
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
    return definitions[name] or function(value) return definitions[name](value) end
  end

  function compile(rule)
    local checks = {}
    for _, name in ipairs(keywords_of(rule)) do
      if name == "$ref" then
        checks[#checks + 1] = reference(rule[name])
      elseif not annotations[name] then
        local keyword = keywords[name] or error(("unknown keyword '%s'"):format(name), 0)
        checks[#checks + 1] = keyword(rule[name], compile, rule)
      end
    end
    return in_turn(checks)
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
