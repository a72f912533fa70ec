-- Libraries of ours, which lie beside the program, as it is installed or built.
local fs = require "llmprof.fs"
local sys = require "llmprof.sys"

local libraries = {}

local FOLDERS = { "/../lib/llmprof/", "/../lib/", "/" }


-- The absolute path of a library, or nil and what was looked for. given: a path that the
-- user named; then nothing else is tried.
function libraries.find(name, given)
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


return libraries
