-- What llmprof says of an export, as JSON: llmprof exec ours.lua EXPORT STAGES BATCH.
-- STAGES: JSON, a list of { name, parent, step }; BATCH: sequences side by side.
local analysis = require "llmprof.analysis"
local breakdown = require "llmprof.analysis.stages.breakdown"
local json = require "llmprof.json"
local kernels = require "llmprof.analysis.kernels.table"
local rank_part = require "llmprof.ranks.part"
local rank_view = require "llmprof.analysis.serving.ranks"
local stages = require "llmprof.analysis.stages.find"
local trace_file = require "llmprof.trace.file"

local trace = trace_file.open(arg[1])
local found = stages.find(trace, json.decode(arg[2]), "auto")
local list = kernels.list(trace, found)
breakdown.categorize(list)
local knowledge = rank_view.knowledge(json.decode(arg[2]), nil, found)
local ranks = rank_view.record({ rank_part.of(trace, arg[1], knowledge) }, knowledge)
io.write(json.encode(analysis.results { run_id = "truth", recipe = "none", model = {},
  source = {}, trace = trace, found = found, kernels = list, gpu = {}, ranks = ranks,
  workload = { batch = tonumber(arg[3]) } }), "\n")
