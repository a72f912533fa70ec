-- JSON documents that a schema of docs/ describes, each file of a bundle by its name
-- there. The schema is the one description: which fields there are, of which type,
-- in which order they are written.
local errors = require "llmprof.process.errors"
local json = require "llmprof.json"
local resources = require "llmprof.resources"
local text = require "llmprof.text"

local document = {}

local schemas, was_read = {}, {} -- by the document's name

local in_c = json.schemas()


-- The schema, as C has it, and those that it refers to.
local function read_schema(name)
  local lacking = not was_read[name] and name
  while lacking do
    errors.check(in_c:add(lacking, resources.get(("docs/%s.schema.json"):format(lacking))))
    lacking = in_c:lacking()
  end
  was_read[name] = true
end


-- The schema of a document, by name: "results".
function document.schema(name)
  if not schemas[name] then
    read_schema(name)
    schemas[name] = in_c:value(name)
  end
  return schemas[name]
end


-- Options of json that say what is wrong with a document.
local function with_schema(name, options)
  read_schema(name)
  options.schemas, options.schema = in_c, name
  return options
end


local function keys_of(object) return getmetatable(object).__keys end


-- Names of the fields of a document, or of one of its schema's definitions, in order.
function document.fields(name, definition)
  local schema = document.schema(name)
  return keys_of((definition and schema["$defs"][definition] or schema).properties)
end


-- Of an object the fields that a definition of a schema has; without one the schema itself.
function document.record(object, name, definition)
  local made = {}
  for _, field in ipairs(document.fields(name, definition)) do made[field] = object[field] end
  return made
end


-- ---- reading ----

-- What is wrong first with a value ("$.stages[1].name: string expected, got 1"), or
-- nil. With a definition of the schema, that is what the value has to fit.
function document.check(name, value, definition)
  read_schema(name)
  return in_c:check(name, value, definition)
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
  local value, wrong, code = json.load(path, with_schema(name, {}))
  if value == nil then return nil, wrong, code end
  if wrong then return nil, ("%s: %s"):format(path, wrong), "syntax" end
  return drop_nulls(value)
end


-- ---- writing ----

local targets = {} -- by rule, what it refers to: { schema, rule }

-- The names of a document, nil for the reference's own, and of a definition, nil for all
-- of it: "results.schema.json#/$defs/rank".
function document.reference(target)
  return target:match "^([%l_]+)%.schema%.json", target:match "#/%$defs/([%w_]+)$"
end


-- What a rule refers to, and the schema that it is of.
local function resolved(schema, rule)
  if not rule["$ref"] then return schema, rule end
  local target = targets[rule]
  if not target then
    local other, definition = document.reference(rule["$ref"])
    local of = other and document.schema(other) or schema
    target = definition and { resolved(of, of["$defs"][definition]) } or { of, of }
    targets[rule] = target
  end
  return target[1], target[2]
end


local marks = {} -- by list of keys, the metatable of objects that are written so

-- Marks the tables of a value that fits a rule: lists, and objects, whose keys get an order, and
-- fields that have to be there and are not become null, where they may. One that was marked as
-- something else stays: it does not fit.
local function shape(schema, rule, value)
  schema, rule = resolved(schema, rule)
  local mark = getmetatable(value)
  if rule.type == "array" and not (mark and mark.__keys) then
    json.list(value)
    for _, item in ipairs(rule.items and value or {}) do
      if type(item) == "table" then shape(schema, rule.items, item) end
    end
  elseif rule.type == "object" and (not mark or mark.__keys) then
    local declared, others = rule.properties or {}, rule.additionalProperties
    if rule.properties then
      local keys = keys_of(declared)
      marks[keys] = marks[keys] or getmetatable(json.ordered({}, keys))
      setmetatable(value, marks[keys])
    end
    for _, name in ipairs(rule.required or {}) do
      local types = (declared[name] or {}).type
      if value[name] == nil and type(types) == "table" and table.concat(types, " "):find "null" then
        value[name] = json.null
      end
    end
    for name, item in next, value do
      local below = declared[name] or type(others) == "table" and others
      if below and type(item) == "table" then shape(schema, below, item) end
    end
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


-- The text of a document. A value that does not fit the schema raises: what writes a
-- document has to know it. compact: on one line.
function document.encode(name, value, compact)
  local schema = document.schema(name)
  if type(value) == "table" then shape(schema, schema, value) end
  local options = with_schema(name, { pretty = not compact })
  local written, wrong = json.encode(value, options)
  if not written then written, wrong = json.encode(repaired(value), options) end
  if not written then error(("%s.json: %s"):format(name, wrong), 0) end
  if wrong then error(("docs/%s.schema.json does not allow %s"):format(name, wrong), 0) end
  return written .. "\n"
end


return document
