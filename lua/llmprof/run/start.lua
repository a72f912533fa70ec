-- A run from its settings to its bundle, for every command that makes one. What is to
-- be done is a table:
--
--   recipe     of llmprof.recipe
--   command    the words that say the same, where no recipe's name does (optional)
--   settings   KEY=VALUE, +KEY=VALUE, ~KEY, as on the command line
--   config     a file of settings (optional)
--   trusted    that file, and presets of the recipe's folders, may name programs to run
--   standins   settings that have stand-ins play the tools (optional): llmprof.run.start
--   resume     a run to continue (optional): its id, its folder or "latest"
--   quiet, verbose, brief, log, watch_gpu   what is shown: llmprof.run.progress (optional)
local artifacts = require "llmprof.bundle.artifacts"
local process = require "llmprof.process.child"
local config = require "llmprof.recipe.config"
local errors = require "llmprof.process.errors"
local files = require "llmprof.io.files"
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local lazy = require "llmprof.io.lazy"
local limits = require "llmprof.process.limits"
local out = require "llmprof.io.output"
local pipeline = require "llmprof.run.pipeline"
local private = require "llmprof.bundle.private"
local progress = require "llmprof.run.progress"
local recorded = require "llmprof.run.capture.recorded"
local resources = require "llmprof.resources"
local workload = require "llmprof.run.workload"
local captures = lazy "llmprof.run.capture"
local chapters = lazy "llmprof.report.chapters"
local plan = lazy "llmprof.run.steps.plan"
local select_step = lazy "llmprof.run.steps.select"
local stages = lazy "llmprof.analysis.stages.find"
local lists = require "llmprof.tables.lists"
local trace_file = require "llmprof.trace.file"
local vendors = lazy "llmprof.nvidia.vendors"

local start = {}


-- ---- stand-ins ----

-- Stand-ins for what a run needs a GPU for, so that a recipe's whole chain can be tried
-- without one: nsys and ncu, which "measure" a recorded capture of another model, and a
-- Python that runs nothing and writes numbers. They are the programs that llmprof's own
-- tests use.

-- What plays which part, and which key of the configuration says so.
local PARTS = { { "tools.nsys", "nsys" }, { "tools.ncu", "ncu" }, { "python", "workload" } }

local SHIPPED = "tests/standin/"
-- The recorded capture that they pretend to have measured.
local CAPTURE = "recipes/recorded/alt_llm"

-- The record of a run that they took part in.
local STANDINS = "stand-ins played nsys, ncu and Python: no figure is of this workload"


local check = errors.check


-- What they read of the environment; common.sh is a part of each.
local VARIABLES = "export STANDIN_LOG=%s STANDIN_SQLITE=%s STANDIN_RAW=%s\n"


-- The stand-ins in a folder of their own: settings for a command line, and the folder,
-- which goes when it is closed.
function start.open_standins()
  local found, quote = files.find_folder(CAPTURE), process.quoted
  if not found then
    errors.raise("usage", "--with-standins: no recorded capture to play with in " .. CAPTURE,
      { hint = "it lies with the recipes that ship with llmprof; LLMPROF_HOME=FOLDER says where" })
  end
  local capture = check(fs.realpath(found))
  local folder = private.folder(os.getenv "TMPDIR" or "/tmp")
  check(fs.mkdirs(folder.path .. "/log"))
  check(fs.mkdirs(folder.path .. "/bin"))
  local function write(name, before)
    local path = ("%s/bin/%s"):format(folder.path, name)
    check(fs.write(path, before .. check(resources.get(SHIPPED .. name))))
    check(fs.chmod(path, tonumber("700", 8)))
    return path
  end
  write("common.sh", VARIABLES:format(quote(folder.path .. "/log"),
    quote(capture .. "/" .. layout.recorded_name(layout.timeline)),
    quote(capture .. "/" .. layout.recorded_name(layout.counters))))
  return lists.joined({ "capture=nsys" }, lists.map(PARTS, function(part)
    return ("%s=%s"):format(part[1], write(part[2], ""))
  end)), folder
end


-- ---- a run ----

-- The settings, composed: llmprof.recipe.config.
function start.compose(given)
  local settings = lists.joined(given.settings, given.standins or {})
  local composed = config.of_recipe(given.recipe, given.config, settings)
  chapters.layout(composed.tree.report, given.recipe.sections)
  return composed
end


