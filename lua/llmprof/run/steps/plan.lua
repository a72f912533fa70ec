-- Writes down what is going to happen: the composed configuration, the inputs.
local captures = require "llmprof.run.capture"
local choice = require "llmprof.model.choice"
local config = require "llmprof.recipe.config"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local hardware = require "llmprof.model.hardware"
local identity = require "llmprof.run.identity"
local recipe = require "llmprof.recipe"
local layout = require "llmprof.bundle.layout"
local vendors = require "llmprof.nvidia.vendors"

local step = { name = "plan", summary = "write down the composed configuration",
  makes = { layout.config } }


-- What is wrong with the settings is to be said before measuring.
local function check(composed, cfg)
  for _, vendor in ipairs(vendors) do vendor.check(cfg[vendor.name]) end
  if composed.origins["nsys.nvtx_capture"] == config.COMMAND_LINE and cfg.nsys.nvtx_capture
    and cfg.nsys.capture_range ~= "nvtx" then
    errors.raise("usage", "nsys.nvtx_capture is set, but nsys.capture_range is not nvtx",
      { hint = "add nsys.capture_range=nvtx" })
  end
  if cfg.timeline == "off" and cfg.counters == "off" and cfg.operators == "off" then
    errors.raise("usage", "timeline=off counters=off operators=off: nothing is left to measure")
  end
  choice.description { cfg = cfg.model }
  if cfg.hardware and cfg.hardware.name then hardware.load(cfg.hardware.name) end
  local manifest = cfg.inputs and cfg.inputs.manifest
  if manifest and manifest ~= "" then recipe.inputs(manifest) end
  local given = cfg.workload.operators_trace
  if given and not fs.stat(given) then
    errors.raise("usage", ("workload.operators_trace=%s: no such file"):format(given))
  end
end


-- What config.yaml is to hold.
local function written(ctx)
  local source = captures.of(ctx.cfg)
  return config.to_yaml(ctx.config, source.captured_with and source.captured_with(ctx))
end


-- What capture=auto comes to.
local function chosen(cfg)
  if cfg.capture ~= "auto" then return "" end
  local why = captures.declined(cfg)
  return why and (" (nsys: %s)"):format(why) or " (llmprof's own collector)"
end


function step.run(ctx)
  check(ctx.config, ctx.cfg)
  ctx.run:write(layout.config, written(ctx))
  ctx.run.manifest.model = identity.planned(ctx.cfg)
  return ("capture=%s%s, mode %s"):format(ctx.cfg.capture, chosen(ctx.cfg),
    ctx.cfg.mode or "default")
end


-- A run continued with other settings starts over.
function step.stale(ctx)
  local contents = written(ctx)
  return fs.read(ctx.run:path(layout.config), #contents) ~= contents
end


return step
