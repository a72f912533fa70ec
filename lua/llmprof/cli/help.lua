-- The texts of --help, from what commands and options declare.
local commands = require "llmprof.cli.commands"
local manual = require "llmprof.query.manual"
local options = require "llmprof.cli.options"

local help = {}

local general = [[
usage: llmprof RECIPE.lua [KEY=VALUE...]   profile a workload, write the bundle
       llmprof TRACE... [OPTION...]        report a trace, or a folder of them
       llmprof COMMAND [OPTION...]
       llmprof -e CODE [FILE...]           ask a run or a trace, as `repl` does

A first look, which needs no GPU: llmprof deepseek_ocr capture=recorded

commands:
%s
topics of `llmprof help TOPIC`: %s.

`llmprof COMMAND --help` says more; `llmprof RECIPE.lua --help` lists what a
recipe lets you set. Exit status: 0 done, 1 the workload or a step failed,
2 usage or recipe error, 3 a tool is missing, 4 nothing was captured,
5 a comparison broke its limits, 6 it may have, 130 interrupted; `llmprof collect` ends as its
program does. With --json-errors an error is a line of JSON: error, hint, exit,
kind, detail. -j N is how many threads read and write traces; as many as there
are processors unless it is said. With --no-cache what was kept of traces is
neither used nor added to.
]]

local help_option = { "help", short = "h", help = "this text" }


-- Topics in lines that a terminal holds, those after the first indented.
local function topic_list()
  local lines, width = { "" }, 31
  for i, topic in ipairs(manual.topics()) do
    local word = (i > 1 and ", " or "") .. topic.name
    if width + #word > 78 then
      lines[#lines] = lines[#lines] .. ","
      lines[#lines + 1], width = "  " .. topic.name, 2 + #topic.name
    else
      lines[#lines], width = lines[#lines] .. word, width + #word
    end
  end
  return table.concat(lines, "\n")
end


-- Commands, topics and exit statuses.
function help.general()
  local lines = {}
  for _, name in ipairs(commands.names()) do
    local command = commands.load(name)
    if command.summary then lines[#lines + 1] = ("  %-10s  %s\n"):format(name, command.summary) end
  end
  return general:format(table.concat(lines), topic_list())
end


-- The options of a command, --help included.
function help.options(command)
  local extended = table.move(command.options or {}, 1, #(command.options or {}), 1, {})
  extended[#extended + 1] = help_option
  return extended
end


-- What a command does and takes; words: those of its command line.
function help.of_command(command, words)
  if command.help then return command.help(words) end
  local about = "usage: llmprof " .. command.usage .. "\n"
  if command.summary then about = about .. "\n" .. command.summary .. "\n" end
  if command.details then about = about .. "\n" .. command.details .. "\n" end
  return about .. "\noptions:\n" .. options.help(help.options(command))
end


return help
