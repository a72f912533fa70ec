-- The recorded DeepSeek-OCR capture, analysed, for specs.
local analysis = require "llmprof.analysis"
local breakdown = require "llmprof.analysis.stages.breakdown"
local kernels = require "llmprof.analysis.kernels.table"
local recipe = require "llmprof.recipe"
local stages = require "llmprof.analysis.stages.find"
local trace_file = require "llmprof.trace.file"


-- Results without counters. categories: rules of a recipe, or nil.
return function(categories)
  local made = recipe.load "recipes/deepseek_ocr.lua"
  local trace = trace_file.open "tests/fixtures/deepseek_ocr/run.sqlite"
  local found = stages.find(trace, made.stages, "auto")
  local list = kernels.list(trace, found)
  breakdown.categorize(list, categories)
  return analysis.results { run_id = "test", recipe = made.name, source = { timeline = {} },
    trace = trace, found = found, kernels = list, missing = {},
    workload = { batch = 1, stages = { decode = { tokens = 8 } } } }
end
