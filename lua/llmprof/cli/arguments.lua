-- Arguments of commands: a recipe, by its path or name, a run, and a trace.
local lazy = require "llmprof.io.lazy"
local artifacts = require "llmprof.bundle.artifacts"
local digest = lazy "llmprof.report.digest"
local process = require "llmprof.process.child"
local errors = require "llmprof.process.errors"
local nsys = lazy "llmprof.nvidia.nsys"
local fs = require "llmprof.fs"
local handed = lazy "llmprof.trace.handed"
local layout = require "llmprof.bundle.layout"
local out = require "llmprof.io.output"
local recipe = lazy "llmprof.recipe"
local reports = lazy "llmprof.run.reports"
local text = require "llmprof.text"
local user = lazy "llmprof.recipe.user"

local argument = {}

-- The recipe that the first of the words names; example: a command line for the hint.
function argument.load(words, example)
  if #words == 0 then errors.raise("usage", "which recipe?", { hint = example }) end
  local made = recipe.load(words[1])
  if made.note then out.complain(made.note) end
  return made
end


-- The one word of a command that takes one; what: what it names; example: for the hint.
function argument.only(words, what, example)
  if #words == 1 then return words[1] end
  errors.raise("usage", (#words == 0 and "which %s?" or "one %s at a time"):format(what),
    { hint = example })
end


-- The file that a word names: itself where it is a path, the export of a report of nsys, the
-- timeline of a run (its id, "latest", its folder; runs lie in `root`), the one trace of
-- another folder.
function argument.path(word, root)
  local info = fs.stat(word)
  if info and info.type == "directory" then
    local timeline = layout.find(word, "timeline")
    if timeline then
      artifacts.check_links(word)
      return timeline
    end
    local traces = handed.look({ word }, nsys.exported).traces
    if #traces == 1 then return traces[1] end
    errors.raise("usage", ("%s: %d traces: name one"):format(word, #traces),
      { hint = "all of them together: " .. process.shown { "llmprof", "report", word } })
  elseif info and nsys.is_report(word) then
    return nsys.exported(word)
  end
  if info or word == "" or word:find "[./]" then return word end
  return artifacts.open(word, root):path(layout.timeline)
end


-- What is written next to a trace is called like it: its path without the ending. word: what
-- names it; path: of argument.path.
function argument.stem(word, path)
  local named = nsys.is_report(word) and word or path
  return (named:gsub("%.gz$", ""):gsub("%.[%a-]+$", ""))
end


-- The folder into which a file is to be written.
function argument.folder_of(path)
  local folder = path:match "^(.*)/[^/]*$" or "."
  return fs.realpath(folder == "" and "/" or folder)
    or errors.raise("usage", folder .. ": no such folder", { hint = "mkdir -p " .. folder })
end


-- Say on standard error what its reader noticed: what was lost or left out, and what it had
-- to guess. Returns whether there was nothing of that. An export of nsys is not asked: what is
-- in its diagnostics is nsys's own. brief: without what cost nothing.
function argument.warn(trace, brief)
  local trace_file = require "llmprof.trace.file"
  local is_whole = true
  for _, said in ipairs((trace_file.without_time(trace))) do
    out.warn(("warning: %s\n"):format(said))
    is_whole = false
  end
  if trace:info().reader == "nsys" then return is_whole end
  for _, said in ipairs(errors.check(trace:diagnostics())) do
    local is_note = said.severity == "info"
    if not (brief and is_note) then
      out.warn(("%s: %s\n"):format(said.severity, text.clean(said.text)))
    end
    is_whole = is_whole and is_note
  end
  return is_whole
end


local function is_run(dir) return fs.stat(dir .. "/" .. layout.manifest) ~= nil end


-- Does a word name traces, and no run?
function argument.names_traces(word, root)
  return word ~= "" and not is_run(word) and not is_run(root .. "/" .. word)
    and fs.stat(word) ~= nil
end


-- The run that a word names, runs being kept in `root`, or that of the report of traces.
function argument.open_run(word, root)
  if argument.names_traces(word, root) then return reports.of { word } end
  return artifacts.open(word, root)
end


-- Make the report of a file, and print its digest and where the page is. fd: 1, or 2 for standard
-- error.
function argument.report(path, fd)
  local made, results = reports.make { paths = { path }, settings = {}, root = user.root(),
    quiet = true }
  argument.print_digest(made, results, made.root and made.id or made.dir, fd)
end


-- name: what commands call the run.
function argument.print_digest(run, results, name, fd)
  local say = fd == 1 and out.write or out.warn
  say((digest.render("text", results,
    { id = run.id, dir = run.dir, name = process.shown { name } }, 1 << 20,
    out.columns(fd))))
  say("page: ", text.clean(run:path(layout.reports.page)), "\n")
end


return argument
