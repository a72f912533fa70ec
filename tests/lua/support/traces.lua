-- The timelines of tests/fixtures, for specs: make_traces.py says what is in the
-- exports, and timelines/ has those that are text.
local fs = require "llmprof.fs"
local stages = require "llmprof.analysis.stages.find"
local timeline = require "tests.lua.support.timeline"
local trace_file = require "llmprof.trace.file"

local traces = {}

traces.declared = { { name = "prefill" }, { name = "vision", parent = "prefill" },
  { name = "decode", step = "decode_step" } }


-- A trace and its stages. declared and policy as for stages.find.
function traces.open(name, declared, policy)
  local export = ("tests/fixtures/%s/run.sqlite"):format(name)
  local trace = fs.stat(export) and trace_file.open(export) or timeline.fixture(name)
  return trace, stages.find(trace, declared or traces.declared, policy or "auto")
end


-- The objects of a list with these fields only: they differ in what a spec is
-- about.
function traces.pick(list, ...)
  local picked = {}
  for i, object in ipairs(list) do
    picked[i] = {}
    for _, field in ipairs { ... } do picked[i][field] = object[field] end
  end
  return picked
end


return traces
