-- The framework's operators: workload/operators.json.
local json = require "llmprof.json"
local recorded = require "llmprof.recorded"

local step = { name = "operators", requires = { "plan", "tools" } }


function step.run(ctx)
  if not recorded.take(ctx.state.folder, "operators.json", ctx.run, "workload/operators.json") then
    local why = "the recorded capture has no operators.json"
    table.insert(ctx.state.missing, { what = "operators", why = why,
      how = "run with operators on: the workload once more under torch.profiler" })
    return "not measured: " .. why
  end
  ctx.outputs[1] = "workload/operators.json"
  local operators, message = json.load(ctx.run:path "workload/operators.json")
  if not operators then error(message, 0) end
  ctx.state.operators = operators
  return ("%d operators"):format(#operators.operators)
end


return step
