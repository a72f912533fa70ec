-- Trace, counters and what the workload said about itself -> results: one
-- table, from which every report is rendered and nothing else is needed.
-- docs/results.schema.json is its schema. Times are ns, shares 0..1; what was
-- not measured is absent.
--
-- It is done by passes, each a file: what it reads and gives is declared in it as
-- llmprof.process.dataflow has it, run(state) does it. A field of the results is what a pass
-- gives, or an input, of that name. Its advice is made from the results: llmprof.advice.
local clock = require "llmprof.io.clock"
local dataflow = require "llmprof.process.dataflow"
local document = require "llmprof.io.document"
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"
local merged = require("llmprof.tables.keys").merged
local process_pool = require "llmprof.process.pool"
local version = require "llmprof.version"

local analysis = {}

-- What results are made of; what is not known is absent.
analysis.inputs = {
  run_id = "of the run", recipe = "its name",
  top_n = "rows of the tables of the largest kernels",
  model = "what the run says of its model", source = "where the data is from",
  environment = "what it was captured on",
  trace = "the timeline", found = "the stages in it: llmprof.analysis.stages.find; of a run "
    .. "without a profiler those that it timed: llmprof.analysis.latency.own_times",
  kernels = "every kernel of the stages: llmprof.analysis.kernels.table",
  selection = "those that are measured", plan = "what ncu was asked for",
  launches = "those that were measured: llmprof.nvidia.ncu.launches",
  counters = "how they met the kernels: llmprof.analysis.counters.join",
  operators = "of the framework", workload = "facts about a recorded run",
  engine_log = "what lines of the server's log say of its load",
  metrics = "metrics.json", plain = "the same of runs without the profiler, a list",
  overhead = "what profiling costs: llmprof.analysis.latency.overhead",
  arch = "the model's description", arch_complaint = "what is wrong with it",
  run = "what the run did with it: llmprof.model",
  flops = "the recipe's: a function of a stage and metrics",
  gpu = "the configuration's table of the hardware", price = "that of the price of a GPU",
  samples = "of the GPUs: llmprof.gpu", stacks = "of the CPU: list of { stage, file, trace }",
  complaints = "of the tool", recorder = "of the timeline: llmprof.analysis.timeline.integrity",
  ranks = "steps, ranks and collectives: llmprof.analysis.serving.ranks",
  merged = "parts of all ranks",
  missing = "what the results lack, a list of { what, why, how }",
  beside = "may another process run some of the passes?",
}

-- In this order.
analysis.passes = { "stages.totals", "kernels.framework", "stages.layers",
  "stages.summary", "stages.breakdown", "serving.load", "latency.latency", "timeline.transfers",
  "stages.cost", "stages.efficiency", "stages.running_cost",
  "counters.sampled", "kernels.occupancy", "kernels.limits", "counters.measured",
  "timeline.cpu_samples", "kernels.lines", "kernels.modules", "timeline.gaps",
  "kernels.operators", "timeline.integrity" }

-- Those from here on need only the first pass and what is given, and give plain values: another
-- process may do them meanwhile.
local APART = "kernels.operators"


local passes -- once they are loaded

local function load_passes()
  local list = {}
  for i, name in ipairs(analysis.passes) do
    list[i] = require("llmprof.analysis." .. name)
    list[i].name = name
  end
  dataflow.givers(list, analysis.inputs)
  return list
end


-- ---- fields of the results ----

-- What the results tell of objects: the fields that their schema declares.
local function records(definition, list)
  return json.list(lists.map(list, function(object)
    return document.record(object, "results", definition)
  end))
end


local function selection_record(selection, plan)
  if not selection then return nil end
  local groups = json.list(lists.map(selection.groups, function(group)
    return { name = group.name, kernels = json.list(group.kernels), coverage = group.coverage,
      of = group.of }
  end))
  return { policy = selection.policy, coverage = selection.coverage, filter = selection.filter,
    kernels = json.list(selection.kernels), groups = groups,
    shortened = plan and plan.changes and #plan.changes > 0 and json.list(plan.changes) or nil,
    dropped = json.list(plan and plan.dropped or {}) }
end


local function results_of(fields)
  local results = document.record(fields, "results")
  results.schema_version = 1
  results.run = { id = fields.run_id, recipe = fields.recipe, created = clock.timestamp(),
    llmprof = version.version, top_n = fields.top_n }
  results.selection = selection_record(fields.selection, fields.plan)
  if fields.operators then -- the order of their launches is in a file of its own
    results.operators = merged(fields.operators)
    results.operators.launches, results.operators.joined = nil, fields.joined
  end
  results.inferred = fields.inferred and document.record(fields.inferred, "results",
    "inferred")
  results.ranks = fields.trace and fields.ranks -- their times are on its clock
  results.kernels = records("kernel", fields.kernels or {})
  results.other_kernels = fields.kernels and fields.kernels.others
  return results
end


-- What a list of passes sets.
local function made_by(list, fields)
  local made = setmetatable({}, { __index = fields })
  dataflow.run(list, made)
  return setmetatable(made, nil)
end


-- Run the passes, the last ones in another process.
local function run_beside(fields)
  local first, own, apart = { passes[1] }, {}, {}
  for i = 2, #passes do
    local is_apart = #apart > 0 or passes[i].name == APART
    table.insert(is_apart and apart or own, passes[i])
  end
  dataflow.run(first, fields)
  local function work() return made_by(apart, fields) end
  local pool <close> = process_pool.begin { { work } }
  dataflow.run(own, fields)
  local ok, made = pool:take(1)
  for name, value in pairs(ok and made or work()) do fields[name] = value end
end


-- The results of inputs, as analysis.inputs has them.
function analysis.results(given)
  passes = passes or load_passes()
  local fields = setmetatable({ environment = given.environment or {},
    missing = json.list(given.missing or {}), stages = json.list {} }, { __index = given })
  if given.beside then run_beside(fields) else dataflow.run(passes, fields) end
  if fields.trace then fields.found.forget_busy() end
  return results_of(fields)
end


return analysis