-- The words of a command line that does it, without those about what is shown.
function start.words(given)
  local list = lists.joined(given.command or lists.joined({ "llmprof",
    given.recipe.called or given.recipe.file }, given.settings))
  if given.standins then list[#list + 1] = "--with-standins" end
  for _, option in ipairs { "config", "resume" } do
    if given[option] then
      list[#list + 1] = "--" .. option
      list[#list + 1] = given[option]
    end
  end
  return list
end


-- A file of settings or a preset may be a stranger's: what it has run is named before.
local function check_trust(given, composed)
  if given.trusted then return end
  local runs = config.untrusted_runs(composed)
  if #runs == 0 then return end
  local file = runs[1][1]
  local list = lists.map(runs, function(entry) return entry[1] == file and entry[2] or nil end)
  errors.raise("usage", ("%s says what is run: %s"):format(file, table.concat(list, ", ")),
    { hint = "--trust-config runs it, if the file is yours" })
end


local function open_run(given, cfg)
  local begun, id
  if given.resume then begun, id = artifacts.begun(given.resume, cfg.run.root) end
  -- that which began the run, not one that continued it
  local command = start.words(setmetatable({ resume = false }, { __index = given }))
  if not given.resume or begun then
    return artifacts.create { out = not id and begun or cfg.out, root = cfg.run.root,
      id = id or cfg.run.id, recipe = given.recipe.name, recipe_file = given.recipe.file,
      command = command }
  end
  local run = artifacts.open(given.resume, cfg.run.root)
  if run.manifest.recipe ~= given.recipe.name then
    errors.raise("usage", ("run %s is of the recipe %s, not %s"):format(run.id,
      tostring(run.manifest.recipe), given.recipe.name))
  end
  run.command = command
  run:reopen()
  return run
end


-- What the workload wrote of itself and cannot be read.
local function note_broken(run)
  for _, folder in ipairs { layout.workload.folder, layout.workload.before, layout.workload.after,
      layout.ncu.workload } do
    local _, message = workload.metrics(run, folder)
    if message then run:add_partial(message) end
  end
end


-- Does it; raises what failed, when the bundle is written. composed: of start.compose.
-- Returns how many things were left out, such as files of ranks that are cut, and the run.
function start.run(given, composed)
  recorded.check(given.recipe, composed)
  check_trust(given, composed)
  limits.apply(composed.tree.limits)
  trace_file.keep_in_cache(composed.tree.cache.bytes)
  local ui = progress.new { quiet = given.quiet, verbose = given.verbose, log = given.log,
    watch_gpu = given.watch_gpu, brief = given.brief }
  local run = open_run(given, composed.tree)
  ui.start(given.recipe, composed.tree, run)
  local ctx = { recipe = given.recipe, config = composed, cfg = composed.tree, run = run,
    resume = given.resume ~= nil }
  local failure = pipeline.run(ctx, ui)
  if given.standins then run:add_partial(STANDINS) end
  note_broken(run)
  if not failure or run:has(layout.results) or run:has(layout.timeline) then run:publish() end
  local interrupted = failure and failure.kind == "interrupted"
  -- no run that came to nothing is kept; a folder that was asked for stays
  ctx.is_gone = failure and not interrupted and not given.resume and run.root ~= nil
    and pipeline.is_unbegun(run)
  ui.finish(ctx, failure)
  if ctx.is_gone then artifacts.remove(run.dir) end
  if interrupted then failure.hint = run:continuation() end
  if failure then error(failure, 0) end
  local partial = run.manifest.partial or {} -- what is not in the bundle though it should be
  for _, line in ipairs(partial) do out.complain(line) end
  return #partial, run
end


-- ---- what it would do ----

-- The steps of a run, each with the commands it starts. Nothing is
-- run and nothing is written. With a timeline that is there already, recorded or of
-- the run that is resumed, the kernels are selected from it, so that ncu's command
-- is whole; what only the run knows is said in words.

local INDENT = (" "):rep(14)

-- What each step starts, as far as it is known before anything ran: step name -> list
-- of argv, and of texts about them. made: the recipe; cfg: the composed values; kept:
-- the timeline of a run that is resumed (optional). Raises what cannot work.
function start.would_run(made, cfg, kept)
  local source = captures.of(cfg)
  for _, vendor in ipairs(vendors) do vendor.check(cfg[vendor.name]) end
  local tools, run = {}, {} -- none is looked for, and nothing is written
  for _, vendor in ipairs(vendors) do
    tools[vendor.name] = { name = vendor.name, path = cfg.tools[vendor.name] or vendor.name }
  end
  function run.path(_, name) return "<run>/" .. name end
  run.absolute = run.path
  local ctx = { recipe = made, cfg = cfg, state = { tools = tools }, run = run }
  kept = kept or source.kept and source.kept(ctx)
  local selected -- what is selected from the kept timeline, in words
  if kept then
    ctx.state.trace = trace_file.open(kept)
    ctx.state.found = stages.find(ctx.state.trace, made.stages, cfg.repeats.skip_first)
    selected = select_step.restore(ctx)
  end
  local commands = source.preview(ctx)
  if selected then commands.select = lists.joined({ selected }, commands.select or {}) end
  commands.plan = lists.map(plan.doubts(made.stages, cfg), "text")
  return commands
end


-- The same as text for the terminal.
function start.dry_run(made, cfg, kept)
  local commands = start.would_run(made, cfg, kept)
  local lines = { ("%s, capture=%s; nothing is run\n"):format(made.name, cfg.capture) }
  for i, step in ipairs(pipeline.of(cfg)) do
    lines[#lines + 1] = ("%d. %-10s %s\n"):format(i, step.name, step.summary)
    for _, entry in ipairs(commands[step.name] or {}) do
      lines[#lines + 1] = ("%s%s\n"):format(INDENT,
        type(entry) == "table" and "$ " .. process.shown(entry) or "# " .. entry)
    end
  end
  return table.concat(lines)
end


return start
