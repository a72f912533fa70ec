-- The workload without any profiler, where no capture is wanted: its own numbers.
local layout = require "llmprof.bundle.layout"
local workload = require "llmprof.run.workload"

local step = { name = "alone", summary = "the workload by itself, with its own numbers",
  requires = { "plan", "tools" }, makes = { layout.workload.metrics },
  reads = { "capture", "tools", "folder", "environment" },
  gives = { own = "the workload's numbers of a run without a capture; nil without" } }


function step.belongs(cfg) return cfg.capture == "none" end


function step.restore(ctx) ctx.state.own = workload.metrics(ctx.run, layout.workload.folder) end


function step.run(ctx)
  local metrics, message = ctx.state.capture.run(ctx)
  ctx.state.own = metrics
  if metrics then return ("%d repeat%s"):format(#metrics.repeats,
    #metrics.repeats == 1 and "" or "s") end
  ctx.lack("the workload's own numbers", message,
    "write $LLMPROF_WORKLOAD_DIR/metrics.json as docs/workload.md describes")
  -- broken ones are said of every run
  if not ctx.run:has(layout.workload.metrics) then
    ctx.run:add_partial("nothing was measured: capture=none, and " .. message)
  end
  return "no numbers: " .. message
end


return step
