-- llmprof mcp: a server for agents.
local errors = require "llmprof.process.errors"
local lazy = require "llmprof.io.lazy"
local server = lazy "llmprof.mcp.server"

local command = {
  name = "mcp",
  usage = "mcp [OPTION...]",
  details = [[
Messages come in on standard input and go out on standard output, one a line. Its tools
list runs, tell one in a few lines, print tables, answer questions in the language of the
prompt (read only) and compare runs; with --allow-capture also one that runs recipes.]],
  options = {
    { "root", arg = "DIR", help = "where runs are kept" },
    { "seconds", arg = "N", type = "integer", default = 60, min = 1,
      help = "how long an answer may take" },
    { "allow-capture", help = "let it run recipes, which run programs" },
  },
  completes = {},
}


function command.run(given, words)
  if #words > 0 then errors.raise("usage", "mcp takes no words") end
  server.run { root = given.root, allow_capture = given["allow-capture"],
    seconds = given.seconds }
  return 0
end


return command
