-- llmprof complete -- WORD...: what the last word could become, a line each with
-- a tab before what it is about. What the shells' completion asks.
local lazy = require "llmprof.io.lazy"
local completion = lazy "llmprof.cli.completion"
local out = require "llmprof.io.output"
local text = require "llmprof.text"

local command = { name = "complete", usage = "complete -- WORD...", options = {} }


function command.run(_, words)
  for _, candidate in ipairs(completion.candidates(words)) do
    out.write(text.clean(candidate[1]), "\t", text.clean(candidate[2] or ""), "\n")
  end
  return 0
end


return command
