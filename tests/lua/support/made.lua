-- Documents that a schema of docs/ allows, made of the schema alone: any of the fields that
-- may be absent is or is not there, whether or not a test knows something that writes it so.
local document = require "llmprof.io.document"
local json = require "llmprof.json"
local sorted_keys = require("llmprof.tables.keys").sorted

local made = {}

-- Texts that match the patterns of schemas, by the pattern.
local MATCHING = {
  ["^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"] = "2026-01-02T03:04:05Z",
  ["^[0-9]+\\.[0-9]+$"] = "9.0",
  ["^[0-9 ]*$"] = "1",
  ["^[0-9a-f]{64}$"] = ("0"):rep(64),
}

-- By field, the text that others point at: what is of a stage is of one that is there.
local SAID = { stage = "decode", name = "decode", phase = "decode" }

-- What points at others, and where that is its place among those: lists have one item.
local PLACED = { id = 1, kernel = 1, kernels = 1, after = 1, unlocks = 1, depth = 0 }


-- ---- which fields there are ----

-- Those that an object needs, those that are wanted, and what these need.
local function fields_of(maker, rule, place)
  local has = {}
  local function add(name)
    if has[name] then return end
    has[name] = true
    for _, other in ipairs((rule.dependentRequired or {})[name] or {}) do add(other) end
  end
  for _, name in ipairs(rule.required or {}) do add(name) end
  for _, name in ipairs(sorted_keys(rule.properties)) do
    if not has[name] and maker.wants(place .. "." .. name) then add(name) end
  end
  return sorted_keys(has)
end


-- ---- values ----

local value_of


local function object_of(maker, rule, key, place)
  local object, others = {}, rule.additionalProperties
  for _, name in ipairs(rule.properties and fields_of(maker, rule, place) or {}) do
    object[name] = value_of(maker, rule.properties[name], name, place .. "." .. name)
  end
  if type(others) == "table" then object[key] = value_of(maker, others, key, place .. ".*") end
  return object
end


local function list_of(maker, rule, key, place)
  local list = {}
  for i = 1, math.max(rule.minItems or 0, 1) do
    list[i] = value_of(maker, rule.items or { type = "integer" }, key, place)
  end
  return json.list(list)
end


local function text_of(_, rule, key)
  if rule.pattern then return assert(MATCHING[rule.pattern], rule.pattern) end
  return SAID[key] or "x"
end


local function number_of(maker, rule, key)
  local value = PLACED[key] or maker.number()
  return math.min(math.max(value, rule.minimum or value), rule.maximum or value)
end


local makers = { object = object_of, array = list_of, string = text_of, number = number_of,
  integer = number_of, null = function() return json.null end,
  boolean = function(maker) return maker.pick { false, true } end }


-- What a reference means: a whole document, or a definition of this or another one.
local function referred(maker, target, key)
  local other, definition = document.reference(target)
  local of = other or maker.name
  local name = definition or of
  local named = of .. "#" .. name
  if maker.within[named] then return nil end -- a tree has one level
  local inner = setmetatable({ name = of }, { __index = maker })
  local schema = document.schema(of)
  maker.within[named] = true
  local value = value_of(inner, definition and schema["$defs"][name] or schema, key, name)
  maker.within[named] = nil
  return value
end


function value_of(maker, rule, key, place)
  if rule["$ref"] then return referred(maker, rule["$ref"], key) end
  if rule.const ~= nil then return rule.const end
  if rule.enum then return maker.pick(rule.enum) end
  local kind = type(rule.type) == "table" and maker.pick(rule.type) or rule.type
  return makers[kind](maker, rule, key, place)
end


-- ---- documents ----

-- A document, as it is in a file, of the schema of that name. options.wants(place): shall a
-- field that need not be there be there ("stage.wall", "results.totals")?
-- options.pick(list), number(): a value of those that it may have.
function made.document(name, options)
  local maker = setmetatable({ name = name, within = {} }, { __index = options })
  return value_of(maker, document.schema(name), name, name)
end


-- All places of fields that need not be there, sorted.
function made.places(name)
  local seen = {}
  made.document(name, {
    wants = function(place) seen[place] = true return true end,
    pick = function(list) return list[1] end, number = function() return 1 end,
  })
  return sorted_keys(seen)
end


return made
