-- The Lua modules of a folder of lua/llmprof: those built in and those in
-- $LLMPROF_HOME, where `require` finds them too.
local files = require "llmprof.io.files"

local modules = {}


-- Names without "init", sorted: modules.names "engines" -> { "dynamo", ... }
function modules.names(folder)
  local names = {}
  for _, name in ipairs(files.own_names("lua/llmprof/" .. folder, ".lua")) do
    if name ~= "init" and name:find "^[%w_]+$" then names[#names + 1] = name end
  end
  return names
end


return modules
