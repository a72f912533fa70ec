-- Which capture serves a run: llmprof.capture.live or .recorded.
local errors = require "llmprof.base.errors"
local live = require "llmprof.run.capture.live"
local recorded = require "llmprof.run.capture.recorded"

return function(cfg)
  if cfg.capture == "recorded" then return recorded end
  if cfg.capture == "builtin" then
    errors.raise("tool", "capture=builtin: this build has no collector of its own",
      { hint = "capture=nsys uses Nsight Systems, capture=recorded a recorded capture" })
  end
  return live
end
