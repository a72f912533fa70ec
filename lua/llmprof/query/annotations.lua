-- What editors with LuaLS know of recipes and results: the part that is written by hand
-- (completions/luals.lua), then the modules written in C, from the comments in core/lua, the
-- keys of the configuration and the fields of results.json.
local config = require "llmprof.recipe.config"
local defaults = require "llmprof.recipe.defaults"
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"
local resources = require "llmprof.resources"
local sorted_keys = require("llmprof.tables.keys").sorted

local annotations = {}

local RESULTS = "llmprof.results."


-- ---- schemas ----

local function load(name)
  return assert(json.decode(resources.get(("docs/%s.schema.json"):format(name))))
end


-- The schema of results, and by name its definitions; a schema that it refers to is a class like
-- its own.
local function load_schema()
  local schema = load "results"
  local definitions = schema["$defs"]
  for _, rule in pairs(schema.properties) do
    local other = (rule["$ref"] or ""):match "^(%l+)%.schema%.json$"
    if other then
      definitions[other] = load(other)
      for name, definition in pairs(definitions[other]["$defs"]) do
        assert(not definitions[name], name)
        definitions[name] = definition
      end
    end
  end
  return schema, definitions
end


local schema, definitions -- while text() runs


local function definition_name(reference)
  return reference:match "^(%l+)%.schema%.json$" or reference:match "[^/]+$"
end


local function quoted_choices(choices)
  return table.concat(lists.map(choices, function(choice) return ("%q"):format(choice) end), "|")
end


-- ---- configuration ----

local function config_type(declaration)
  local kind = config.type_of(declaration)
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
    local fields = lists.map(sorted_keys(rule.properties), function(name)
      return ("%s?: %s"):format(name, type_of(rule.properties[name]))
    end)
    return "{ " .. table.concat(fields, ", ") .. " }"
  end
  local values = rule.additionalProperties
  return type(values) == "table" and ("table<string, %s>"):format(type_of(values)) or "table"
end


-- What is null in a file is absent in Lua.
local function kind_of(rule)
  local kinds = rule.type
  if type(kinds) ~= "table" then return kinds end
  return #kinds == 2 and kinds[2] == "null" and kinds[1] or nil
end


function type_of(rule)
  local name = rule["$ref"] and definition_name(rule["$ref"])
  if name then
    return is_class(definitions[name]) and RESULTS .. name or type_of(definitions[name])
  end
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
  local required = lists.set(definition.required or {})
  return lists.map(sorted_keys(definition.properties), function(name)
    local rule = definition.properties[name]
    local about = rule.description
      or (rule["$ref"] and definitions[definition_name(rule["$ref"])].description) or ""
    return (("---@field %s%s %s %s"):format(name, required[name] and "" or "?", type_of(rule),
      about):gsub(" +$", ""))
  end)
end


local function results_classes()
  local classes = { ["llmprof.Results"] = class_fields(schema) }
  for name, definition in pairs(definitions) do
    if is_class(definition) then classes[RESULTS .. name] = class_fields(definition) end
  end
  return classes
end


-- ---- modules written in C ----

-- The comment of a function or method begins with its call, that of a file with the module's
-- name. Methods are of the module in whose file they are; what has no file of its own is of
-- frames.

