-- The subcommands: files of lua/llmprof/cli/commands, which llmprof.cli explains.
local files = require "llmprof.io.files"
local options = require "llmprof.cli.options"
local sys = require "llmprof.sys"
local out = require "llmprof.io.output"

local commands = {}

local HELP_OPTION = { "help", short = "h", help = "this text" }


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


-- The options of a command, --help included.
function commands.options_of(command)
  local extended = table.move(command.options or {}, 1, #(command.options or {}), 1, {})
  extended[#extended + 1] = HELP_OPTION
  return extended
end


-- Text for standard output, at the width of a terminal if that is one.
function commands.fit(said)
  return out.wrap(said, sys.isatty(1) and sys.columns() or nil)
end


-- What a command does and takes; words: those of its command line.
function commands.help_of(command, words)
  if command.help then return commands.fit(command.help(words)) end
  local about = "usage: llmprof " .. command.usage .. "\n"
  if command.summary then about = about .. "\n" .. command.summary .. "\n" end
  if command.details then about = about .. "\n" .. command.details .. "\n" end
  return commands.fit(about .. "\noptions:\n" .. options.help(commands.options_of(command)))
end


return commands
