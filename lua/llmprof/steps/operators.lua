-- The framework's operators: workload/operators.json.
local workload = require "llmprof.workload"

local step = { name = "operators",
  summary = "the framework's own profiler, in a run without the others",
  requires = { "plan", "tools" } }


local function lack(ctx, why)
  table.insert(ctx.state.missing, { what = "operators", why = why,
    how = "operators=on, and a workload that writes operators.json when asked to" })
  return "not measured: " .. why
end


function step.run(ctx)
  local made, why = ctx.state.capture.operators(ctx)
  if not made then return lack(ctx, why) end
  ctx.outputs[1] = "workload/operators.json"
  local operators, message = workload.operators(ctx.run, "workload")
  if not operators then return lack(ctx, message) end
  ctx.state.operators = operators
  return ("%d operators"):format(#operators.operators)
end


return step
