-- The kernels that matter, and the ncu filter that measures exactly those.
local json = require "llmprof.json"
local kernels = require "llmprof.analysis.kernels"
local recipe = require "llmprof.recipe"
local select_kernels = require "llmprof.analysis.select"

local step = { name = "select", requires = { "timeline" }, needs = { "nsys/run.sqlite" },
  makes = { "ncu/selection.json" } }


-- The recipe may choose from the list itself: it returns the kernels it wants.
local function by_recipe(ctx, list)
  local chosen = recipe.call("select_kernels", ctx.recipe.select_kernels, list, ctx.cfg)
  return select_kernels.apply(chosen, { kernels = math.huge, coverage = math.huge,
    per_stage = ctx.cfg.top_n.per_stage })
end


function step.restore(ctx)
  local list = kernels.list(ctx.state.trace, ctx.state.found)
  ctx.state.kernels = list
  if ctx.recipe.select_kernels then
    ctx.state.selection = by_recipe(ctx, list)
    ctx.state.selection.policy = { by = "recipe" }
  else
    ctx.state.selection = select_kernels.apply(list, ctx.cfg.top_n)
  end
end


local function record(kernel)
  return json.ordered({ id = kernel.id, stage = kernel.stage, part = kernel.part,
    name = kernel.name, function_name = kernel.short_name, total_ns = kernel.total_ns,
    calls = kernel.calls },
    { "id", "stage", "part", "function_name", "total_ns", "calls", "name" })
end


function step.run(ctx)
  step.restore(ctx)
  local selection, chosen, notes = ctx.state.selection, json.list {}, {}
  for i, kernel in ipairs(selection.chosen) do chosen[i] = record(kernel) end
  for i, group in ipairs(selection.groups) do
    notes[i] = ("%d of %d kernels%s of %s"):format(#group.kernels, group.of,
      group.coverage and (" cover %.0f %%"):format(group.coverage * 100) or "", group.name)
  end
  ctx.run:write_json("ncu/selection.json", json.ordered({ policy = selection.policy,
    coverage = selection.coverage, filter = selection.filter, kernels = chosen },
    { "policy", "coverage", "filter", "kernels" }))
  return #notes > 0 and table.concat(notes, ", ") or "no kernel to select"
end


return step
