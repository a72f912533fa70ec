-- llmprof ask CODE RUN: a question in the language of the prompt that can only read, for
-- `llmprof mcp`; people have -e.
local lazy = require "llmprof.io.lazy"
local read_only = lazy "llmprof.mcp.read_only"
local errors = require "llmprof.process.errors"
local evaluate = lazy "llmprof.cli.repl.evaluate"
local out = require "llmprof.io.output"

local command = { name = "ask", usage = "ask CODE RUN_ID | FOLDER | TRACE", raw = true }


function command.run(argv)
  if #argv ~= 2 then errors.raise("usage", "ask: code and a run are expected") end
  local chunk, wrong = evaluate.compile(argv[1], "=code", read_only.environment { argv[2] })
  local said
  if chunk then said, wrong = evaluate.run(chunk) end
  if not said then errors.raise(wrong.kind, wrong.message, { hint = wrong.hint }) end
  out.write(said)
  return 0
end


return command
