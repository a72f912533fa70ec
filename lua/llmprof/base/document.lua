-- JSON documents that a schema of docs/ describes: results, metrics, operators,
-- manifest. The schema is the one description: which fields there are, of which type,
-- in which order they are written.
local json = require "llmprof.json"
local json_schema = require "llmprof.base.json_schema"
local resources = require "llmprof.resources"

local document = {}

local schemas, checks = {}, {} -- by the document's name


-- The schema of a document, by name: "results".
function document.schema(name)
  schemas[name] = schemas[name] or assert(json.decode(
    resources.get(("docs/%s.schema.json"):format(name)), { ordered = true }))
  return schemas[name]
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
    local schema = document.schema(name)
    local rule = definition
      and { ["$defs"] = schema["$defs"], ["$ref"] = "#/$defs/" .. definition } or schema
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
  local value, message, code = json.load(path)
  if value == nil then return nil, message, code end
  local wrong = document.check(name, value)
  if wrong then return nil, ("%s: %s"):format(path, wrong), "syntax" end
  return drop_nulls(value)
end


-- ---- writing ----

-- What a rule refers to, and the schema that it is of.
local function resolved(schema, rule)
  local target = rule["$ref"]
  if not target then return schema, rule end
  local other = target:match "^(%l+)%.schema%.json$"
  if other then return document.schema(other), document.schema(other) end
  return schema, schema["$defs"][target:match "[^/]+$"]
end


local shape


local function shape_object(schema, rule, value)
  local declared, others = rule.properties or {}, rule.additionalProperties
  if rule.properties then json.ordered(value, keys_of(declared)) end
  for name, item in pairs(value) do
    local of_item = declared[name] or others
    if type(of_item) == "table" then shape(schema, of_item, item) end
  end
end


local function shape_list(schema, rule, value)
  json.list(value)
  for _, item in ipairs(rule.items and value or {}) do shape(schema, rule.items, item) end
end


-- A value that was marked as something else stays: it does not fit.
function shape(schema, rule, value)
  if type(value) ~= "table" then return end
  schema, rule = resolved(schema, rule)
  local mark = getmetatable(value)
  if rule.type == "array" and (mark == nil or not mark.__keys) then
    shape_list(schema, rule, value)
  elseif rule.type == "object" and (mark == nil or mark.__keys) then
    shape_object(schema, rule, value)
  end
end


-- The text of a document. A value that does not fit the schema raises: what writes a
-- document has to know it.
function document.encode(name, value)
  local schema = document.schema(name)
  shape(schema, schema, value)
  local text = assert(json.encode(value, { pretty = true }))
  local wrong = document.check(name, json.decode(text))
  if wrong then error(("docs/%s.schema.json does not allow %s"):format(name, wrong), 0) end
  return text .. "\n"
end


return document
