-- No profiler: the workload runs by itself, and what it says of itself is all there is.
local identity = require "llmprof.run.identity"
local layout = require "llmprof.bundle.layout"
local workload = require "llmprof.run.workload"
local yaml = require "llmprof.yaml"

local none = { name = "alone" }

local WHY, HOW = "capture=none", "capture=auto runs the program under a profiler"


function none.open(ctx) ctx.state.tools = {} end
function none.machine() return identity.captured_here {} end
function none.about() return {} end
function none.inputs() return { source = "workload", files = yaml.list {} } end
function none.note() return "no profiler" end
function none.untimed() return WHY, HOW end
function none.timeline() return false, WHY end
function none.counters() return false, WHY end
function none.operators() return false, WHY end
function none.recall() return { complaints = {} } end


-- Run it; its numbers, or nil and why there are none.
function none.run(ctx)
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


function none.preview(ctx)
  return { alone = { workload.describe(ctx.recipe, ctx.cfg).argv } }
end


return none
