-- The capture with samples of the CPU, and what is found out of it.
local analysis = require "llmprof.analysis"
local stages = require "llmprof.analysis.stages.find"
local trace = require "llmprof.trace"
local trace_file = require "llmprof.trace.file"

local sampled = {}

sampled.FOLDER = "tests/fixtures/cpu_samples"
sampled.STACKS = "stacks/whole run.folded"


-- What results are made of; declared: the stages.
function sampled.given(declared)
  local timeline = trace_file.open(sampled.FOLDER .. "/run.sqlite")
  return { trace = timeline, found = stages.find(timeline, declared
      or { { name = "prefill" }, { name = "decode" } }, "no"),
    stacks = { { stage = stages.WHOLE_RUN, file = sampled.STACKS,
      trace = assert(trace.open(sampled.FOLDER .. "/" .. sampled.STACKS)) } } }
end


-- All that is found out.
function sampled.results()
  local given = sampled.given()
  given.run_id, given.recipe, given.model, given.source = "sampled", "none", {}, {}
  given.kernels, given.gpu = {}, {}
  return analysis.results(given)
end


return sampled
