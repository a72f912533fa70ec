-- What a user has set for every run: $XDG_CONFIG_HOME/llmprof/config.yaml, with keys of
-- llmprof's own. It is above the presets and below recipe, mode, --config and command line.
local defaults = require "llmprof.recipe.defaults"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local has_group = require("llmprof.tables.keys").has_group
local lazy = require "llmprof.io.lazy"
local nearest = require "llmprof.tables.keys"
local sorted_keys = require("llmprof.tables.keys").sorted
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
  for _, name in ipairs(sorted_keys(tree)) do
    local key = prefix .. tostring(name)
    local value = tree[name]
    if not defaults[key] and type(value) == "table" and has_group(defaults, key) then
      check_keys(value, path, key .. ".")
    elseif not (defaults[key] or defaults[key .. ".preset"] or defaults[key .. ".by"]) then
      errors.raise("usage", ("%s: no key '%s' of llmprof's own%s"):format(path, key,
        nearest.suggestion(key, sorted_keys(defaults))),
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


-- What was read last: path, mtime_ns and size of the file, and the tree.
local last = {}

-- The settings as a tree, which stays as it is, and the path of their file; {} and nil
-- without such a file. It is read once while it does not change.
function user.settings()
  local path = file()
  local info = path and fs.stat(path)
  if not info then return {}, nil end
  if last.path ~= path or last.mtime_ns ~= info.mtime_ns or last.size ~= info.size then
    last = { path = path, mtime_ns = info.mtime_ns, size = info.size, tree = read(path) }
  end
  return last.tree, path
end


-- What is set for the key "GROUP.NAME", or nil.
local function setting(group, name)
  local tree = user.settings()
  local value = type(tree[group]) == "table" and tree[group][name] or tree[group .. "." .. name]
  if value == yaml.null then return nil end
  return value
end


local function refuse(key, what)
  errors.raise("usage", ("%s: %s is expected"):format(key, what),
    { hint = "it is set in " .. file() })
end


-- Where this user's runs are kept, unless a command line says otherwise.
function user.root()
  local root = setting("run", "root")
  if root == nil then return defaults["run.root"][2] end
  if type(root) ~= "string" or root == "" then refuse("run.root", "the name of a folder") end
  return root
end


-- By how many percent single runs of the same thing are taken to differ.
function user.assumed()
  local percent = setting("compare", "assumed")
  if percent == nil then return defaults["compare.assumed"][2] end
  if type(percent) ~= "number" or percent < 0 then
    refuse("compare.assumed", "a number of percent")
  end
  return percent
end


-- Bytes that may be kept of traces that were read, or nil.
function user.cache_bytes()
  local bytes = setting("cache", "bytes")
  if bytes ~= nil and (math.type(bytes) ~= "integer" or bytes < 0) then
    refuse("cache.bytes", "a number of bytes")
  end
  return bytes
end


return user
