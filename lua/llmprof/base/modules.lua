-- The Lua modules of a folder of lua/llmprof: those built in and those in
-- $LLMPROF_HOME, where `require` finds them too.
local fs = require "llmprof.fs"
local resources = require "llmprof.resources"
local sorted_keys = require "llmprof.base.sorted_keys"

local modules = {}


-- Names without "init", sorted: modules.names "engines" -> { "dynamo", ... }
function modules.names(room)
  local folder = ("lua/llmprof/%s/"):format(room)
  local home, paths = os.getenv "LLMPROF_HOME", resources.list(folder)
  for _, file in ipairs(home and fs.list(home .. "/" .. folder) or {}) do
    paths[#paths + 1] = folder .. file
  end
  local found = {}
  for _, path in ipairs(paths) do
    local name = path:sub(#folder + 1):match "^([%w_]+)%.lua$"
    if name and name ~= "init" then found[name] = true end
  end
  return sorted_keys(found)
end


return modules
