-- llmprof -e CODE [FILE...]: one line for the prompt, unattended; help shows
-- it as -e.
local errors = require "llmprof.process.errors"

local command = {
  name = "eval",
  usage = "-e CODE [RUN_ID | FOLDER | latest | TRACE | NCU.csv]...",
  raw = true, -- files may be called anything
}


function command.run(argv)
  local code = argv[1]
  if not code then
    errors.raise("usage", "-e: which code?",
      { hint = [[for example: llmprof -e 'kernels:top(10, "dur")' run.sqlite]] })
  end
  require("llmprof.cli.repl").run(code, "=-e", table.move(argv, 2, #argv, 1, {}))
  return 0
end


return command
