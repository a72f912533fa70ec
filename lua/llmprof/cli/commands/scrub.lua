-- llmprof scrub TRACE.sqlite: a copy that can be handed on.
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local lazy = require "llmprof.io.lazy"
local out = require "llmprof.io.output"
local private = lazy "llmprof.bundle.private"
local scrub = require "llmprof.scrub"
local text = require "llmprof.text"
local argument = lazy "llmprof.cli.arguments"
local trace_file = lazy "llmprof.trace.file"
local user = require "llmprof.recipe.user"

local command = {
  name = "scrub",
  usage = "scrub [OPTION...] TRACE | RUN_ID | FOLDER | latest",
  details = [[
Events, kernel names, NVTX texts and lines of Python stay, these without the folders
that packages lie in; environment variables, command lines, output of processes, host
and user names, other paths and call chains but those of CPU samples go. The copy is
SQLite in the schema of an export of nsys, whatever the trace is; of a .nsys-rep it is the
copy that can be handed on, not the report. What was kept of the trace in your cache stays
there: llmprof clean --cache removes it.]],
  options = {
    { "force", help = "replace a file that is there" },
    { "output", short = "o", arg = "FILE", help = "write here; TRACE.scrubbed.sqlite" },
    user.root_option,
  },
  completes = "run",
}


-- A copy is not scrubbed before it is whole: where it is made is noted meanwhile, so that
-- what a killed command leaves there is removed by the next, whatever that does.
-- What is no export becomes one first.
local function copy(path, trace, target)
  local folder = argument.folder_of(target)
  errors.check(fs.access(target:match "^(.+)/" or target:match "^/" or ".", "w"))
  local made <close> = private.folder(folder)
  if trace:info().reader ~= "nsys" then
    path = made.path .. "/run.sqlite"
    errors.check(trace:sqlite(path))
  end
  return scrub.copy(path, target)
end


function command.run(given, words)
  local word = argument.only(words, "trace", "llmprof scrub run.sqlite")
  local path = argument.path(word, given.root)
  local target = given.output or argument.stem(word, path) .. ".scrubbed.sqlite"
  if fs.realpath(target) and fs.realpath(target) == fs.realpath(path) then
    errors.raise("usage", "the copy must be another file than the trace")
  end
  if not given.force and fs.lstat(target) then
    errors.raise("usage", target .. ": the file is there already",
      { hint = "--force replaces it, -o FILE writes another" })
  end
  local trace = trace_file.open(path) -- or an error that says what it is instead
  local taken, message = copy(path, trace, target)
  if not taken then
    local name = target:match "[^/]*$" -- the copy is written under another one first
    message = message:gsub("%.llmprof%-%x+", function() return name end)
    errors.raise("failed", message)
  end
  out.write(("%s: %s rows, %s tables and %s strings taken out\n"):format(text.clean(target),
    text.count(taken.rows), text.count(taken.tables), text.count(taken.strings)))
  return 0
end


return command
