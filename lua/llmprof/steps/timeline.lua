-- The timeline: nsys/run.sqlite.
local errors = require "llmprof.errors"
local stages = require "llmprof.analysis.stages"
local text = require "llmprof.text"
local trace_file = require "llmprof.trace_file"
local workload = require "llmprof.workload"

local step = { name = "timeline", summary = "capture the timeline and read it",
  requires = { "plan", "tools" }, makes = { "nsys/run.sqlite" } }


local function check_captured(trace)
  local ops = errors.check("failed", trace:frame "gpu")
  local ranges = errors.check("failed", trace:frame "ranges")
  if #ops == 0 and #ranges == 0 then
    errors.raise("nothing", "nothing was captured: no GPU operation and no NVTX range",
      { hint = "did the workload use the GPU, and was CUDA traced?" })
  end
end


-- The workload's own numbers; broken ones are said and left out.
local function read_metrics(ctx)
  local metrics, message = workload.metrics(ctx.run, "workload")
  ctx.state.metrics = metrics
  if metrics then return end
  table.insert(ctx.state.missing, { what = "the workload's own numbers",
    why = message or "it wrote no metrics.json",
    how = "write $LLMPROF_WORKLOAD_DIR/metrics.json as docs/workload.md describes" })
end


function step.restore(ctx)
  local trace = trace_file.open(ctx.run:path "nsys/run.sqlite")
  check_captured(trace)
  ctx.state.trace = trace
  ctx.state.found = stages.find(trace, ctx.recipe.stages, ctx.cfg.repeats.skip_first)
  read_metrics(ctx)
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
  ctx.state.capture.timeline(ctx)
  step.restore(ctx)
  return note(ctx)
end


return step
