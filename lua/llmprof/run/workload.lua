-- The program that a recipe profiles: how it is started, and what it says about
-- itself. docs/workload.md is the contract.
local document = require "llmprof.io.document"
local errors = require "llmprof.process.errors"
local files = require "llmprof.io.files"
local keys = require "llmprof.tables.keys"
local supervise = require "llmprof.run.supervise"
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local lists = require "llmprof.tables.lists"
local private = require "llmprof.bundle.private"
local process = require "llmprof.process.child"
local recipe = require "llmprof.recipe"
local yaml = require "llmprof.yaml"
local digest = require "llmprof.digest"
local gpu = require "llmprof.gpu"
local tools = require "llmprof.nvidia.tools"

local workload = {}


-- ---- launching ----

-- A workload of several ranks: recipes/workloads/launch.py starts them, each with a log of
-- its own, and sees them to their end.

local LAUNCHER = "recipes/workloads/launch.py"

-- Stands for a rank's number in the words of its program.
workload.RANK = "{rank}"

-- Why a kernel of one of several ranks is not measured by replaying it.
workload.UNCOUNTED = "launch.ranks: a collective cannot be replayed on one rank alone"


-- Are there several ranks?
function workload.has_ranks(cfg) return cfg.launch.ranks > 1 end


-- ---- the workload ----

-- What a workload is told to run where its window opens and closes, as JSON lists of words.
workload.WINDOW_OPEN, workload.WINDOW_CLOSE = "LLMPROF_WINDOW_OPEN", "LLMPROF_WINDOW_CLOSE"

-- How many further windows it is to open for counters, where it can.
workload.COUNTERS = "LLMPROF_COUNTERS"

-- Asks a workload for a repeat in which nothing is launched by CUDA graphs.
workload.EAGER = "LLMPROF_EAGER_REPEAT"
workload.CAPTURE = "LLMPROF_CAPTURE_AGAIN"


-- ---- how it is started ----

-- A word of argv: text as it is, numbers and booleans written out. A file that
-- is built in lies in the run (write_built_in), CUDA source is compiled.
local function word(value, run)
  if type(value) == "table" and type(value.compile) == "string" then
    return run and workload.compile(value.compile) or workload.program_of(value.compile)
  end
  if type(value) == "number" or type(value) == "boolean" then return tostring(value) end
  if type(value) ~= "string" then
    errors.raise("usage", ("workload: argv holds a %s; strings and numbers are expected")
      :format(type(value)))
  end
  return run and files.built_in(value) and run:absolute(layout.program(value:match "[^/]+$"))
    or value
end


-- The files among the words that are built in are written into the run. Python files
-- import their neighbours, so those are written out with them.
local function write_built_in(argv, run)
  for _, value in ipairs(argv) do
    local name = type(value) == "string" and files.built_in(value)
    local folder = name and name:match "^(.*)/[^/]+%.py$"
    local names = folder and lists.map(files.own_names(folder, ".py"), function(beside)
      return ("%s/%s.py"):format(folder, beside)
    end) or { name or nil }
    for _, own in ipairs(names) do
      run:write(layout.program(own:match "[^/]+$"), errors.check_as("usage", files.own(own)))
    end
  end
end


-- A value that is nil, of a key without one perhaps, would cut argv short.
local function check_holes(argv)
  local last = 0
  for i in pairs(argv) do last = math.max(last, math.tointeger(i) or 0) end
  for i = 1, last do
    if argv[i] == nil then
      errors.raise("usage", ("workload: argv[%d]%s is nil"):format(i,
        i > 1 and (", after '%s',"):format(tostring(argv[i - 1])) or ""),
        { hint = "a configuration key without a value? --print-config shows them" })
    end
  end
end


local function copy(value)
  if type(value) ~= "table" then return value end
  local made = {}
  for key, item in pairs(value) do made[key] = copy(item) end
  return made
end


-- The configuration as the recipe's workload is to see it, a copy: fewer tokens may stand
-- for many, in every capture of a run alike, so that the timeline and the counters
-- are of the same work. changes go before what the configuration says. run.dir: the folder
-- of the run, where there is one yet.
local function representative(cfg, run, changes)
  local view = copy(cfg)
  view.run.dir = (run and run:absolute "" or "<run>/"):sub(1, -2)
  local tokens = cfg.run.representative_max_new_tokens
  if tokens then keys.put(view, "infer.max_new_tokens", tokens) end
  for key, value in pairs(changes or {}) do keys.put(view, key, value) end
  return view
end


