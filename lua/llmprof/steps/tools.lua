-- Where the capture comes from, the tools that takes, and what is known about
-- the machine.
local environment = require "llmprof.environment"
local errors = require "llmprof.errors"
local live = require "llmprof.capture.live"
local nsys = require "llmprof.vendor.nsys"
local recorded = require "llmprof.capture.recorded"
local tools = require "llmprof.vendor.tools"
local yaml = require "llmprof.yaml"

local step = { name = "tools", requires = { "plan" } }


local function choose(cfg)
  if cfg.capture == "recorded" then return recorded end
  if cfg.capture == "builtin" then
    errors.raise("tool", "capture=builtin: this build has no collector of its own",
      { hint = "capture=nsys uses Nsight Systems, capture=recorded a recorded capture" })
  end
  if cfg.capture == "auto" and not tools.find("nsys", cfg.tools.nsys) then
    errors.raise("tool", "Nsight Systems (nsys) was not found",
      { hint = "install it, name it with tools.nsys=PATH, or use capture=recorded" })
  end
  return live
end


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
