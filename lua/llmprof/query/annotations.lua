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

local PREFIX = "llmprof."


local function quoted_choices(choices)
  return table.concat(lists.map(choices, function(choice) return ("%q"):format(choice) end), "|")
end


-- ---- fields of a JSON file ----

local function load(name)
  local text = assert(resources.get(("docs/%s.schema.json"):format(name)))
  return assert(json.decode(text, { ordered = true }))
end


local function keys_of(map) return map and getmetatable(map).__keys or {} end


local LUA_TYPES = { object = "table", array = "any[]" }

-- Of what has no parts; what is null in a file is absent in Lua.
local function scalar_type(rule)
  if rule.enum then return quoted_choices(rule.enum) end
  if rule.const ~= nil then return ("%q"):format(rule.const) end
  local kinds = type(rule.type) == "table" and rule.type or { rule.type or "any" }
  return table.concat(lists.map(kinds, function(kind)
    return kind ~= "null" and (LUA_TYPES[kind] or kind) or nil
  end), "|")
end


-- What docs/NAME.schema.json says as classes, that of the file first: list of { name, about,
-- fields: list of { name, type, required, about } }. An object in a field is a class that is
-- called as the way to it. prefix: before the names of classes; others: gets the names of other
-- files that it refers to.
function annotations.classes(name, prefix, others)
  local schema, list, add_class = load(name), {}, nil

  local function type_of(rule, path)
    local target = rule["$ref"]
    local other, below = (target or ""):match "^(%l+)%.schema%.json(.*)$"
    local own = target and target:match "/([^/]+)$"
    if other then
      others[#others + 1] = other
      local description = below == "" and load(other).description
      return prefix .. other .. (own and "." .. own or ""), description or nil
    elseif target then
      local definition = schema["$defs"][own]
      return definition.properties and prefix .. name .. "." .. own or type_of(definition, path),
        definition.description
    elseif rule.properties then
      add_class(path, rule)
      return prefix .. path
    elseif type(rule.additionalProperties) == "table" then
      return ("table<string, %s>"):format((type_of(rule.additionalProperties, path)))
    elseif rule.items then
      local item = type_of(rule.items, path)
      return (item:find "|" and "(" .. item .. ")" or item) .. "[]"
    end
    return scalar_type(rule)
  end

  function add_class(path, rule)
    local class = { name = path, about = rule.description }
    local required = lists.set(rule.required or {})
    list[#list + 1] = class
    class.fields = lists.map(keys_of(rule.properties), function(field)
      local own = rule.properties[field]
      local kind, about = type_of(own, path .. "." .. field)
      return { name = field, type = kind, required = required[field],
        about = own.description or about }
    end)
  end

  add_class(name, schema)
  for _, own in ipairs(keys_of(schema["$defs"])) do
    local rule = schema["$defs"][own]
    if rule.properties then add_class(name .. "." .. own, rule) end
  end
  return list
end


-- ---- configuration ----

local function config_type(declaration)
  local kind = config.type_of(declaration)
  if declaration.choices and kind == "string" then return quoted_choices(declaration.choices) end
  return ({ list = "string[]", float = "number" })[kind] or kind
end


-- "Config" and the classes of its groups, as of annotations.classes.
local function config_classes()
  local list, by_name = {}, {}
  local function add(class, name, kind, required, about)
    table.insert(lists.entry(list, by_name, class, { name = class, fields = {} }).fields,
      { name = name, type = kind, required = required, about = about })
  end
  for _, key in ipairs(sorted_keys(defaults)) do
    local declaration = defaults[key]
    local group, name = key:match "^([^.]+)%.(.+)$"
    local class = group and "Config." .. group or "Config"
    if not by_name[class] and group then
      add("Config", group, PREFIX .. class, true, "Keys " .. group .. ".*")
    end
    add(class, name or key, config_type(declaration), declaration[2] ~= nil, declaration[1])
  end
  add("Config.run", "dir", "string", true,
    "The run's folder, for `workload`; no key that can be set")
  -- the recipe's own keys, whose names are not known here
  add("Config", "[string]", "any", true, "Keys of the recipe's own")
  return list
end


-- ---- modules written in C ----

-- The comment of a function or method begins with its call, that of a file with the module's
-- name. Methods are of the module in whose file they are; what has no file of its own is of
-- frames.

-- Adds what a comment says of functions and methods; returns the lines before the first.
local function read_comment(into, comment)
  local about, last = {}, nil
  for marked in (comment .. "\n"):gmatch "(.-)\n" do
    local line = marked:gsub("^ %*", ""):gsub("^ ", ""):gsub("%s+$", "")
    local object, dot, name, at = line:match "^([%l_%d]+)([.:])([%l_%d]+)%s?()[({:]"
    if object and object ~= "llmprof" then -- a call
      last = { object = object, dot = dot, name = name, is_field = line:sub(at, at) == ":",
        text = { line } }
      into[#into + 1] = last
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
-- dot ("." or ":"), name, is_field, text (lines) }.
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


-- A module as classes: its own, and those of what it gives, by object.
local function module_classes(name, module)
  local _, objects = lists.grouped(module.entries, function(entry)
    return entry.dot == ":" and entry.object or name
  end)
  objects[name] = objects[name] or {}
  local function class_of(object) return object == name and name or name .. "." .. object end
  return lists.map(sorted_keys(objects), function(object)
    return { name = class_of(object), doc = object == name and module.about,
      fields = lists.map(objects[object], function(entry)
        local returned = table.concat(entry.text, " "):match "%-> ([%l_]+)"
        local gives = objects[returned] and (": %s%s?"):format(PREFIX, class_of(returned)) or ""
        return { name = entry.name, type = entry.is_field and "any" or "fun(...)" .. gives,
          required = true, doc = entry.text }
      end) }
  end)
end


-- The lines of an editor's comment; none without.
local function doc_text(lines)
  return table.concat(lists.map(lines or {}, function(line) return "---" .. line .. "\n" end))
end


local function class_text(class)
  return ("%s---@class %s%s\n%s"):format(doc_text(class.doc), PREFIX, class.name,
    table.concat(lists.map(class.fields, function(field)
      return ("%s---@field %s%s %s%s\n"):format(doc_text(field.doc), field.name,
        field.required and "" or "?", field.type, field.about and " " .. field.about or "")
    end)))
end


function annotations.text()
  local modules = annotations.modules()
  local of_modules = lists.flat(sorted_keys(modules), function(name)
    return module_classes(name, modules[name])
  end)
  local classes = lists.joined(of_modules, config_classes(),
    { { name = "Results: llmprof.results", fields = {} } })
  local names = { "results" }
  for _, name in ipairs(names) do -- grows
    lists.add(classes, annotations.classes(name, PREFIX, names))
  end
  return resources.get "completions/luals.lua" .. "\n"
    .. table.concat(lists.map(classes, class_text), "\n") .. "\nreturn recipe\n"
end


return annotations
