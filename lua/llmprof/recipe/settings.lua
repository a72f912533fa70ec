-- What a value of a configuration key has to be, by its declaration (llmprof.recipe.defaults), and
-- files of such values.
local errors = require "llmprof.process.errors"
local keys = require "llmprof.tables.keys"
local lazy = require "llmprof.io.lazy"
local lists = require "llmprof.tables.lists"
local yaml = lazy "llmprof.yaml"

local settings = {}

local function bad(message) errors.raise("usage", message) end


local function is_list(value)
  return type(value) == "table" and (#value > 0 or next(value) == nil)
end


-- The type of a key: "string", "boolean", "integer", "float" or "list".
function settings.type_of(declaration)
  local default = declaration[2]
  return declaration.type or is_list(default) and "list" or math.type(default) or type(default)
end


local wanted = {
  string = "text", integer = "a whole number", float = "a number", boolean = "true or false",
  list = "a list: [a,b]",
}

local function fits(value, kind)
  if kind == "list" then return is_list(value) end
  if kind == "integer" then return math.type(value) == "integer" end
  if kind == "float" then return type(value) == "number" and value - value == 0 end -- finite
  return type(value) == kind
end


local function in_words(value)
  return type(value) == "table" and "a table" or ("'%s'"):format(tostring(value))
end


-- Refuse what is no value of a key; a single one may stand for a list of it. Returns it.
function settings.check(key, declaration, value, where)
  local kind, choices, at = settings.type_of(declaration), declaration.choices, where .. ": " .. key
  if declaration.one and type(value) ~= "table" then value = { value } end
  if not fits(value, kind) then
    bad(("%s: %s is expected, not %s"):format(at, wanted[kind], in_words(value)))
  end
  for _, item in ipairs(not choices and {} or kind == "list" and value or { value }) do
    if not lists.has(choices, item) then
      bad(("%s: %s is not one of %s%s"):format(at, in_words(item), table.concat(choices, ", "),
        keys.suggestion(tostring(item), choices)))
    end
  end
  local low, high = declaration.min, declaration.max
  if (low and value < low) or (high and value > high) then
    bad(("%s: %s is not %s"):format(at, tostring(value),
      low and high and ("between %s and %s"):format(low, high)
      or low and ("%s or more"):format(low) or ("%s or less"):format(high)))
  end
  return value
end


-- ---- files ----

function settings.check_tree(tree, where)
  if type(tree) ~= "table" or is_list(tree) and next(tree) ~= nil then
    bad(("%s: a table of keys is expected"):format(where))
  end
end


-- The tree that a file of keys holds.
function settings.decode(contents, where)
  local tree = errors.check_as("usage", yaml.decode(contents, { name = where }))
  if tree == yaml.null then tree = {} end
  settings.check_tree(tree, where)
  return tree
end


return settings
