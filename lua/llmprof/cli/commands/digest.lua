-- llmprof digest RUN: a run or traces in a few lines, for people, scripts and agents.
local lazy = require "llmprof.io.lazy"
local process = lazy "llmprof.process.child"
local digest = lazy "llmprof.report.digest"
local errors = require "llmprof.process.errors"
local out = require "llmprof.io.output"
local results_file = lazy "llmprof.bundle.results_file"
local argument = lazy "llmprof.cli.arguments"
local text = require "llmprof.text"
local user = require "llmprof.recipe.user"

local command = {
  name = "digest",
  usage = "digest [OPTION...] RUN_ID | FOLDER | latest | TRACE",
  details = [[
What ran, how fast, what limits it, the moves with most to gain, how far to trust it, and
what to ask next, in few bytes: less is told where it would not fit. JSON is as
docs/digest.schema.json says: null was not measured, keys of rows stay the same.]],
  options = {
    user.root_option,
    { "format", short = "f", arg = "FORMAT", default = "text", choices = { "text", "json" },
      help = "output format" },
    { "bytes", arg = "N", type = "integer", default = 4000, help = "print at most N bytes" },
  },
  completes = "run",
}


function command.run(given, asked)
  local word = argument.only(asked, "run", "llmprof digest latest, or the file of a trace")
  local run = argument.open_run(word, given.root)
  local results = results_file.of_run(run)
  local is_named = given.root == user.root() or argument.names_traces(word, given.root)
  local name = is_named and word or run.dir
  local named = { id = run.id, dir = run.dir, name = process.shown { name } }
  local made, least = digest.render(given.format, results, named, given.bytes,
    out.columns(1))
  if not made then
    errors.raise("usage", ("--bytes %d: the shortest digest of this run takes %s"):format(
      given.bytes, text.count(least)))
  end
  out.write(made)
  return 0
end


return command
