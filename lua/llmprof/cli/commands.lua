-- The subcommands: files of lua/llmprof/cli/commands, which llmprof.cli explains.
local files = require "llmprof.io.files"
local lists = require "llmprof.tables.lists"
local options = require "llmprof.cli.options"
local out = require "llmprof.io.output"

local commands = {}

-- What each is for, in a line: help lists them without loading any. false: not for people.
local summaries = {
  ask = false,
  attach = "record a program that runs, for some seconds",
  baseline = "names for runs that others are compared with",
  check = "look a recipe over without running it, and say how to mend it",
  clean = "remove old runs, after asking",
  collect = "run a program under llmprof's own collector, without a recipe",
  compare = "what changed from one run to others, and is it more than noise",
  complete = false,
  completion = "print a script that makes a shell or an editor complete llmprof",
  digest = "a run in a few lines: speed, verdict, what to do",
  doctor = "check tools, GPU, permissions and Python, and say how to mend them",
  exec = "run a Lua script with llmprof's modules",
  export = "a timeline for ui.perfetto.dev, as SQLite of nsys, or its stacks",
  gate = "run a recipe until limits against a baseline are decided, for CI",
  help = "what a command does, or a page of the manual",
  ls = "the runs with TTFT, TPOT and status, one figure of all, or the files of one",
  mcp = "answer agents: a Model Context Protocol server",
  new = "write a recipe and a workload to start from",
  open = "the best report of a run: its path, or the browser",
  operators = "the framework's operators, from a torch.profiler trace",
  ranks = "steps, ranks and collectives of many files as one",
  record = "keep what a run captured as a recorded capture",
  repl = "ask questions of a run or a trace, at a prompt",
  report = "page, summary, digest and results of any trace",
  run = "profile a workload by a recipe, write the bundle",
  scrub = "copy an export without what it tells about the machine and its user",
  show = "a table of a run's results, or which there are",
  stats = "NVIDIA's summary tables, from any trace",
  sweep = "run the combinations of several settings, and show the trend",
  whatif = "what a change would gain, by replaying the trace",
}

-- Their names, sorted.
function commands.names() return files.module_names "cli/commands" end


function commands.has(name) return lists.has(commands.names(), name) end


function commands.load(name) return require("llmprof.cli.commands." .. name) end


-- What a command is for; false where help does not list it. One of $LLMPROF_HOME says it itself.
function commands.summary(name)
  if summaries[name] == nil then return commands.load(name).summary end
  return summaries[name]
end


-- The options of a command, --help included.
function commands.options_of(command)
  return lists.joined(command.options or {}, { { "help", short = "h", help = "this text" } })
end


-- Text for standard output, at the width of a terminal if that is one.
function commands.fit(said) return out.wrap(said, out.columns(1)) end


-- What a command does and takes; words: those of its command line.
function commands.help_of(command, words)
  if command.help then return commands.fit(command.help(words)) end
  local about = "usage: llmprof " .. command.usage .. "\n"
  local summary = commands.summary(command.name)
  if summary then about = about .. "\n" .. summary .. "\n" end
  if command.details then about = about .. "\n" .. command.details .. "\n" end
  return commands.fit(about .. "\noptions:\n" .. options.help(commands.options_of(command)))
end


return commands
