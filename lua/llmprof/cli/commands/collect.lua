-- llmprof collect -- COMMAND: a program under llmprof's own collector, without a recipe.
local lazy = require "llmprof.base.lazy"
local errors = require "llmprof.base.errors"
local fs = require "llmprof.fs"
local library = lazy "llmprof.collector.library"
local out = require "llmprof.base.out"
local plan = lazy "llmprof.collector.plan"
local private = require "llmprof.bundle.private"
local process = require "llmprof.base.process"
local spools = lazy "llmprof.collector.spools"
local text = require "llmprof.text"
local trace_file = lazy "llmprof.trace.file"

local command = {
  name = "collect",
  summary = "run a program under llmprof's own collector, without a recipe",
  usage = "collect [OPTION...] -- COMMAND [ARG...]",
  details = [[
The program runs as it is, with libllmprof_collector.so loaded into it by the CUDA driver
and by NVTX. What it and its children did on GPUs, and their NVTX ranges, go into one file,
which stats, repl, export and -e read. Without a plan everything is one timeline;
`llmprof help collector` lists the keys of a plan. The program reads from /dev/null.]],
  options = {
    { "output", short = "o", arg = "FILE", default = "run.spool", help = "write here" },
    { "plan", short = "p", arg = "KEY=VALUE", many = true,
      help = "a line of the collector's plan; may be repeated" },
    { "library", arg = "FILE", help = "the collector's library; found by itself unless given" },
  },
}


-- How the program ended, in words; nil when all went well.
local function complaint(result)
  if result.ok then return nil end
  if result.signal then return "it was killed by " .. result.signal end
  return ("it ended with exit status %d"):format(result.code)
end


local function run(path, given, words, folder)
  local env = library.environment(path, { folder = folder })
  if given.plan then
    env.LLMPROF_COLLECTOR_PLAN = folder .. "/plan"
    errors.check("failed", fs.write(env.LLMPROF_COLLECTOR_PLAN, plan.of_words(given.plan)))
  end
  local noted <close> = private.workload()
  local result, message = process.run(words, { env = env, stdout = "inherit",
    stderr = "inherit", kill_group = true, kill_strays = true,
    mark = noted.mark })
  errors.check("usage", result, message)
  for _, line in ipairs(process.left(result.strays, "the program")) do out.complain(line) end
  return result
end


local function count_of(trace, name)
  return text.count(#errors.check("failed", trace:frame(name)))
end


local function say(target, count)
  local trace = trace_file.open(target)
  out.write(("%s: %d process%s, %s GPU operations, %s NVTX ranges, %s API calls\n"):format(target,
    count, count == 1 and "" or "es", count_of(trace, "gpu"), count_of(trace, "ranges"),
    count_of(trace, "api")))
  for _, said in ipairs(errors.check("failed", trace:diagnostics())) do
    out.warn(("%s: %s\n"):format(said.severity, text.clean(said.text)))
  end
end


local function nothing(ended)
  errors.raise("nothing", "nothing was recorded: the program used neither CUDA nor NVTX"
    .. (ended and "; " .. ended or ""))
end


-- Where the folder for spools is made: beside the result.
local function folder_of(target)
  local folder = target:match "^(.*)/[^/]*$"
  return errors.check("usage", fs.realpath(folder == "" and "/" or folder or "."),
    ("%s: no such folder"):format(folder))
end


function command.run(given, words)
  if #words == 0 then
    errors.raise("usage", "which program?", { hint = "llmprof collect -- python3 serve.py" })
  end
  local path = library.ensure(given.library)
  local folder <close> = spools.scratch(folder_of(given.output))
  local result = run(path, given, words, folder.path)
  local ended, count = complaint(result), spools.gather(folder.path, given.output)
  if result.interrupted and count == 0 then errors.raise("interrupted", "interrupted") end
  if count == 0 then nothing(ended) end
  say(given.output, count)
  if result.interrupted then errors.raise("interrupted", "interrupted") end
  if ended then errors.raise("failed", "the program: " .. ended) end
  return 0
end


return command
