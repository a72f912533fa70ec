-- llmprof export RUN_OR_TRACE: a timeline for other programs, to look at in
-- ui.perfetto.dev or to read as an export of Nsight Systems; stacks for flame graph tools.
local lazy = require "llmprof.io.lazy"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local layout = lazy "llmprof.bundle.layout"
local out = require "llmprof.io.output"
local text = require "llmprof.text"
local argument = lazy "llmprof.cli.arguments"
local trace_file = lazy "llmprof.trace.file"
local user = require "llmprof.recipe.user"

local command = {
  name = "export",
  usage = "export [OPTION...] TRACE | RUN_ID | FOLDER | latest",
  details = [[
perfetto: GPU streams, NVTX ranges and API calls per thread, with flows from each call to what it
launched; of a name its first 8 KiB. sqlite: the tables of an export of Nsight Systems, with NULL
for what llmprof does not keep. speedscope and folded: stacks for speedscope.app, or a line for
each, which flame graph tools read, too: the GPU's time (ns) by the lines of Python that launched
what ran, where the trace knows them, else samples of the CPU.]],
  options = {
    { "output", short = "o", arg = "FILE",
      help = "write here, as gzip if it ends in .gz; perfetto.json.gz next to the trace" },
    { "format", short = "f", arg = "NAME", choices = { "perfetto", "sqlite", "folded",
      "speedscope" },
      help = "what to write, else by FILE's ending (perfetto)" },
    { "stacks", arg = "WHICH", choices = { "gpu", "cpu" },
      help = "of folded and speedscope: the GPU's time or samples of the CPU" },
    user.root_option,
  },
  completes = "run",
}


local check = errors.check


-- The trace of a run, or the file itself; and where the result goes when nobody says.
local function locate(name, root)
  local path = argument.path(name, root)
  local run = path:sub(-#layout.timeline - 1) == "/" .. layout.timeline
    and path:sub(1, -#layout.timeline - 2)
  if run then return path, run .. "/" .. layout.perfetto end
  return path, argument.stem(name, path) .. ".perfetto.json.gz"
end


local function say(target, written, use)
  out.write(("%s: %s GPU operations, %s NVTX ranges, %s API calls; %s\n"):format(target,
    text.count(written.operations), text.count(written.ranges), text.count(written.calls), use))
end


local writers = {}

function writers.perfetto(trace, target)
  local written = check(trace:perfetto(target, { packed = target:find "%.gz$" ~= nil }))
  say(target, written, "open it in ui.perfetto.dev")
  if written.long_names > 0 then
    out.complain(("%s: names of more than 8 KiB, which are cut there: %s"):format(target,
      text.count(written.long_names)))
  end
end


function writers.sqlite(trace, target)
  say(target, check(trace:sqlite(target)), "in the schema of nsys 2025.3")
end


local NO_STACKS = { hint = "collector.sources and torch.profiler's with_stack=True record the "
  .. "lines of launches, nsys.sample=process-tree samples of the CPU" }


-- Of operations where lines launched them are known, else of CPU samples; or of what --stacks
-- says.
local function write_stacks(trace, target, given, format)
  local kind = given.stacks or (trace:knows "lines" and "gpu" or "cpu")
  if kind == "gpu" and not trace:knows "lines" then
    errors.raise("nothing", "no stack of a launch is known", NO_STACKS)
  end
  local samples = check(trace:frame(kind == "gpu" and "gpu" or "cpu_samples"))
  local written, message, code = trace:write_stacks(samples, target,
    { format = format, packed = target:find "%.gz$" ~= nil })
  if code == "empty" then errors.raise("nothing", message, NO_STACKS) end
  check(written, message, code)
  local without = written.without_stack
  out.write(("%s: %s in %s stacks%s; open it in speedscope.app\n"):format(target, kind == "gpu"
    and text.duration(written.weight) .. " of GPU time" or text.count(written.weight) .. " samples",
    text.count(written.stacks),
    without > 0 and (", %s more without a stack"):format(text.count(without)) or ""))
end


writers.folded, writers.speedscope = write_stacks, write_stacks


function command.run(given, words)
  local word = argument.only(words, "trace or run", "llmprof export latest")
  if given.output == "-" then
    errors.raise("usage", "-o -: a file is written, not standard output")
  end
  local ending = (given.output or ""):gsub("%.gz$", ""):match "[^/]%.(%l+)$"
  local format = given.format or writers[ending] and ending or "perfetto"
  if format ~= "perfetto" and not given.output then
    errors.raise("usage", ("--format %s: where to?"):format(format),
      { hint = "-o FILE." .. format .. (format == "speedscope" and ".json" or "") })
  end
  local path, beside = locate(word, given.root)
  local target = given.output or beside
  if fs.realpath(target) and fs.realpath(target) == fs.realpath(path) then
    errors.raise("usage", "the output must be another file than the trace")
  end
  local trace = trace_file.open(path)
  writers[format](trace, target, given, format)
  argument.warn(trace, true)
  return 0
end


return command
