-- What a user has set for every run: $XDG_CONFIG_HOME/llmprof/config.yaml, with keys of
-- llmprof's own. It is above the presets and below recipe, mode, --config and command line.
local defaults = require "llmprof.recipe.defaults"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local keys = require "llmprof.tables.keys"
local lazy = require "llmprof.io.lazy"
local files = require "llmprof.io.files"
local yaml = lazy "llmprof.yaml"

local user = {}

local FILE = "config.yaml"

-- The default of a --root option: where this user keeps runs.
user.root_option = { "root", arg = "DIR", default = function() return user.root() end,
  help = "where runs are kept" }


-- Where it lies or would lie; nil without a home.
local function file()
  local folder = files.folder "config"
  return folder and folder .. "/" .. FILE
end


-- Keys of a recipe would be unknown to every other one.
local function check_keys(tree, path, prefix)
  for _, name in ipairs(keys.sorted(tree)) do
    local key = prefix .. tostring(name)
    local value = tree[name]
    if not defaults[key] and type(value) == "table" and keys.has_group(defaults, key) then
      check_keys(value, path, key .. ".")
    elseif not (defaults[key] or defaults[key .. ".preset"] or defaults[key .. ".by"]) then
      errors.raise("usage", ("%s: no key '%s' of llmprof's own%s"):format(path, key,
        keys.suggestion(key, keys.sorted(defaults))),
        { hint = "a recipe's keys go on the command line or into a file for --config" })
    end
  end
end


local function read(path)
  local contents = errors.check_as("usage", fs.read(path))
  local tree = errors.check_as("usage", yaml.decode(contents, { name = path }))
  if tree == yaml.null then return {} end
  if type(tree) ~= "table" or tree[1] ~= nil then
    errors.raise("usage", path .. ": a table of keys is expected")
  end
  check_keys(tree, path, "")
  return tree
end


-- The settings as a tree and the path of their file; {} and nil without such a file.
function user.settings()
  local path = file()
  if not (path and fs.stat(path)) then return {}, nil end
  return read(path), path
end


-- What is set for the key GROUP.NAME, else its default. what: what it is to be, which fits(value)
-- tells.
local function value_of(group, name, what, fits)
  local tree, key = user.settings(), ("%s.%s"):format(group, name)
  local value = type(tree[group]) == "table" and tree[group][name] or tree[key]
  if value == nil or value == yaml.null then return defaults[key][2] end
  if fits(value) then return value end
  return errors.raise("usage", ("%s: %s is expected"):format(key, what),
    { hint = "it is set in " .. file() })
end


-- Where this user's runs are kept, unless a command line says otherwise.
function user.root()
  return value_of("run", "root", "the name of a folder", function(root)
    return type(root) == "string" and root ~= ""
  end)
end


-- By how many percent single runs of the same thing are taken to differ.
function user.assumed()
  return value_of("compare", "assumed", "a number of percent", function(percent)
    return type(percent) == "number" and percent >= 0
  end)
end


-- Bytes that may be kept of traces that were read, or nil.
function user.cache_bytes()
  return value_of("cache", "bytes", "a number of bytes", function(bytes)
    return math.type(bytes) == "integer" and bytes >= 0
  end)
end


return user
