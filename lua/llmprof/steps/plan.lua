-- Writes down what is going to happen: the composed configuration, the inputs,
-- the machine.
local config = require "llmprof.config"
local environment = require "llmprof.environment"
local fs = require "llmprof.fs"
local recorded = require "llmprof.recorded"
local yaml = require "llmprof.yaml"

local step = { name = "plan", makes = { "config.yaml", "inputs.yaml", "env.json" } }


-- What a recorded run reads, with sizes.
local function recorded_inputs(folder)
  local inputs = yaml.list {}
  for _, name in ipairs { "capture.json", "metrics.json", "ncu/raw.csv", "operators.json",
    "run.sqlite" } do
    local info = fs.stat(folder .. "/" .. name)
    if info then
      inputs[#inputs + 1] = yaml.ordered({ file = name, bytes = info.size }, { "file", "bytes" })
    end
  end
  return { source = folder, files = inputs }
end


function step.restore(ctx)
  if ctx.cfg.capture == "recorded" then
    ctx.state.folder = recorded.folder(ctx.cfg, ctx.recipe.name)
    ctx.state.about = recorded.about(ctx.state.folder)
  end
end


function step.run(ctx)
  step.restore(ctx)
  ctx.run:write("config.yaml", config.to_yaml(ctx.config))
  local inputs = ctx.state.folder and recorded_inputs(ctx.state.folder) or { files = yaml.list {} }
  ctx.run:write("inputs.yaml", yaml.encode(inputs))
  ctx.run:write_json("env.json", environment.record(ctx.state.about))
  return ("capture=%s, mode %s"):format(ctx.cfg.capture, ctx.cfg.mode or "default")
end


return step
