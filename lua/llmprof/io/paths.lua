-- The folders of the XDG base directories.
local xdg = {}

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
function xdg.folder(kind)
  local place = kinds[kind]
  local home = absolute(os.getenv "HOME")
  local base = absolute(os.getenv(place.variable)) or (home and home .. place.below_home)
  return base and base .. "/llmprof"
end


return xdg
