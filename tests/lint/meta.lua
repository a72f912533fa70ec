-- Do the annotations in lua/llmprof/meta.lua have every configuration key and
-- every field of results.json? Run by llmprof exec, in the source tree; --update
-- writes them.
local defaults = require "llmprof.recipe.defaults"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local sorted_keys = require("llmprof.tables.keys").sorted

local PAGE, SCHEMA = "lua/llmprof/meta.lua", "docs/results.schema.json"
local MARK = "-- ---- generated ----\n\n"
local RESULTS = "llmprof.results."

local schema = assert(json.load(SCHEMA))
local definitions = schema["$defs"]

-- A schema that it refers to is a class like its own.
for _, rule in pairs(schema.properties) do
  local other = (rule["$ref"] or ""):match "^(%l+)%.schema%.json$"
  if other then
    definitions[other] = assert(json.load(("docs/%s.schema.json"):format(other)))
    for name, definition in pairs(definitions[other]["$defs"]) do
      assert(not definitions[name], name)
      definitions[name] = definition
    end
  end
end


local function definition_name(reference)
  return reference:match "^(%l+)%.schema%.json$" or reference:match "[^/]+$"
end


local function quoted_choices(choices)
  local words = {}
  for i, choice in ipairs(choices) do words[i] = ("%q"):format(choice) end
  return table.concat(words, "|")
end


-- ---- configuration ----

local function config_type(declaration)
  local default = declaration[2]
  local kind = declaration.type or (type(default) == "table" and "list") or math.type(default)
    or type(default)
  if declaration.choices and kind == "string" then return quoted_choices(declaration.choices) end
  return ({ list = "string[]", float = "number" })[kind] or kind
end


-- Classes by name, "llmprof.Config" and those of its groups, as lists of fields.
local function config_classes()
  local classes, seen = { ["llmprof.Config"] = {} }, {}
  local function field(class, ...)
    classes[class] = classes[class] or {}
    table.insert(classes[class], ("---@field %s%s %s %s"):format(...))
  end
  for _, key in ipairs(sorted_keys(defaults)) do
    local declaration = defaults[key]
    local group, name = key:match "^([^.]+)%.(.+)$"
    if group and not seen[group] then
      seen[group] = true
      field("llmprof.Config", group, "", "llmprof.Config." .. group, "Keys " .. group .. ".*")
    end
    field(group and "llmprof.Config." .. group or "llmprof.Config", name or key,
      declaration[2] == nil and "?" or "", config_type(declaration), declaration[1])
  end
  field("llmprof.Config.run", "dir", "", "string",
    "The run's folder, for `workload`; no key that can be set")
  -- the recipe's own keys, whose names are not known here
  table.insert(classes["llmprof.Config"], "---@field [string] any Keys of the recipe's own")
  return classes
end


-- ---- results ----

local type_of

local scalars = { string = "string", integer = "integer", number = "number",
  boolean = "boolean", null = "nil" }

local function is_class(definition)
  return definition.type == "object" and definition.properties ~= nil
end


local function inline_object(rule)
  if rule.properties then
    local fields = {}
    for i, name in ipairs(sorted_keys(rule.properties)) do
      fields[i] = ("%s?: %s"):format(name, type_of(rule.properties[name]))
    end
    return "{ " .. table.concat(fields, ", ") .. " }"
  end
  local values = rule.additionalProperties
  return type(values) == "table" and ("table<string, %s>"):format(type_of(values)) or "table"
end


local function referred(reference)
  local name = definition_name(reference)
  return is_class(definitions[name]) and RESULTS .. name or type_of(definitions[name])
end


-- What is null in a file is absent in Lua.
local function kind_of(rule)
  local kinds = rule.type
  if type(kinds) ~= "table" then return kinds end
  return #kinds == 2 and kinds[2] == "null" and kinds[1] or nil
end


function type_of(rule)
  if rule["$ref"] then return referred(rule["$ref"]) end
  if rule.enum then return quoted_choices(rule.enum) end
  if rule.const ~= nil then return ("%q"):format(rule.const) end
  if kind_of(rule) == "array" then
    local item = rule.items and type_of(rule.items) or "any"
    return (item:find "|" and "(" .. item .. ")" or item) .. "[]"
  end
  if rule.type == "object" then return inline_object(rule) end
  return scalars[kind_of(rule)] or "any"
end


local function class_fields(definition)
  local required, fields = {}, {}
  for _, name in ipairs(definition.required or {}) do required[name] = true end
  for i, name in ipairs(sorted_keys(definition.properties)) do
    local rule = definition.properties[name]
    local about = rule.description
      or (rule["$ref"] and definitions[definition_name(rule["$ref"])].description) or ""
    fields[i] = ("---@field %s%s %s %s"):format(name, required[name] and "" or "?", type_of(rule),
      about):gsub(" +$", "")
  end
  return fields
end


local function results_classes()
  local classes = { ["llmprof.Results"] = class_fields(schema) }
  for name, definition in pairs(definitions) do
    if is_class(definition) then classes[RESULTS .. name] = class_fields(definition) end
  end
  return classes
end


-- ---- the page ----

local function text_of(...)
  local out = {}
  for _, classes in ipairs { ... } do
    for _, name in ipairs(sorted_keys(classes)) do
      out[#out + 1] = ("---@class %s\n%s\n"):format(name, table.concat(classes[name], "\n"))
    end
  end
  return table.concat(out, "\n")
end


local page = assert(fs.read(PAGE))
local _, last = page:find(MARK, 1, true)
local wanted = page:sub(1, last) .. text_of(config_classes(), results_classes())
  .. "\nreturn recipe\n"
if page == wanted then return 0 end
if ... ~= "--update" then
  io.stderr:write(PAGE, " is not what ", SCHEMA, " and the program's keys say: ",
    "llmprof exec tests/lint/meta.lua --update\n")
  return 1
end
assert(fs.write(PAGE, wanted))
return 0