-- The same where there are several ranks: argv starts all, inner is one's, and ranks is a
-- function that makes the former of the latter.
local function as_ranks(cfg, run, spec)
  if not workload.has_ranks(cfg) then return spec end
  local program, given = files.locate(LAUNCHER), cfg.launch
  if run then write_built_in({ program }, run) end
  local logs = run and run:absolute(layout.workload.folder) or layout.workload.folder
  local starter = { cfg.python, word(program, run), "--ranks", tostring(given.ranks), "--with",
    given.with, "--gpus", given.gpus, "--grace", tostring(given.grace_s), "--logs", logs }
  for _, argument in ipairs(given.args) do starter[#starter + 1] = "--args=" .. argument end
  starter[#starter + 1] = "--"
  function spec.ranks(words) return lists.joined(starter, words) end
  spec.inner, spec.argv = spec.argv, spec.ranks(spec.argv)
  return spec
end


-- { argv, env, cwd, timeout, source (of a program that is compiled) } of the
-- recipe's workload. run may be nil (a dry run): then nothing is written. changes:
-- values of keys for this capture alone (optional).
function workload.describe(made, cfg, run, changes)
  local given = recipe.call("workload", made.workload, representative(cfg, run, changes))
  if type(given) ~= "table" or type(given.argv) ~= "table" or #given.argv == 0 then
    errors.raise("usage", "workload: the recipe must return { argv = { program, ... } }")
  end
  check_holes(given.argv)
  if run then write_built_in(given.argv, run) end
  local argv = {}
  for i, value in ipairs(given.argv) do argv[i] = word(value, run) end
  local env = {}
  for name, value in pairs(given.env or {}) do
    env[name] = value ~= false and tostring(value) or false
  end
  local program = given.argv[1]
  return as_ranks(cfg, run, { argv = argv, env = env, cwd = given.cwd,
    timeout = cfg.workload.timeout_s,
    source = type(program) == "table" and program.compile or nil })
end


-- ---- running something that contains it ----

-- How many of the last lines of an output are kept for an error, and bytes of each.
local LAST_LINES, LINE_BYTES = 12, 4096


-- Run argv (the workload, or a tool around it) with the workload's environment
-- and its JSON files going to <folder> of the run. given: argv, spec (of
-- describe), folder, log and command (files of the run: its output, the
-- command to run it again), env (more of it), timeout and grace (s), on_line,
-- on_idle (gets the guard), passing(line) (does it only tell how far a tool is), guard (of
-- llmprof.run.supervise; one that ends what stalls unless given).
-- With one that is given an interrupt is the caller's to raise.
-- Returns spawn's result and the last lines of the output. What the workload started
-- has ended by then, daemons too.
function workload.run(ctx, given)
  errors.check(fs.mkdirs(ctx.run:path(given.folder)))
  -- what an earlier attempt left is not this one's
  for _, name_in in ipairs { layout.metrics_in, layout.operators_in } do
    fs.remove(ctx.run:path(name_in(given.folder)))
  end
  local env = keys.merged({ LLMPROF_WORKLOAD_DIR = ctx.run:absolute(given.folder) }, given.spec.env,
    given.env or {})
  local watch = given.guard or supervise.new { stall_s = ctx.cfg.workload.stall_s, works = true,
    folder = ctx.run:path(given.folder), patience = given.grace }
  ctx.command(given.argv)
  if given.command then ctx.run:write(given.command, process.shown(given.argv) .. "\n") end
  local log, last = given.log and ctx.run:open_log(given.log), {}
  local noted <close> = private.workload()
  local result, message = process.run(given.argv, {
    env = env, cwd = given.spec.cwd, timeout = given.timeout or given.spec.timeout,
    grace = given.grace, kill_group = true, kill_orphans = true,
    mark = noted.mark, hold_signals = given.guard ~= nil,
    on_line = function(line)
      if log then log:line(line) end -- whatever its length
      if not (given.passing and given.passing(line)) then
        last[#last + 1] = line:sub(1, LINE_BYTES)
        if #last > LAST_LINES then table.remove(last, 1) end
      end
      watch:line()
      ctx.output(line)
      local said = line:match "^launch%.py: note: (.+)" -- for readers of the run
      if said then ctx.note(said) end
      if given.on_line then given.on_line(line) end
    end,
  }, function(child)
    ctx.tick()
    watch:idle(child)
    if given.on_idle then given.on_idle(watch) end
  end)
  if log then log:close() end
  if not result then errors.raise("failed", message) end
  for _, line in ipairs(process.left(result.orphans, "the workload")) do ctx.note(line) end
  if result.interrupted and not given.guard then errors.raise("interrupted", "interrupted") end
  if watch.why == "stalled" then
    result.ok, result.stalled_s, result.stuck = false, watch.stall_s, watch.stuck
  end
  return result, last
end


-- How a process ended, in words; nil when all went well.
function workload.complaint(result)
  if result.ok then return nil end
  if result.stuck then return ("it was ended, as %s"):format(result.stuck) end
  if result.stalled_s then
    return ("it made no progress for %g s and was ended (workload.stall_s)"):format(
      result.stalled_s)
  end
  if result.timed_out then return "it ran past its time limit and was ended" end
  if result.signal then return "it was killed by " .. result.signal end
  return ("it ended with exit status %d"):format(result.code)
end


-- The last lines of an output, for an error; all that were kept, or this many.
function workload.tail(lines, count)
  local from = math.max(1, #lines - (count or LAST_LINES) + 1)
  return table.concat(table.move(lines, from, #lines, 1, {}), "\n")
end


-- Note how it ended, where that was not well, as a failure that lets the run go on. log: the file
-- of its output; what: it, and what is around it.
function workload.note_end(ctx, result, lines, log, what)
  local ended = workload.complaint(result)
  if not ended then return end
  ctx.fail_later("failed", (what or "the workload") .. ": " .. ended,
    { detail = workload.tail(lines), hint = "the whole output is in " .. log })
end


-- ---- what it says about itself ----

-- metrics.json of a folder of the run; nil when there is none; nil and a
-- message when it is broken. Raises where the system does not let it be read.
function workload.metrics(run, folder)
  local name = layout.metrics_in(folder)
  if not run:has(name) then return nil end
  return errors.unless_systems(document.read(run:path(name), "metrics"))
end


-- Into inputs.yaml: what the workload says in a folder of the run that it ran on, by
-- name, size and digest; nothing where it says nothing.
function workload.keep_inputs(ctx, folder)
  local metrics = workload.metrics(ctx.run, folder)
  if not metrics or type(metrics.inputs) ~= "table" then return end
  ctx.run:write(layout.inputs, yaml.encode { source = "workload", files = metrics.inputs })
  ctx.outputs[#ctx.outputs + 1] = layout.inputs
end


-- ---- programs of CUDA source ----

-- Programs that a recipe brings as CUDA source: compiled with nvcc when a run first
-- needs them, and kept in the cache, by source and by GPU.

local NVCC = { name = "nvcc", places = {} }

-- Compiling that takes longer hangs, in seconds.
local PATIENCE = 600


-- What nvcc is to compile for: the GPUs of the machine, else all major ones.
local function architecture()
  local devices = gpu.list() or {}
  local compute = devices[1] and devices[1].compute_capability
  return compute and "sm_" .. compute:gsub("%.", "") or "all-major"
end


local function read(source)
  local text, where = files.read_path(source)
  if not text then errors.raise("usage", where) end
  return text
end


-- Where the program of a source is, or will be, on this machine.
function workload.program_of(source)
  local stem = source:match "([^/]+)%.[^./]+$" or source:match "[^/]+$"
  local key = digest.base64(digest.sha256(read(source) .. "\0" .. architecture())):sub(1, 16)
    :gsub("[^%w]", "_")
  return ("%s/%s-%s"):format(files.folder("cache", "programs") or "/nonexistent", stem, key)
end


local function find_nvcc()
  return lists.filtered(tools.places(NVCC), function(path) return fs.access(path, "x") end)[1]
end


workload.COMPILER_HINT = "install the CUDA Toolkit, or put its nvcc on PATH; a program compiled "
  .. "elsewhere is named by the recipe's option"


function workload.no_compiler(source)
  return ("%s is CUDA source, and there is no nvcc to compile it"):format(source)
end


-- Whether the program of a source is "there", or can be compiled ("source"); nil
-- without nvcc.
function workload.program_state(source)
  return fs.access(workload.program_of(source), "x") and "there" or find_nvcc() and "source" or nil
end


-- Under a name of its own first: two runs may compile at once.
local function compile(nvcc, source, program)
  local folder = assert(fs.temp_dir "llmprof-nvcc")
  local text, made = folder .. "/" .. source:match "[^/]+$", folder .. "/program"
  errors.check(fs.write(text, read(source)))
  local output, result = tools.capture({ nvcc, "-O2", "-std=c++17", "-arch=" .. architecture(),
    "-o", made, text }, { timeout = PATIENCE })
  local done = output and result.ok
    and errors.check(fs.mkdirs(program:match "^(.*)/"))
    and errors.check(fs.copy(made, program))
  fs.remove_tree(folder)
  if not done then
    errors.raise("failed", "nvcc cannot compile " .. source,
      { detail = output or result,
        hint = "check that the CUDA Toolkit is complete and fits the driver" })
  end
end


-- The compiled program of a source (a file on disk or built in): its path. Raises
-- without nvcc, and with its words when it fails.
function workload.compile(source)
  local program = workload.program_of(source)
  if fs.access(program, "x") then return program end
  local nvcc = find_nvcc()
  if not nvcc then
    errors.raise("tool", workload.no_compiler(source), { hint = workload.COMPILER_HINT })
  end
  compile(nvcc, source, program)
  return program
end


return workload
