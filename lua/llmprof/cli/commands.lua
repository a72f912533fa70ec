-- The subcommands: files of lua/llmprof/cli/commands, which llmprof.cli explains.
local files = require "llmprof.io.files"

local commands = {}


-- Their names, sorted; those without a summary are not for people.
function commands.names()
  return files.module_names "cli/commands"
end


function commands.has(name)
  for _, known in ipairs(commands.names()) do
    if known == name then return true end
  end
  return false
end


function commands.load(name)
  return require("llmprof.cli.commands." .. name)
end


return commands
