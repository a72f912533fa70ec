-- The subcommands: files of lua/llmprof/cli/commands, which llmprof.cli explains.
local files = require "llmprof.io.files"
local lists = require "llmprof.tables.lists"
local options = require "llmprof.cli.options"
local out = require "llmprof.io.output"

local commands = {}

local HELP_OPTION = { "help", short = "h", help = "this text" }


-- Their names, sorted.
function commands.names() return files.module_names "cli/commands" end


function commands.has(name) return lists.has(commands.names(), name) end


function commands.load(name) return require("llmprof.cli.commands." .. name) end


-- What a command is for, in a line; false of one that help does not list.
function commands.summary(name) return commands.load(name).summary end


-- The options of a command, --help included.
function commands.options_of(command)
  return lists.joined(command.options or {}, { HELP_OPTION })
end


-- Text for standard output, at the width of a terminal if that is one.
function commands.fit(said) return out.wrap(said, out.columns(1)) end


-- What a command does and takes; words: those of its command line.
function commands.help_of(command, words)
  if command.help then return commands.fit(command.help(words)) end
  local about = "usage: llmprof " .. command.usage .. "\n"
  if command.summary then about = about .. "\n" .. command.summary .. "\n" end
  if command.details then about = about .. "\n" .. command.details .. "\n" end
  return commands.fit(about .. "\noptions:\n" .. options.help(commands.options_of(command)))
end


return commands
