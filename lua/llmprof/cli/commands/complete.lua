-- llmprof complete -- WORD...: what the last word could become, a line each with
-- a tab before what it is about. What the shells' completion asks.
local out = require "llmprof.io.output"
local text = require "llmprof.text"
local artifacts = require "llmprof.bundle.artifacts"
local baselines = require "llmprof.compare.baselines"
local commands = require "llmprof.cli.commands"
local config = require "llmprof.recipe.config"
local defaults = require "llmprof.recipe.defaults"
local files = require "llmprof.io.files"
local options = require "llmprof.cli.options"
local reference = require "llmprof.query.reference"
local recipe = require "llmprof.recipe"
local sections = require "llmprof.report.sections"
local user = require "llmprof.recipe.user"
local sorted_keys = require("llmprof.tables.keys").sorted

local command = { name = "complete", usage = "complete -- WORD...", options = {} }


function command.run(_, words)
  for _, candidate in ipairs(command.candidates(words)) do
    out.write(text.clean(candidate[1]), "\t", text.clean(candidate[2] or ""), "\n")
  end
  return 0
end


-- ---- candidates ----

-- What could come next on a command line: commands, recipes, options and their
-- choices, configuration keys with theirs, runs. Files are completed by the shell, where
-- nothing of this fits. It follows from what commands, options and recipes declare. A command
-- says what its words are with `completes`: "recipe" (one, then settings), "settings", "run",
-- "section", "side" (runs and baselines) or "topic", or a list by place, the last for all words
-- from there on, in which a list of words can stand; else they are files. An option's `values` is
-- a function that lists what its value, or each in a list, can be.

-- Keys whose values are names of files below conf/.
local NAMED = { ["hardware.name"] = "hardware", ["mode"] = "mode", ["model.arch"] = "model" }

for _, group in ipairs(config.preset_groups) do NAMED[group] = group end

local function starts(word, prefix) return word:sub(1, #prefix) == prefix end


-- A list of { text, about } that gathers what begins with the typed word.
local function gatherer(typed)
  local list, seen = {}, {}
  return list, function(word, about)
    if starts(word, typed) and not seen[word] then
      seen[word], list[#list + 1] = true, { word, about }
    end
  end
end


local function add_recipes(add)
  for _, name in ipairs(files.names("recipes", ".lua")) do add(name, "recipe") end
end


-- ---- settings ----

-- Keys of the recipe and llmprof's own; the latter alone where no recipe of that name is
-- built in: nothing on disk is run.
local function declared_by(word)
  local name = word:match "([^/]+)%.lua$" or word
  local known, made = pcall(recipe.load, ("%srecipes/%s.lua"):format(files.BUILT_IN, name))
  if not known then return defaults end
  local fits, declared = pcall(config.declare, made.options, made.sections)
  return fits and declared or defaults
end


local function add_values(add, declared, key, value)
  local declaration = declared[key]
  local kind = declaration and config.type_of(declaration)
  local values = NAMED[key] and files.names("conf/" .. NAMED[key], ".yaml")
    or kind == "boolean" and { "true", "false" } or declaration and declaration.choices or {}
  local before = kind == "list" and (value:match "^(.*[%[,])" or "[") or ""
  for _, choice in ipairs(values) do add(key .. "=" .. before .. choice) end
end


local function add_settings(add, typed, declared)
  local key, value = typed:match "^([%w_.]+)=(.*)$"
  if key then return add_values(add, declared, key, value) end
  local removing = starts(typed, "~")
  for _, name in ipairs(sorted_keys(declared)) do
    add(removing and "~" .. name or name .. "=", declared[name][1])
  end
  for _, group in ipairs(config.preset_groups) do add(group .. "=", "preset") end
end


-- ---- other words ----

local function add_runs(add)
  local runs = artifacts.list(user.root())
  for i = #runs, 1, -1 do add(runs[i].id, runs[i].manifest and runs[i].manifest.recipe) end
  if #runs > 0 then add("latest", "the newest") end
end


-- Words of a command; before: those already there.
local kinds = {
  recipe = function(add, typed, before)
    if #before == 0 then return add_recipes(add) end
    add_settings(add, typed, declared_by(before[1]))
  end,
  settings = function(add, typed) add_settings(add, typed, defaults) end,
  run = add_runs,
  section = function(add)
    for _, section in ipairs(sections.all()) do add(section.name, section.title) end
  end,
  side = function(add)
    add_runs(add)
    for _, entry in ipairs(baselines.list(user.root())) do
      add(entry.name, "baseline of " .. entry.run)
    end
  end,
  topic = function(add)
    for _, topic in ipairs(reference.topics()) do add(topic.name, topic.title) end
    for _, name in ipairs(commands.names()) do add(name, commands.summary(name)) end
  end,
}


local function add_words(add, typed, asked, before)
  local what = asked.completes
  if type(what) == "table" then what = what[math.min(#before + 1, #what)] end
  if type(what) == "table" then
    for _, word in ipairs(what) do add(word) end
  elseif kinds[what] then
    kinds[what](add, typed, before)
  end
end


-- ---- options ----

-- before: what of the typed word is the option itself ("--format=").
local function add_option_values(add, typed, option, before)
  local known = option.choices or option.values and option.values()
  local items = option.type == "list" and typed:sub(#before + 1):match "^.*," or ""
  for _, value in ipairs(known or {}) do add(before .. items .. value) end
  if option.arg == "RUN" then add_runs(add) end
end


local function add_options(add, spec)
  for _, option in ipairs(spec) do
    add("--" .. option[1], option.help)
    if option.short then add("-" .. option.short, option.help) end
  end
end


-- The words of a command line that are no options and no values of options, and
-- the option whose value comes next, if one does.
local function split_words(spec, words)
  local plain, pending = {}, nil
  for _, word in ipairs(words) do
    if pending then
      pending = nil
    elseif starts(word, "-") and word ~= "-" then
      local option = options.named(spec, word)
      pending = option and option.arg and option or nil
    else
      plain[#plain + 1] = word
    end
  end
  return plain, pending
end


local function add_first(add)
  for _, name in ipairs(commands.names()) do
    local summary = commands.summary(name)
    if summary then add(name, summary) end
  end
  add_recipes(add)
  add("--help", "commands and exit statuses")
  add("--version", "the version")
end


-- The command that a first word means, and how many words it takes.
local function command_of(first)
  if commands.has(first) then return commands.load(first), 1 end
  if first:find "%.lua$" or starts(first, "-") or recipe.has(first) then
    return commands.load "run", 0
  end
  return nil
end


-- What the last of the words (typed so far, perhaps empty) could become: list
-- of { text, about }. words: those after the program's name.
function command.candidates(words)
  local typed = words[#words] or ""
  local list, add = gatherer(typed)
  if #words <= 1 then
    add_first(add)
    return list
  end
  local asked, taken = command_of(words[1])
  if not asked then return list end
  local spec = commands.options_of(asked)
  local before = table.move(words, taken + 1, #words - 1, 1, {})
  local plain, pending = split_words(spec, before)
  local name = typed:match "^(%-%-[^=]+)="
  local joined = name and options.named(spec, name)
  if pending then
    add_option_values(add, typed, pending, "")
  elseif joined then
    add_option_values(add, typed, joined, name .. "=")
  elseif starts(typed, "-") then
    add_options(add, spec)
  else
    add_words(add, typed, asked, plain)
  end
  return list
end


return command
