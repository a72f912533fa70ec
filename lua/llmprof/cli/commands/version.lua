-- llmprof version: which llmprof this is.
local errors = require "llmprof.process.errors"
local out = require "llmprof.io.output"

local command = {
  name = "version",
  usage = "version",
  options = {},
  completes = {},
}


function command.run(_, words)
  if #words > 0 then errors.raise("usage", "the version stands alone") end
  out.write("llmprof ", require("llmprof.version").version, "\n")
  return 0
end


return command
