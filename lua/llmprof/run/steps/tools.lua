-- Where the capture comes from, the tools that takes, and what is known about
-- the machine.
local captures = require "llmprof.run.capture"
local document = require "llmprof.io.document"
local errors = require "llmprof.process.errors"
local identity = require "llmprof.run.identity"
local layout = require "llmprof.bundle.layout"
local yaml = require "llmprof.yaml"

local step = { name = "tools", summary = "find the tools, describe the machine and the inputs",
  requires = { "plan" }, makes = { layout.inputs, layout.environment },
  gives = {
    capture = "where the data comes from: a source of llmprof.run.capture",
    tools = "the tools that were found, by name",
    folder = "of the recorded capture; nil for one made now",
    environment = "the machines: { captured_on, analysed_on }",
    about = "the capture: tools, and what is known of the workload",
  } }


-- What is known without looking for a tool.
local function open(ctx)
  local source = captures.of(ctx.cfg)
  ctx.state.tools, ctx.state.capture = {}, source
  if source.open then source.open(ctx) end
  return source
end


-- A tool that is needed after all is looked for then.
function step.restore(ctx)
  local source = open(ctx)
  ctx.state.environment = errors.check(document.read(ctx.run:path(layout.environment), "env"))
  ctx.state.about = source.about(ctx)
end


-- The machine and the inputs are written down, too, when a tool is not there.
function step.run(ctx)
  local state, source = ctx.state, open(ctx)
  local found, lack = true, nil
  if source.find then found, lack = errors.call(source.find, ctx) end
  ctx.run:write(layout.inputs, yaml.encode(source.inputs and source.inputs(ctx)
    or { source = "workload", files = yaml.list {} }))
  local machine
  if source.machine then
    machine = source.machine(ctx)
  else
    machine = identity.captured_here(state.tools, ctx.recipe)
  end
  state.environment = identity.environment(machine, identity.planned(ctx.cfg))
  ctx.run:write_document(layout.environment, "env", state.environment)
  if not found then error(lack, 0) end
  state.about = source.about(ctx)
  return source.note(ctx)
end


return step
