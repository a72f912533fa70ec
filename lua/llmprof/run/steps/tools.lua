-- Where the capture comes from, the tools that takes, and what is known about
-- the machine.
local captures = require "llmprof.run.capture"
local environment = require "llmprof.run.environment"
local layout = require "llmprof.bundle.layout"
local yaml = require "llmprof.yaml"

local step = { name = "tools", summary = "find the tools, describe the machine and the inputs",
  requires = { "plan" } }


function step.run(ctx)
  local state, source = ctx.state, captures.of(ctx.cfg)
  state.capture = source
  source.open(ctx)
  if source.find then source.find(ctx) end
  ctx.run:write(layout.inputs, yaml.encode(source.inputs(ctx)))
  state.environment = environment.record(source.machine(ctx))
  ctx.run:write_json(layout.environment, state.environment)
  state.about = source.about(ctx)
  table.move({ layout.inputs, layout.environment }, 1, 2, 1, ctx.outputs)
  return source.note(ctx)
end


return step
