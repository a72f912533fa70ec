-- JSON documents that a schema of docs/ describes, each file of a bundle by its name
-- there. The schema is the one description: which fields there are, of which type,
-- in which order they are written.
local json = require "llmprof.json"
local json_schema = require "llmprof.base.json_schema"
local resources = require "llmprof.resources"
local text = require "llmprof.text"

local document = {}

local schemas, checks, was_read = {}, {}, {} -- by the document's name

local fitting = json.schemas()


-- The schema, as C has it, and those that it refers to.
local function read_schema(name)
  local lacking = name
  while lacking do
    assert(fitting:add(lacking, resources.get(("docs/%s.schema.json"):format(lacking))))
    lacking = fitting:lacking()
  end
end


-- The schema of a document, by name: "results".
function document.schema(name)
  if not schemas[name] then
    read_schema(name)
    schemas[name] = fitting:value(name)
  end
  return schemas[name]
end


-- Options of json that say whether a document fits: most do, which C tells, and the
-- validator tells why where it does not.
local function with_schema(name, options)
  if not was_read[name] then read_schema(name) end
  was_read[name] = true
  options.schemas, options.schema = fitting, name
  return options
end


local function keys_of(object)
  return getmetatable(object).__keys
end


-- Names of the fields of a document, or of one of its schema's definitions, in order.
function document.fields(name, definition)
  local schema = document.schema(name)
  return keys_of((definition and schema["$defs"][definition] or schema).properties)
end


-- ---- reading ----

-- What is wrong first with a value ("$.stages[1].name: string expected, got 1"), or
-- nil. With a definition of the schema, that is what the value has to fit.
function document.check(name, value, definition)
  local key = definition and name .. "#" .. definition or name
  if not checks[key] then
    local rule = json_schema.part(document.schema(name),
      definition and "#/$defs/" .. definition or "")
    checks[key] = json_schema.compile(rule, document.schema)
  end
  return checks[key](value)
end


local function drop_nulls(value)
  for key, item in pairs(value) do
    if item == json.null and type(key) == "string" then
      value[key] = nil
    elseif type(item) == "table" then
      drop_nulls(item)
    end
  end
  return value
end


-- A file that fits the schema, without the fields that are null: these were not
-- measured. nil, message, code when it cannot be read or does not fit
-- ("run/results.json: $.stages: array expected, got 1").
function document.read(path, name)
  local value, fits, code = json.load(path, with_schema(name, {}))
  if value == nil then return nil, fits, code end
  local wrong = not fits and document.check(name, value)
  if wrong then return nil, ("%s: %s"):format(path, wrong), "syntax" end
  return drop_nulls(value)
end


-- ---- writing ----

local targets = {} -- by rule, what it refers to: { schema, rule }

-- What a rule refers to, and the schema that it is of.
local function resolved(schema, rule)
  if not rule["$ref"] then return schema, rule end
  local target = targets[rule]
  if not target then
    local other, place = json_schema.split(rule["$ref"])
    local of = other ~= "" and document.schema(other) or schema
    target = place == "" and { of, of }
      or { resolved(of, of["$defs"][json_schema.definition(place)]) }
    targets[rule] = target
  end
  return target[1], target[2]
end


local shape


local marks = {} -- by list of keys, the metatable of objects that are written so

local function mark_of(keys)
  marks[keys] = marks[keys] or getmetatable(json.ordered({}, keys))
  return marks[keys]
end


local function shape_object(schema, rule, value)
  local declared, others = rule.properties or {}, rule.additionalProperties
  if rule.properties then setmetatable(value, mark_of(keys_of(declared))) end
  for name, item in next, value do
    if type(item) == "table" then
      local of_item = declared[name] or others
      if type(of_item) == "table" then shape(schema, of_item, item) end
    end
  end
end


local function shape_list(schema, rule, value)
  json.list(value)
  local of_items = rule.items
  for i = 1, of_items and #value or 0 do
    if type(value[i]) == "table" then shape(schema, of_items, value[i]) end
  end
end


-- A table that was marked as something else stays: it does not fit.
function shape(schema, rule, value)
  schema, rule = resolved(schema, rule)
  local mark = getmetatable(value)
  if rule.type == "array" and (mark == nil or not mark.__keys) then
    shape_list(schema, rule, value)
  elseif rule.type == "object" and (mark == nil or mark.__keys) then
    shape_object(schema, rule, value)
  end
end


-- The same value with texts that are UTF-8: what a file or a path said may be in any
-- encoding, and is then as on a terminal.
local function repaired(value)
  if type(value) == "string" then return utf8.len(value) and value or text.clean_lines(value) end
  if type(value) ~= "table" then return value end
  for key, item in pairs(value) do value[key] = repaired(item) end
  return value
end


-- The text of a document, and what `read` makes of it. A value that does not fit the
-- schema raises: what writes a document has to know it. compact: on one line.
function document.encode(name, value, compact)
  local schema = document.schema(name)
  shape(schema, schema, value)
  local options = with_schema(name, { pretty = not compact, read = true })
  local written, decoded, fits = json.encode(value, options)
  if not written then written, decoded, fits = json.encode(repaired(value), options) end
  local message = not written and decoded or not decoded and fits
  if message then error(("%s.json: %s"):format(name, message), 0) end
  local wrong = not fits and document.check(name, decoded)
  if wrong then error(("docs/%s.schema.json does not allow %s"):format(name, wrong), 0) end
  local has_null = written:find("null", 1, true)
  return written .. "\n", has_null and drop_nulls(decoded) or decoded
end


return document
