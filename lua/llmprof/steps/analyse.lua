-- Everything that was found out, as one file: results.json.
local analysis = require "llmprof.analysis"
local overhead = require "llmprof.analysis.overhead"

local step = { name = "analyse", summary = "put everything together: results.json",
  requires = { "timeline", "select" } }


local function source(ctx)
  local about, trace = ctx.state.about or {}, ctx.state.trace
  local info = trace:info()
  local from = ctx.state.capture.name
  local timeline = { from = from, tool = about.tool, file = "nsys/run.sqlite",
    export_schema = info.schema, export_product = info.product, recorded = about.date,
    command = about.command }
  local counters = ctx.state.launches and { from = from, tool = about.counters_tool,
    file = "ncu/raw.csv" } or nil
  return { timeline = timeline, counters = counters }
end


local function note_missing_stages(ctx)
  for _, name in ipairs(ctx.state.found.missing) do
    table.insert(ctx.state.missing, { what = ("stage '%s'"):format(name),
      why = "the trace has no NVTX range of that name",
      how = "mark it in the workload, or take it out of the recipe's stages" })
  end
end


-- results.overhead is there when it was measured, and only then.
local function overhead_of(ctx)
  local state = ctx.state
  local measured = state.plain and state.metrics and overhead.compare(state.metrics, state.plain,
    state.found.repeats.skipped_first) or nil
  if ctx.cfg.overhead == "measure" and not measured then
    table.insert(state.missing, { what = "what profiling costs",
      why = "no stage has times of a plain and of the profiled run",
      how = "overhead=measure, and a workload that writes metrics.json" })
  end
  return measured
end


local function model_of(ctx)
  local model, metrics = {}, ctx.state.metrics
  for key, value in pairs(ctx.cfg.model) do model[key] = value end
  for key, value in pairs(metrics and metrics.model or {}) do model[key] = value end
  local about = ctx.state.about.workload
  if about and about.weights then model.weights = about.weights end
  return model
end


-- What was captured on, as far as anything says: the capture, the workload.
local function environment_of(ctx)
  local environment = {}
  local said = ctx.state.environment.captured_on or {}
  for _, key in ipairs { "driver", "cuda", "kernel", "cpu", "nsys", "ncu", "gpus" } do
    environment[key] = said[key]
  end
  for key, value in pairs(ctx.state.metrics and ctx.state.metrics.environment or {}) do
    environment[key] = environment[key] or value
  end
  return environment
end


function step.run(ctx)
  local state = ctx.state
  note_missing_stages(ctx)
  ctx.results = analysis.results {
    run_id = ctx.run.id, recipe = ctx.recipe.name, model = model_of(ctx), source = source(ctx),
    environment = environment_of(ctx), trace = state.trace, found = state.found,
    kernels = state.kernels, selection = state.selection, plan = state.counter_plan,
    counters = state.joined, operators = state.operators, workload = state.about.workload,
    metrics = state.metrics, missing = state.missing, samples = state.gpu_samples,
    complaints = state.nsys_complaints,
    overhead = overhead_of(ctx),
  }
  ctx.run:write_json("results.json", ctx.results)
  ctx.outputs[1] = "results.json"
  return ("%d stages, %d kernels"):format(#ctx.results.stages, #ctx.results.kernels)
end


return step
