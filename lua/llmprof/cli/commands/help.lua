-- llmprof help [TOPIC]: the commands, one of them, or a page of the manual.
local lazy = require "llmprof.io.lazy"
local commands = require "llmprof.cli.commands"
local errors = require "llmprof.process.errors"
local nearest = require "llmprof.tables.keys"
local lists = require "llmprof.tables.lists"
local out = require "llmprof.io.output"
local plain = lazy "llmprof.report.plain"
local reference = lazy "llmprof.query.reference"
local sections = lazy "llmprof.report.sections"
local sorted_keys = require("llmprof.tables.keys").sorted
local text = require "llmprof.text"

local GENERAL = [[
usage: llmprof RECIPE.lua [KEY=VALUE...]   profile a workload, write the bundle
       llmprof TRACE... [OPTION...]        report a trace, or a folder of them
       llmprof COMMAND [OPTION...]
       llmprof -e CODE [FILE...]           ask a run or a trace, as `repl` does

A first look, which needs no GPU: llmprof deepseek_ocr capture=recorded

commands:
%s
topics of `llmprof help TOPIC`:
  %s;
any other WORD... is looked for in all of it.

`llmprof COMMAND --help` says more; `llmprof RECIPE.lua --help` lists what a
recipe lets you set. Exit status: 0 done, 1 the workload or a step failed,
2 usage or recipe error, 3 a tool is missing, 4 nothing was captured,
5 a comparison broke its limits, 6 it may have, 130 interrupted; `llmprof collect` ends as its
program does. With --json-errors an error is a line of JSON: error, hint, exit,
kind, detail. -j N is how many threads read and write traces (all processors
by default). --no-cache neither reads nor writes the trace cache.
]]

local command = {
  name = "help",
  usage = "help [OPTION] [COMMAND | TOPIC | WORD...]",
  details = "Without a word it lists commands and topics; any others are looked for in all of it.",
  options = { { "markdown", help = "print a page of the manual as it is written" } },
  completes = "topic",
}


-- Commands, topics and exit statuses.
function command.general()
  local lines = lists.map(commands.names(), function(name)
    local summary = commands.summary(name)
    return summary and ("  %-10s  %s\n"):format(name, summary) or nil
  end)
  local topics = table.concat(lists.map(reference.topics(), "name"), ", ")
  return commands.fit(GENERAL:format(table.concat(lines),
    table.concat(text.wrap(topics, 76), "\n  ")))
end


local FOUND, PROSE = 8, 80 -- entries of a kind, columns

-- The cookbook's questions, each with its commands.
local function questions()
  local list, page = {}, reference.page "cookbook"
  for title, at in page:gmatch "\n### %d+%. ([^\n]*)()" do
    local body, lines = page:sub(at, (page:find("\n#", at, true) or 0) - 1), {}
    for line in body:gmatch "\n%$ ([^\n]*)" do lines[#lines + 1] = "    " .. line .. "\n" end
    list[#list + 1] = { title, "", body, lines = table.concat(lines) }
  end
  return list
end


local function columns()
  local list, seen = {}, {}
  for _, one in ipairs(sections.explained()) do
    for _, column in ipairs(one.columns) do
      lists.entry(list, seen, column.title .. column.meaning,
        { column.title, ("%s (%s)"):format(column.meaning, one.title), column.key })
    end
  end
  return list
end


-- What is looked through: a heading, and a list of { name, what it is, more text of it }.
local kinds = {
  { "questions of llmprof help cookbook (ocr, vllm: any run or trace)", questions },
  { "commands", function()
    return lists.map(lists.filtered(commands.names(), commands.summary), function(name)
      return { name, commands.summary(name), commands.help_of(commands.load(name), {}) }
    end)
  end },
  { "tables of llmprof show", function()
    return lists.map(sections.all(), function(section) return { section.name, section.title } end)
  end },
  { "columns", columns },
  { "configuration keys", function()
    local defaults = require "llmprof.recipe.defaults"
    return lists.map(sorted_keys(defaults), function(key) return { key, defaults[key][1] } end)
  end },
  { "topics of llmprof help", function() -- without those that are listed by themselves
    return lists.map(reference.topics(), function(topic)
      return topic.path and topic.name ~= "cookbook"
        and { topic.name, topic.title, reference.page(topic.name) } or nil
    end)
  end },
}


-- A word without its ending, so that "launched" finds "launches".
local function stem(word)
  for _, ending in ipairs { "ing", "ed", "es", "s" } do
    local start = word:match("^(%a%a%a%a+)" .. ending .. "$")
    if start then return start end
  end
  return word
end


-- Has an entry each of the words, whatever its case and its ending?
local function holds(entry, words)
  local said = table.concat(entry, "\n"):lower()
  for word in words:gmatch "%S+" do
    if not said:find(stem(word), 1, true) then return false end
  end
  return true
end


local function entry_lines(entry, width)
  if entry.lines then return ("  %s\n%s"):format(entry[1], entry.lines) end
  local indent = "\n" .. (" "):rep(width + 4)
  return ("  %s  %s\n"):format(text.pad(entry[1], width),
    table.concat(text.wrap(entry[2], PROSE - width - 4), indent))
end


-- Questions, commands, tables, columns, keys, topics that mention the words; nil without any.
local function search(words)
  local pieces = {}
  for _, kind in ipairs(kinds) do
    local list = lists.filtered(kind[2](), function(entry) return holds(entry, words:lower()) end)
    local first = lists.first(list, FOUND)
    local _, width = lists.largest(first, function(entry) return text.width(entry[1]) end)
    if #list > 0 then pieces[#pieces + 1] = ("%s:\n"):format(kind[1]) end
    for _, entry in ipairs(first) do
      pieces[#pieces + 1] = entry_lines(entry, math.min(width, 30))
    end
    if #list > FOUND then pieces[#pieces + 1] = ("  and %d more\n"):format(#list - FOUND) end
  end
  return #pieces > 0 and table.concat(pieces) or nil
end


function command.run(given, words)
  local name = words[1] and table.concat(words, " ")
  if not name then
    out.write(command.general())
    return 0
  end
  local page, known = reference.page(name), commands.has(name)
  if given.markdown or not page and not known then
    local said = given.markdown and page or not given.markdown and search(name)
    local all = lists.joined(commands.names(), lists.map(reference.topics(), "name"),
      reference.module_names())
    out.write(said or errors.raise("usage", ("no command or topic '%s'%s"):format(name,
      nearest.suggestion(name, all)), { hint = "llmprof help lists them" }))
    return 0
  end
  if known then out.write(commands.help_of(commands.load(name), {}), page and "\n" or "") end
  if page then
    local screen = out.terminal(io.stdout, 1)
    out.write(out.trusted(plain.render(page, function(line)
      return out.bytes(screen.style("bold", line))
    end)))
  end
  return 0
end


return command
