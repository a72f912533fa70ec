-- Where the capture comes from, the tools that takes, and what is known about
-- the machine.
local choose = require "llmprof.capture.choose"
local environment = require "llmprof.environment"
local live = require "llmprof.capture.live"
local nsys = require "llmprof.vendor.nsys"
local recorded = require "llmprof.capture.recorded"
local yaml = require "llmprof.yaml"

local step = { name = "tools", summary = "find the tools, describe the machine and the inputs",
  requires = { "plan" } }


function step.run(ctx)
  ctx.state.capture = choose(ctx.cfg)
  if ctx.state.capture == live then nsys.check(ctx.cfg.nsys) end
  ctx.state.capture.open(ctx)
  ctx.run:write("inputs.yaml", yaml.encode(ctx.state.capture.inputs(ctx)))
  ctx.state.environment = environment.record(ctx)
  ctx.run:write_json("env.json", ctx.state.environment)
  table.move({ "inputs.yaml", "env.json" }, 1, 2, 1, ctx.outputs)
  if ctx.state.capture == recorded then return "none needed for a recorded capture" end
  return ("nsys %s, %s"):format(ctx.state.nsys.version,
    ctx.state.ncu and "ncu " .. ctx.state.ncu.version or "no ncu: counters will be left out")
end


return step
