-- The subcommands: files of lua/llmprof/cli/commands, which llmprof.cli explains.
local resources = require "llmprof.resources"

local commands = {}

local FOLDER = "lua/llmprof/cli/commands/"


-- Their names, sorted; those without a summary are not for people.
function commands.names()
  local names = {}
  for i, path in ipairs(resources.list(FOLDER)) do names[i] = path:match "([^/]+)%.lua$" end
  return names
end


function commands.has(name)
  return name:find "^%l[%l_]*$" ~= nil and resources.get(FOLDER .. name .. ".lua") ~= nil
end


function commands.load(name)
  return require("llmprof.cli.commands." .. name)
end


return commands
