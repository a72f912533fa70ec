-- The argument of commands that take a trace: a file, or the timeline of a run.
local artifacts = require "llmprof.bundle.artifacts"
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"

local argument = {}

-- The file that a word names: itself where it is a path, else that of the run (its
-- id, "latest") that lies in `root`.
function argument.path(word, root)
  if fs.stat(word) or word == "" or word:find "[./]" then return word end
  return artifacts.open(word, root):path(layout.timeline)
end


return argument