-- The lines of a comment, without what marks it.
local function comment_lines(comment)
  local lines = {}
  for line in (comment .. "\n"):gmatch "(.-)\n" do
    lines[#lines + 1] = line:gsub("^ %*", ""):gsub("^ ", ""):gsub("%s+$", "")
  end
  return lines
end


-- Parameters as Lua names: of an option without brackets, of a table or a literal what it is.
local function parameters(call)
  local inner = call:match "^[^({]*%((.*)%)$"
  if not inner then return call:find "{" and "options" or "" end
  local list, seen = {}, {}
  inner = inner:gsub("%b{}", "columns"):gsub("[%[%]]", " "):gsub('"[^"]*"%s*|?', "value ")
  for word in inner:gmatch "[^,|=%d]+" do
    local name = word:match "^%s*([%a_][%w_]*)" or word:match "%.%.%." or nil
    name = ({ ["end"] = "to", ["function"] = "f" })[name] or name
    if name and not seen[name] then list[#list + 1], seen[name] = name, true end
  end
  return table.concat(list, ", ")
end


-- The call that a line begins with: object, "." or ":", name, and all of it with what it takes.
local function call_of(line)
  local object, dot, name, at = line:match "^([%l_%d]+)([.:])([%l_%d]+)%s?()[({:]"
  if not object or object == "llmprof" then return nil end
  local taken = line:match("^%b()", at) or line:match("^%b{}", at) or line:match("^%(.*", at) or ""
  return { object = object, dot = dot, name = name, is_field = line:sub(at, at) == ":",
    call = line:sub(1, at - 1) .. taken }
end


-- Adds what a comment says of functions and methods; returns the lines before the first.
local function read_comment(into, comment)
  local about, last = {}, nil
  for _, line in ipairs(comment_lines(comment)) do
    local call = call_of(line)
    if call then
      into[#into + 1], last = call, call
      call.text = { line }
    else
      table.insert(last and last.text or about, line)
    end
  end
  return about
end


-- Of all files: what their comments say of functions and methods, by the name of the file, and
-- of modules, by theirs.
local function read_files()
  local found, about = {}, {}
  for base, text in resources.get("core/lua/comments"):gmatch "\ffile %S-([^/%s]+)%.c\n([^\f]*)" do
    found[base] = {}
    for comment in text:gmatch "/%*(.-)%*/" do
      local lines = read_comment(found[base], comment)
      local named = lines[1] and lines[1]:match "^llmprof%.([%l_]+): "
      if named then
        lines[1] = lines[1]:gsub("^llmprof%.[%l_]+: ", "")
        while lines[#lines] == "" do lines[#lines] = nil end
        about[named] = lines
      end
    end
  end
  return found, about
end


-- By name the modules that are written in C: { about, entries }. about: lines; an entry: { object,
-- dot ("." or ":"), name, call, is_field, text (lines) }.
function annotations.modules()
  local found, about = read_files()
  local modules = {}
  for name, lines in pairs(about) do modules[name] = { about = lines, entries = {} } end
  for _, base in ipairs(sorted_keys(found)) do
    local own = modules[base] and base or "frame"
    for _, entry in ipairs(found[base]) do
      local module = modules[entry.dot == "." and entry.object or own]
      if module then table.insert(module.entries, entry) end
    end
  end
  return modules
end


local function add_doc(out, lines)
  lists.add(out, lists.map(lines, function(line) return "---" .. line end))
end


local function add_entry(out, entry, classes, prefix)
  add_doc(out, entry.text)
  if entry.is_field then
    out[#out + 1] = ("%s.%s = nil"):format(entry.object, entry.name)
    return
  end
  local whole = table.concat(entry.text, " ") -- a call may have its parameters on several lines
  local returned = whole:match "%-> ([%l_]+)"
  if classes[returned] then
    out[#out + 1] = ("---@return %s.%s?"):format(prefix, returned)
  end
  out[#out + 1] = ("function %s%s%s(%s) end"):format(entry.object, entry.dot, entry.name,
    parameters(whole:match("^[^({]*%b()") or whole:match("^[^({]*%b{}") or entry.call))
end


-- A module: its functions, then the methods of what they give, by object.
local function module_text(name, module)
  local prefix, out = "llmprof." .. name, { "do" }
  add_doc(out, module.about)
  out[#out + 1] = ("---@class %s\nlocal %s = {}"):format(prefix, name)
  local methods, functions = lists.parted(module.entries, function(entry)
    return entry.dot == ":"
  end)
  local objects, classes = lists.grouped(methods, "object")
  for _, entry in ipairs(functions) do add_entry(out, entry, classes, prefix) end
  for _, entries in ipairs(objects) do
    local object = entries[1].object
    out[#out + 1] = ("---@class %s.%s\nlocal %s = {}"):format(prefix, object, object)
    for _, entry in ipairs(entries) do add_entry(out, entry, classes, prefix) end
  end
  out[#out + 1] = "end\n"
  return table.concat(out, "\n")
end


local function text_of(...)
  local out = {}
  for _, classes in ipairs { ... } do
    for _, name in ipairs(sorted_keys(classes)) do
      out[#out + 1] = ("---@class %s\n%s\n"):format(name, table.concat(classes[name], "\n"))
    end
  end
  return table.concat(out, "\n")
end


function annotations.text()
  schema, definitions = load_schema()
  local modules = annotations.modules()
  local out = lists.map(sorted_keys(modules), function(name)
    return module_text(name, modules[name])
  end)
  return resources.get "completions/luals.lua" .. "\n" .. table.concat(out, "\n") .. "\n"
    .. text_of(config_classes(), results_classes()) .. "\nreturn recipe\n"
end


return annotations
