-- No profiler: the workload runs by itself, and what it says of itself is all there is.
local identity = require "llmprof.run.identity"
local layout = require "llmprof.bundle.layout"
local workload = require "llmprof.run.workload"
local yaml = require "llmprof.yaml"

local alone = { name = "alone" }

local WHY, HOW = "capture=none", "capture=auto runs the program under a profiler"


function alone.open(ctx) ctx.state.tools = {} end
function alone.machine() return identity.captured_here {} end
function alone.about() return {} end
function alone.inputs() return { source = "workload", files = yaml.list {} } end
function alone.note() return "no profiler" end
function alone.untimed() return WHY, HOW end
function alone.timeline() return false, WHY end
function alone.counters() return false, WHY end
function alone.operators() return false, WHY end
function alone.recall() return { complaints = {} } end


-- Run it; its numbers, or nil and why there are none.
function alone.run(ctx)
  local spec = workload.describe(ctx.recipe, ctx.cfg, ctx.run)
  local folder = layout.workload.folder
  local result, lines = workload.run(ctx, { argv = spec.argv, spec = spec, folder = folder,
    log = layout.log_in(folder) })
  workload.keep_inputs(ctx, folder)
  local ended = workload.complaint(result)
  local metrics, message = workload.metrics(ctx.run, folder)
  if ended then
    ctx.fail_later("failed", "the workload: " .. ended, { detail = workload.tail(lines),
      hint = "the whole output is in " .. layout.log_in(folder) })
  end
  return metrics, message or "it wrote no metrics.json"
end


function alone.preview(ctx)
  return { alone = { workload.describe(ctx.recipe, ctx.cfg).argv } }
end


return alone
