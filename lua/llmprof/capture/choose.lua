-- Which capture serves a run: llmprof.capture.live or .recorded.
local errors = require "llmprof.errors"
local live = require "llmprof.capture.live"
local recorded = require "llmprof.capture.recorded"
local tools = require "llmprof.vendor.tools"

return function(cfg)
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
