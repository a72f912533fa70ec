-- llmprof doctor: is this machine ready to profile?
local lazy = require "llmprof.io.lazy"
local checks = lazy "llmprof.cli.checks"
local config = lazy "llmprof.recipe.config"
local doctor = lazy "llmprof.cli.doctor"
local errors = require "llmprof.process.errors"
local table_options = require "llmprof.cli.table_options"

local command = {
  name = "doctor",
  usage = "doctor [OPTION...] [KEY=VALUE...]",
  details = "Exit status 3 when something that profiling needs is missing.",
  options = { table_options.format, table_options.json },
  completes = "settings",
}


function command.run(given, words)
  local composed = config.compose { words = words }
  local list = doctor.examine(composed.tree)
  checks.print(list, given)
  return checks.has_problem(list) and errors.status.tool or 0
end


return command
