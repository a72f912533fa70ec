-- Seeing a child process through while something else is shown or sampled.
local spawn = require "llmprof.spawn"

local process = {}

-- Between two calls of on_idle, in seconds.
local PERIOD = 0.2


-- spawn.run, whose options these are; on_idle(child) is called a few times a second.
function process.run(argv, options, on_idle)
  if not on_idle then return spawn.run(argv, options) end
  local child, message, code = spawn.start(argv, options)
  if not child then return nil, message, code end
  while child:pump(PERIOD) do on_idle(child) end
  return child:wait()
end


return process
