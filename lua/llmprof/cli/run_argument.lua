-- The argument of commands that take a run: its id, "latest" or its folder; or traces, files
-- and folders of them, whose report is made for it unless it is kept.
local artifacts = require "llmprof.bundle.artifacts"
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local lazy = require "llmprof.io.lazy"
local reports = lazy "llmprof.run.reports"

local argument = {}


local function is_run(dir) return fs.stat(dir .. "/" .. layout.manifest) ~= nil end


-- Does a word name traces, and no run?
function argument.names_traces(word, root)
  return word ~= "" and not is_run(word) and not is_run(root .. "/" .. word)
    and fs.stat(word) ~= nil
end


-- The run that a word names, runs being kept in `root`, or that of the report of traces.
function argument.open(word, root)
  if argument.names_traces(word, root) then return reports.of { word } end
  return artifacts.open(word, root)
end


return argument
