-- Where the capture comes from, the tools that takes, and what is known about
-- the machine.
local choose = require "llmprof.run.capture.choose"
local config = require "llmprof.recipe.config"
local environment = require "llmprof.run.environment"
local layout = require "llmprof.bundle.layout"
local recorded = require "llmprof.run.capture.recorded"
local sorted_keys = require "llmprof.base.sorted_keys"
local yaml = require "llmprof.yaml"

local step = { name = "tools", summary = "find the tools, describe the machine and the inputs",
  requires = { "plan" } }


-- Which settings of the command line a recorded capture does not heed.
local function note_recorded(ctx)
  local set = {}
  for _, key in ipairs(sorted_keys(ctx.config.origins)) do
    if ctx.config.origins[key] == config.COMMAND_LINE then set[#set + 1] = key end
  end
  local unheard = recorded.unheard(ctx.recipe, set)
  return "none needed for a recorded capture" .. (#unheard > 0
    and ", in which this changes nothing: " .. table.concat(unheard, " ") or "")
end


function step.run(ctx)
  ctx.state.capture = choose(ctx.cfg)
  ctx.state.capture.open(ctx)
  ctx.run:write(layout.inputs, yaml.encode(ctx.state.capture.inputs(ctx)))
  ctx.state.environment = environment.record(ctx)
  ctx.run:write_json(layout.environment, ctx.state.environment)
  table.move({ layout.inputs, layout.environment }, 1, 2, 1, ctx.outputs)
  if ctx.state.capture == recorded then return note_recorded(ctx) end
  return ("nsys %s, %s"):format(ctx.state.nsys.version,
    ctx.state.ncu and "ncu " .. ctx.state.ncu.version or "no ncu: counters will be left out")
end


return step
