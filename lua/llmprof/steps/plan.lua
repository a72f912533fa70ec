-- Writes down what is going to happen: the composed configuration, the inputs.
local choice = require "llmprof.model.choice"
local config = require "llmprof.config"
local fs = require "llmprof.fs"

local step = { name = "plan", summary = "write down the composed configuration",
  makes = { "config.yaml" } }


function step.run(ctx)
  choice.description { cfg = ctx.cfg.model } -- a broken one is to be said before measuring
  ctx.run:write("config.yaml", config.to_yaml(ctx.config))
  return ("capture=%s, mode %s"):format(ctx.cfg.capture, ctx.cfg.mode or "default")
end


-- A run continued with other settings starts over.
function step.stale(ctx)
  return fs.read(ctx.run:path "config.yaml") ~= config.to_yaml(ctx.config)
end


return step
