-- llmprof probe: launch one empty kernel. What doctor runs under ncu.
local cuda = require "llmprof.cuda"
local errors = require "llmprof.process.errors"

local command = { name = "probe", usage = "probe", options = {} }


function command.run()
  local done, message = cuda.probe()
  if not done then errors.raise("tool", message) end
  return 0
end


return command
