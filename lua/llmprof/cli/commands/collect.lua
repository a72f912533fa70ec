-- llmprof collect -- COMMAND: a program under llmprof's own collector, without a recipe.
-- Once it has started, its exit status is ours, whatever becomes of the recording.
local lazy = require "llmprof.io.lazy"
local errors = require "llmprof.process.errors"
local files = require "llmprof.io.files"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"
local out = require "llmprof.io.output"
local private = require "llmprof.bundle.private"
local process = require "llmprof.process.child"
local collector = lazy "llmprof.collector"
local sorted_keys = require("llmprof.tables.keys").sorted
local sys = require "llmprof.sys"
local text = require "llmprof.text"
local argument = lazy "llmprof.cli.arguments"
local trace_file = lazy "llmprof.trace.file"

local command = {
  name = "collect",
  usage = "collect [OPTION...] -- COMMAND [ARG...]",
  launches = true,
  details = [[
The program runs as it is, with libllmprof_collector.so loaded into it by the CUDA driver
and by NVTX. What it and its children did on GPUs, and their NVTX ranges, go into one file,
which stats, repl, export and -e read: FILE.spool, a recording, or FILE.sqlite, in the schema
of an export of Nsight Systems. Without a plan everything is one timeline; `llmprof help
collector` lists the keys of a plan. The program reads from /dev/null.

The exit status is the program's; 128 and the number of the signal that ended it; 127 there
is no such program, 126 it cannot be started, 125 anything else that is wrong before it
starts. What is to be said of the recording goes to standard error; with --strict the status
is 4 where nothing was recorded, and 1 where the recording failed or is not whole.]],
  options = {
    { "output", short = "o", arg = "FILE", default = "run.spool",
      help = "write here: NAME.spool or NAME.sqlite" },
    { "plan", short = "p", arg = "KEY=VALUE", many = true,
      help = "a line of the collector's plan; may be repeated" },
    { "library", arg = "FILE", help = "the collector's library; found by itself unless given" },
    { "print-env", help = "print the variables that put the collector into a program, for "
      .. "`llmprof attach`" },
    { "print-pth", help = "print the same for site-packages/llmprof.pth, of an engine that starts "
      .. "its workers without these variables" },
    { "report", help = "report what was recorded, as `llmprof report` does" },
    { "strict", help = "exit status 4 without a recording, 1 where it is not whole" },
  },
}


-- ---- the file ----

-- write(all, target): from the spools as one file in our folder; returns the trace.
local writers = {}


function writers.spool(all, target)
  errors.check(fs.rename(all, target))
  return trace_file.open(target)
end


-- Where it cannot be written, what was recorded is kept.
function writers.sqlite(all, target)
  local trace = trace_file.open(all)
  local written, message = trace:sqlite(target)
  if written then return trace end
  local kept = target .. ".spool"
  errors.raise("failed", message,
    { hint = fs.rename(all, kept) and "what was recorded is in " .. kept or nil })
end


local function writer_for(target)
  if files.is_folder(target) then
    errors.raise("usage", target .. ": a folder", { hint = "-o NAME.spool or -o NAME.sqlite" })
  end
  return writers[target:match "[^/]%.(%l+)$"] or errors.raise("usage",
    ("%s: neither .spool nor .sqlite"):format(target),
    { hint = "NAME.spool is a recording, NAME.sqlite has the schema of nsys" })
end


-- By the code of why it could not be started.
local KINDS = { notfound = "no_program", denied = "not_executable",
  unsupported = "not_executable", limit = "not_executable" }


local function run(words, env)
  local noted <close> = private.workload()
  local result, message, code = process.run(words, { env = env, stdout = "inherit",
    stderr = "inherit", kill_group = true, kill_orphans = true, mark = noted.mark })
  if not result then errors.raise(KINDS[code] or "failed", message) end
  for _, line in ipairs(process.left(result.orphans, "the program")) do out.complain(line) end
  return result
end


-- ---- what it left ----

local function count_of(trace, name) return text.count(#errors.check(trace:frame(name))) end


-- Write and tell what was recorded: the exit status with --strict.
local function keep(target, write, folder, refused)
  local said, all = refused:said(folder.path), folder.path .. "/all"
  local count, generated = collector.gather(folder.path, all)
  for _, line in ipairs(lists.joined(said, generated)) do out.complain(line) end
  if count == 0 then
    out.complain("nothing was recorded"
      .. (#said == 0 and ": no process loaded the collector" or ""))
    if #said == 0 then out.warn("  ", collector.NOT_LOADED, "\n") end
    return errors.status.nothing
  end
  local trace = write(all, target)
  out.warn(("%s: %d process%s, %s GPU operations, %s NVTX ranges, %s API calls\n"):format(target,
    count, count == 1 and "" or "es", count_of(trace, "gpu"), count_of(trace, "ranges"),
    count_of(trace, "api")))
  local is_whole = argument.warn(trace)
  trace:close()
  return is_whole and #said == 0 and 0 or errors.status.failed
end


-- The same; where it fails that is said, and the program's status stays.
local function keep_or_say(...)
  local kept, status = errors.call(keep, ...)
  if kept then return status end
  local err = status -- what it raised
  if err.detail then out.warn(err.detail, "\n") end
  out.complain("the recording failed: " .. err.message)
  if err.hint then out.warn("  ", err.hint, "\n") end
  return errors.status.failed
end


-- The report, where it is asked for; else how to have it.
local function tell_more(given)
  if given.report then
    local made, err = errors.call(argument.report, given.output, 2)
    if made then return end
    if err.bug or err.kind == "interrupted" then error(err, 0) end
    out.complain("the report failed: " .. err.message)
  elseif sys.isatty(2) then
    out.warn("  where its time goes: ", process.shown { "llmprof", "report", given.output },
      "\n")
  end
end


-- As words of env: a program that is told no more is idle until somebody attaches.
local function print_env(given)
  for name, value in pairs(collector.environment(collector.ensure(given.library), {})) do
    out.write(name, "=", process.shown { value }, "\n")
  end
  return 0
end


-- As the line of a .pth file, which Python runs at its start.
local function print_pth(given)
  local path = errors.check(json.encode(collector.ensure(given.library)))
  out.write("import os")
  for _, name in ipairs(sorted_keys(collector.environment(path, {}))) do
    out.write(('; os.environ.setdefault("%s", %s)'):format(name, path))
  end
  out.write("\n")
  return 0
end


function command.run(given, words)
  if given["print-pth"] then return print_pth(given) end
  if given["print-env"] then return print_env(given) end
  if #words == 0 then
    errors.raise("usage", "which program?", { hint = "llmprof collect -- python3 serve.py" })
  end
  local write = writer_for(given.output)
  local path = collector.ensure(given.library)
  local folder <close> = collector.scratch(argument.folder_of(given.output))
  local refused <close> = collector.refusals()
  local plan = given.plan and collector.plan_of_words(given.plan)
  local env = collector.environment(path, { folder = folder.path, refusals = refused.key,
    plan = plan and folder.path .. "/plan",
    sources = plan and collector.plan_value(plan, "sources") or "auto" })
  if plan then errors.check(fs.write(env.LLMPROF_COLLECTOR_PLAN, plan)) end
  local result = run(words, env)
  local status = keep_or_say(given.output, write, folder, refused)
  if not result.ok then
    out.complain(result.signal and "the program was killed by " .. result.signal
      or ("the program ended with exit status %d"):format(result.code))
  end
  if status ~= errors.status.nothing then tell_more(given) end
  return given.strict and status ~= 0 and status or result.status
end


return command
