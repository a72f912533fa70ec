-- llmprof check RECIPE.lua [KEY=VALUE...]: would it run?
local lazy = require "llmprof.io.lazy"
local checks = lazy "llmprof.cli.checks"
local errors = require "llmprof.process.errors"
local recipe_check = lazy "llmprof.cli.recipe_check"
local table_options = require "llmprof.cli.table_options"

local command = {
  name = "check",
  usage = "check [OPTION...] RECIPE.lua [KEY=VALUE...]",
  details = [[
Looks at the recipe, its configuration and presets, the program and its files, the
stages and the model's description. Exit status 2 when there is a problem.]],
  options = {
    { "config", arg = "FILE.yaml", help = "take values from a file" },
    table_options.format, table_options.json,
  },
  completes = "recipe",
}


function command.run(given, words)
  if #words == 0 then
    errors.raise("usage", "which recipe?", { hint = "llmprof check recipes/toy_llm.lua" })
  end
  local list = recipe_check.examine(words[1], given.config, table.move(words, 2, #words, 1, {}))
  checks.print(list, given)
  return checks.has_problem(list) and errors.status.usage or 0
end


return command
