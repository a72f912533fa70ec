-- Everything that was found out, as one file: results.json.
local analysis = require "llmprof.analysis"

local step = { name = "analyse", requires = { "timeline", "select" } }


local function source(ctx)
  local about, trace = ctx.state.about or {}, ctx.state.trace
  local info = trace:info()
  local timeline = { from = ctx.cfg.capture, tool = about.tool, file = "nsys/run.sqlite",
    export_schema = info.schema, export_product = info.product, recorded = about.date,
    command = about.command }
  local counters = ctx.state.launches and { from = ctx.cfg.capture, tool = about.counters_tool,
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


function step.run(ctx)
  local state = ctx.state
  note_missing_stages(ctx)
  local about = state.about or {}
  local model = {}
  for key, value in pairs(ctx.cfg.model) do model[key] = value end
  if about.workload and about.workload.weights then model.weights = about.workload.weights end
  ctx.results = analysis.results {
    run_id = ctx.run.id, recipe = ctx.recipe.name, model = model, source = source(ctx),
    environment = about.environment, trace = state.trace, found = state.found,
    kernels = state.kernels, selection = state.selection, counters = state.joined,
    operators = state.operators, workload = about.workload, missing = state.missing,
  }
  ctx.run:write_json("results.json", ctx.results)
  ctx.outputs[1] = "results.json"
  return ("%d stages, %d kernels"):format(#ctx.results.stages, #ctx.results.kernels)
end


return step
