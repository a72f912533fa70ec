-- The timeline: nsys/run.sqlite.
local errors = require "llmprof.errors"
local recorded = require "llmprof.recorded"
local stages = require "llmprof.analysis.stages"
local text = require "llmprof.text"
local trace_file = require "llmprof.trace_file"

local step = { name = "timeline", requires = { "plan", "tools" }, makes = { "nsys/run.sqlite" } }


local function check_captured(trace)
  local ops = errors.check("failed", trace:frame "gpu")
  local ranges = errors.check("failed", trace:frame "ranges")
  if #ops == 0 and #ranges == 0 then
    errors.raise("nothing", "nothing was captured: no GPU operation and no NVTX range",
      { hint = "did the workload use the GPU, and was CUDA traced?" })
  end
end


function step.restore(ctx)
  local trace = trace_file.open(ctx.run:path "nsys/run.sqlite")
  check_captured(trace)
  ctx.state.trace = trace
  ctx.state.found = stages.find(trace, ctx.recipe.stages, ctx.cfg.repeats.skip_first)
end


local function note(ctx)
  local found, names = ctx.state.found, {}
  local kernels = errors.check("failed", ctx.state.trace:frame "kernels")
  for _, stage in ipairs(found.declared) do names[#names + 1] = stage.name end
  if found.whole then
    return ("%s kernels, no stage of the recipe in the trace: the whole run is one")
      :format(text.count(#kernels))
  end
  return ("%s kernels, %d repeat%s, stages %s"):format(text.count(#kernels), found.repeats.count,
    found.repeats.count == 1 and "" or "s", table.concat(names, " "))
end


function step.run(ctx)
  if not recorded.take(ctx.state.folder, "run.sqlite", ctx.run, "nsys/run.sqlite") then
    errors.raise("usage", ctx.state.folder .. "/run.sqlite: no such file")
  end
  step.restore(ctx)
  return note(ctx)
end


return step
