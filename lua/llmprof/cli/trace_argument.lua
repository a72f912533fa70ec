-- The argument of commands that take a trace: a file, or the timeline of a run.
local artifacts = require "llmprof.bundle.artifacts"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local out = require "llmprof.io.output"
local text = require "llmprof.text"

local argument = {}

-- The file that a word names: itself where it is a path, else that of the run (its
-- id, "latest") that lies in `root`.
function argument.path(word, root)
  if fs.stat(word) or word == "" or word:find "[./]" then return word end
  return artifacts.open(word, root):path(layout.timeline)
end


-- Say on standard error what its reader noticed: what was lost or left out, and what it had
-- to guess. Returns whether there was nothing of that. An export of nsys is not asked: what is
-- in its diagnostics is nsys's own.
function argument.warn(trace)
  local is_whole = true
  if trace:info().reader == "nsys" then return is_whole end
  for _, said in ipairs(errors.check(trace:diagnostics())) do
    out.warn(("%s: %s\n"):format(said.severity, text.clean(said.text)))
    is_whole = is_whole and said.severity == "info"
  end
  return is_whole
end


return argument
