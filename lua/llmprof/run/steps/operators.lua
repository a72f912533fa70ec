-- The framework's operators: workload/operators.json, as the workload wrote it
-- or made from a trace of torch.profiler.
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local operators = require "llmprof.run.operators"

local step = { name = "operators",
  summary = "the framework's own profiler, in a run without the others",
  requires = { "plan", "tools" }, makes = { layout.workload.operators },
  reads = { "capture", "tools", "folder", "environment" },
  gives = { operators = "the framework's operators: llmprof.run.operators; nil without" },
  dispensable = true }


local function lack(ctx, why)
  ctx.lack("operators", why, "operators=on, and a workload that writes operators.json or a trace "
    .. "when asked to; or workload.operators_trace=FILE")
  return "not measured: " .. why
end


function step.run(ctx)
  local found, why = ctx.cfg.workload.operators_trace, nil
  if not found then found, why = ctx.state.capture.operators(ctx) end
  if type(found) == "string" then found, why = errors.unless_systems(operators.load(found)) end
  if not found then return lack(ctx, why) end
  ctx.run:write_document(layout.workload.operators, "operators", operators.with_shares(found))
  ctx.state.operators = found
  return ("%d operators"):format(#found.operators)
end


function step.restore(ctx)
  ctx.state.operators = errors.check(operators.load(ctx.run:path(layout.workload.operators)))
end


-- A trace outside of the bundle, newer than what was made of it.
function step.stale(ctx)
  local given = ctx.cfg.workload.operators_trace
  local from, made = given and fs.stat(given), fs.stat(ctx.run:path(layout.workload.operators))
  return from ~= nil and made ~= nil and from.mtime_ns > made.mtime_ns
end


return step
