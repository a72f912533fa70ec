-- The framework's operators: workload/operators.json, as the workload wrote it
-- or made from a trace of torch.profiler.
local layout = require "llmprof.bundle.layout"
local operators = require "llmprof.run.operators"

local step = { name = "operators",
  summary = "the framework's own profiler, in a run without the others",
  requires = { "plan", "tools" } }


local function lack(ctx, why)
  table.insert(ctx.state.missing, { what = "operators", why = why,
    how = "operators=on, and a workload that writes operators.json or a trace when asked to; "
      .. "or workload.operators_trace=FILE" })
  return "not measured: " .. why
end


-- The file to read; nil, why not.
local function find(ctx)
  local given = ctx.cfg.workload.operators_trace
  if given then return given end
  local made, why = ctx.state.capture.operators(ctx)
  if not made then return nil, why end
  return operators.find(ctx.run:path(layout.workload.operators_pass))
    or operators.find(ctx.run:path(layout.workload.folder))
end


function step.run(ctx)
  local path, why = find(ctx)
  if not path then return lack(ctx, why) end
  local found, message = operators.load(path)
  if not found then return lack(ctx, message) end
  ctx.run:write_json(layout.workload.operators, found)
  ctx.outputs[1] = layout.workload.operators
  ctx.state.operators = found
  return ("%d operators"):format(#found.operators)
end


return step
