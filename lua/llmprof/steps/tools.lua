-- Are the tools there that this run needs?
local errors = require "llmprof.errors"

local step = { name = "tools" }


function step.run(ctx)
  if ctx.cfg.capture == "recorded" then return "none needed for a recorded capture" end
  errors.raise("tool", ("capture=%s: Nsight Systems was not found"):format(ctx.cfg.capture),
    { hint = "capture=recorded analyses the recipe's recorded capture without any tool" })
end


return step
