-- The subcommands: files of lua/llmprof/cli/commands, which llmprof.cli explains.
local lazy = require "llmprof.io.lazy"
local files = require "llmprof.io.files"
local manual = require "llmprof.query.manual"
local options = require "llmprof.cli.options"
local sections = lazy "llmprof.report.sections"
local sorted_keys = require("llmprof.tables.keys").sorted
local text = require "llmprof.text"

local commands = {}

-- ---- the commands ----

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


-- ---- help ----

-- The texts of --help, from what commands and options declare.

local GENERAL = [[
usage: llmprof RECIPE.lua [KEY=VALUE...]   profile a workload, write the bundle
       llmprof TRACE... [OPTION...]        report a trace, or a folder of them
       llmprof COMMAND [OPTION...]
       llmprof -e CODE [FILE...]           ask a run or a trace, as `repl` does

A first look, which needs no GPU: llmprof deepseek_ocr capture=recorded

commands:
%s
topics of `llmprof help TOPIC`: %s;
any other WORD is looked for in all of it.

`llmprof COMMAND --help` says more; `llmprof RECIPE.lua --help` lists what a
recipe lets you set. Exit status: 0 done, 1 the workload or a step failed,
2 usage or recipe error, 3 a tool is missing, 4 nothing was captured,
5 a comparison broke its limits, 6 it may have, 130 interrupted; `llmprof collect` ends as its
program does. With --json-errors an error is a line of JSON: error, hint, exit,
kind, detail. -j N is how many threads read and write traces; as many as there
are processors unless it is said. With --no-cache what was kept of traces is
neither used nor added to.
]]

local HELP_OPTION = { "help", short = "h", help = "this text" }


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
function commands.general_help()
  local lines = {}
  for _, name in ipairs(commands.names()) do
    local command = commands.load(name)
    if command.summary then lines[#lines + 1] = ("  %-10s  %s\n"):format(name, command.summary) end
  end
  return GENERAL:format(table.concat(lines), topic_list())
end


-- The options of a command, --help included.
function commands.options_of(command)
  local extended = table.move(command.options or {}, 1, #(command.options or {}), 1, {})
  extended[#extended + 1] = HELP_OPTION
  return extended
end


-- What a command does and takes; words: those of its command line.
function commands.help_of(command, words)
  if command.help then return command.help(words) end
  local about = "usage: llmprof " .. command.usage .. "\n"
  if command.summary then about = about .. "\n" .. command.summary .. "\n" end
  if command.details then about = about .. "\n" .. command.details .. "\n" end
  return about .. "\noptions:\n" .. options.help(commands.options_of(command))
end


-- ---- looking for a word ----

local FOUND, PROSE = 8, 80 -- entries of a kind, columns

-- Does any of these texts hold the word, whatever its case?
local function holds(word, ...)
  for _, said in ipairs { ... } do
    if said:lower():find(word, 1, true) then return true end
  end
  return false
end


-- The text of an option that has the word, or nil.
local function option_with(word, command)
  for _, option in ipairs(command.options or {}) do
    if holds(word, option[1], option.help or "") then
      return ("--%s: %s"):format(option[1], option.help)
    end
  end
end


local function commands_with(word)
  local list = {}
  for _, name in ipairs(commands.names()) do
    local command = commands.load(name)
    if command.summary then
      local option = option_with(word, command)
      local said = command.details or ""
      if holds(word, name, command.summary) or not option and holds(word, said) then
        list[#list + 1] = { name, command.summary }
      elseif option then
        list[#list + 1] = { name, option }
      end
    end
  end
  return list
end


-- Pages, each with the heading under which the word stands first, those that have most of it
-- first. Those that are tables of what is listed by itself are left out.
local function topics_with(word)
  local list = {}
  for _, topic in ipairs(manual.topics()) do
    local count, heading, first = 0, topic.title, nil
    for line in (topic.path and manual.page(topic.name) or ""):gmatch "[^\n]+" do
      heading = line:match "^#+ (.*)" or heading
      if holds(word, line) then count, first = count + 1, first or heading end
    end
    if count > 0 then
      list[#list + 1] = { topic.name, ("%d line%s, first under \"%s\""):format(count,
        count == 1 and "" or "s", first), count = count }
    end
  end
  table.sort(list, function(a, b)
    if a.count ~= b.count then return a.count > b.count end
    return a[1] < b[1]
  end)
  return list
end


local function columns_with(word)
  local list, seen = {}, {}
  for _, part in ipairs(require "llmprof.report.meanings") do
    for _, row in ipairs(part) do
      if holds(word, row[1], row[3], row[4] or "") and not seen[row[1] .. row[3]] then
        seen[row[1] .. row[3]] = true
        list[#list + 1] = { row[1], (row[3] ~= "" and row[3] .. " " or "")
          .. ("(%s)"):format(part.title) }
      end
    end
  end
  return list
end


local function keys_with(word)
  local list, defaults = {}, require "llmprof.recipe.defaults"
  for _, key in ipairs(sorted_keys(defaults)) do
    if holds(word, key, defaults[key][1]) then list[#list + 1] = { key, defaults[key][1] } end
  end
  return list
end


local function sections_with(word)
  local list = {}
  for _, section in ipairs(sections.all()) do
    if holds(word, section.name, section.title) then
      list[#list + 1] = { section.name, section.title }
    end
  end
  return list
end


local kinds = { { "commands", commands_with }, { "tables of llmprof show", sections_with },
  { "columns", columns_with }, { "configuration keys", keys_with },
  { "topics of llmprof help", topics_with } }

local function entry_lines(entry, width)
  local indent = "\n" .. (" "):rep(width + 4)
  return ("  %s  %s\n"):format(text.pad(entry[1], width),
    table.concat(text.wrap(entry[2], PROSE - width - 4), indent))
end


-- What mentions a word: commands, tables, columns, keys, topics; nil where nothing does.
function commands.search(word)
  local pieces = {}
  for _, kind in ipairs(kinds) do
    local list, width = kind[2](word:lower()), 0
    for i = 1, math.min(#list, FOUND) do width = math.max(width, text.width(list[i][1])) end
    if #list > 0 then pieces[#pieces + 1] = ("%s:\n"):format(kind[1]) end
    for i = 1, math.min(#list, FOUND) do
      pieces[#pieces + 1] = entry_lines(list[i], math.min(width, 30))
    end
    if #list > FOUND then pieces[#pieces + 1] = ("  and %d more\n"):format(#list - FOUND) end
  end
  return #pieces > 0 and table.concat(pieces) or nil
end


return commands
