-- llmprof repl [FILE...]: ask questions of a run, a trace or counters.
local command = {
  name = "repl",
  usage = "repl [RUN_ID | FOLDER | latest | TRACE | NCU.csv]...",
  details = [[
A prompt for Lua with the globals kernels, ops, ranges, stages, results and more;
help() lists them, and docs/repl.md shows what to ask. Where standard input is no
terminal it is run as a script: the exit status is 1 when it fails.]],
  options = {},
  completes = "run",
}


function command.run(_, words)
  return require("llmprof.cli.repl").start(words)
end


return command
