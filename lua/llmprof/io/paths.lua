-- The folders of the XDG base directories.
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local sys = require "llmprof.sys"

local paths = {}

local kinds = {
  config = { variable = "XDG_CONFIG_HOME", below_home = "/.config" },
  cache = { variable = "XDG_CACHE_HOME", below_home = "/.cache" },
  state = { variable = "XDG_STATE_HOME", below_home = "/.local/state" },
}


local function absolute(path)
  return path and path:sub(1, 1) == "/" and path or nil
end


-- llmprof's folder for "config", "cache" or "state", which need not exist: in that of the
-- variable, which counts if it is absolute, or of the home; nil without either.
function paths.folder(kind)
  local place = kinds[kind]
  local home = absolute(os.getenv "HOME")
  local base = absolute(os.getenv(place.variable)) or (home and home .. place.below_home)
  return base and base .. "/llmprof"
end


-- ---- what is in a folder ----

-- What is in a folder, sorted; nothing where there is no folder. One that is there and
-- cannot be looked into raises, so that nothing is taken for absent. hint: optional.
function paths.names(path, hint)
  local names, message, code = fs.list(path)
  if names then return names end
  if code == "notfound" then return {} end
  return errors.raise("failed", message, { hint = hint })
end


-- ---- libraries ----

local FOLDERS = { "/../lib/llmprof/", "/../lib/", "/" }


-- The absolute path of a library, or nil and what was looked for. given: a path that the
-- user named; then nothing else is tried.
function paths.library(name, given)
  if given then
    local path = fs.realpath(given)
    return path, not path and given .. ": not there" or nil
  end
  local folder = (sys.executable() or ""):match "^(.*)/[^/]*$" or "."
  for _, place in ipairs(FOLDERS) do
    local path = fs.realpath(folder .. place .. name)
    if path then return path end
  end
  return nil, name .. " was not found beside the program"
end


return paths
