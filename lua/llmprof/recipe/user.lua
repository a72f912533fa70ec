-- What a user has set for every run: $XDG_CONFIG_HOME/llmprof/config.yaml, with keys of
-- llmprof's own. It is above the presets and below recipe, mode, --config and command line.
local defaults = require "llmprof.recipe.defaults"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local keys = require "llmprof.tables.keys"
local lazy = require "llmprof.io.lazy"
local files = require "llmprof.io.files"
local settings = require "llmprof.recipe.settings"
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


-- The settings as a tree and the path of their file; {} and nil without such a file.
function user.settings()
  local path = file()
  if not (path and fs.stat(path)) then return {}, nil end
  local tree = settings.decode(errors.check_as("usage", fs.read(path)), path)
  check_keys(tree, path, "")
  return tree, path
end


-- What is set for a key; its default where nothing is, or an empty text.
function user.value(key)
  local tree, path = user.settings()
  local value = keys.at(tree, key)
  if value == nil then value = tree[key] end
  if value == nil or value == "" or value == yaml.null then return defaults[key][2] end
  return settings.check(key, defaults[key], value, path)
end


-- Where this user's runs are kept, unless a command line says otherwise.
function user.root() return user.value "run.root" end


return user
