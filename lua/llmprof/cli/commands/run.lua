-- llmprof RECIPE.lua [KEY=VALUE...]: profile a workload, write the bundle.
local lazy = require "llmprof.io.lazy"
local artifacts = lazy "llmprof.bundle.artifacts"
local config = lazy "llmprof.recipe.config"
local errors = require "llmprof.process.errors"
local layout = require "llmprof.bundle.layout"
local lists = require "llmprof.tables.lists"
local out = require "llmprof.io.output"
local recipe_argument = lazy "llmprof.cli.arguments"
local recorded = lazy "llmprof.run.capture.recorded"
local sorted_keys = require("llmprof.tables.keys").sorted
local start = lazy "llmprof.run.start"

local command = {
  name = "run",
  usage = "[run] RECIPE.lua [OPTION...] [KEY=VALUE...]",
  details = [[
KEY=VALUE sets a configuration key, +KEY=VALUE adds one, ~KEY removes a value,
nsys=light chooses a preset; lists are written [a,b].]],
  options = {
    { "config", arg = "FILE.yaml", help = "take values from a file" },
    { "trust-config", help = "run programs that it or a preset names, too" },
    { "print-config", help = "show every value and where it came from, do nothing" },
    { "dry-run", help = "show the steps and commands, do nothing" },
    { "with-standins", help = "try it without a GPU: stand-ins play nsys, ncu and Python" },
    { "resume", arg = "RUN", help = "continue a run: its id, its folder or latest" },
    { "strict", help = "exit status 1 when something was left out" },
    { "quiet", short = "q", help = "print nothing but errors" },
    { "verbose", short = "v", help = "show the commands and what they print" },
    { "log", arg = "FILE", help = "write all of that to a file as well" },
    { "watch-gpu", help = "show how the GPUs are doing while programs run" },
  },
  completes = "recipe",
}


local function key_lines(declared)
  local keys = sorted_keys(declared)
  local _, width = lists.largest(keys, string.len)
  return table.concat(lists.map(keys, function(key)
    local value = declared[key][2]
    if type(value) == "table" then value = "[" .. table.concat(value, ",") .. "]" end
    return ("  %-" .. width .. "s  %s%s\n"):format(key, declared[key][1],
      value ~= nil and value ~= "" and (" (%s)"):format(tostring(value)) or "")
  end))
end


function command.help(words)
  local options = require "llmprof.cli.options"
  local text = { "usage: llmprof ", command.usage, "\n\n", command.details, "\n" }
  if words[1] then
    local made = recipe_argument.load(words)
    text[#text + 1] = ("\nkeys of %s:\n%s"):format(made.name, key_lines(made.options))
    text[#text + 1] = "\nllmprof's own keys:\n" .. key_lines(require "llmprof.recipe.defaults")
  else
    text[#text + 1] = "With a recipe, --help also lists the keys it can be given.\n"
  end
  text[#text + 1] = "\noptions:\n" .. options.help(command.options)
  return table.concat(text)
end


-- The recipe and settings for stand-ins, and what holds them. The name marks everything
-- that is written.
local function stand_in(wanted)
  if wanted.resume then errors.raise("usage", "--with-standins: nothing is resumed with them") end
  local settings, folder = start.open_standins()
  wanted.standins = settings
  wanted.recipe = setmetatable({ name = wanted.recipe.name .. "-standins" },
    { __index = wanted.recipe })
  return folder
end


function command.run(given, words)
  local wanted = { recipe = recipe_argument.load(words, "llmprof deepseek_ocr"),
    settings = table.move(words, 2, #words, 1, {}),
    config = given.config, trusted = given["trust-config"], resume = given.resume,
    quiet = given.quiet, verbose = given.verbose, log = given.log, watch_gpu = given["watch-gpu"] }
  local _ <close> = given["with-standins"] and stand_in(wanted) or nil
  local composed = start.compose(wanted)
  if given["print-config"] then
    out.write(config.to_yaml(composed))
  elseif given["dry-run"] then
    recorded.check(wanted.recipe, composed)
    local kept = given.resume
      and layout.find(artifacts.open(given.resume, composed.tree.run.root).dir, "timeline")
    out.write(start.dry_run(wanted.recipe, composed.tree, kept))
  else
    local left_out = start.run(wanted, composed)
    return left_out > 0 and given.strict and errors.status.failed or 0, true
  end
  return 0
end


return command
