-- What a run prints: a line per step, and at the end what was found.
local process = require "llmprof.process.child"
local errors = require "llmprof.process.errors"
local supervise = require "llmprof.run.supervise"
local columns = require "llmprof.report.columns"
local output = require "llmprof.io.output"
local pipeline = require "llmprof.run.pipeline"
local rows = require "llmprof.report.rows"
local sections = require "llmprof.report.sections"
local tables = require "llmprof.tables"
local lists = require "llmprof.tables.lists"
local text = require "llmprof.text"

local progress = {}

local INDENT = (" "):rep(13) -- below the names of steps
local NOTES = 24 -- columns before the note of a step

local silent = setmetatable({}, { __index = function() return function() end end })


local function seconds(value) return ("%6.1f s"):format(value) end


-- Columns of the stage table that fit a terminal.
local STAGES = { label = true, count = true, time_ns = true, profiled_ns = true,
  gpu_busy_ns = true, idle_share = true, launches = true, kernels_per_token = true, bound = true }


-- The live line of a step: its time, what it said last, how the GPUs are doing.
local function live_line(name, took, what, gpus)
  return ("  %-10s %s   %s"):format(name, seconds(took),
    table.concat(lists.joined({ what }, { gpus }), " · "))
end


local function print_table(out, declared, list)
  if #list == 0 then return end
  out.line ""
  local titles, body = tables.render("table", declared, list, { columns = out.columns })
    :match "^([^\n]*)(.*)\n$"
  out.line(out.style("bold", titles) .. body)
end


local function print_end(out, ctx, failure)
  local results = pipeline.field(ctx, "results")
  if results then
    local short = lists.filtered(columns.stages, function(column) return STAGES[column.key] end)
    print_table(out, short, rows.stages(results))
    print_table(out, columns.load, sections.load_rows(results))
    print_table(out, columns.load_times, sections.time_rows(results))
  end
  if ctx.is_gone then return end
  out.line ""
  out.line(("%s %s"):format(failure and "bundle so far:" or "bundle:", text.clean(ctx.run.dir)))
  local private = ctx.redone and ctx.redone.timeline and ctx.run.manifest.private
  if private then
    out.line(("keep to yourself: %s, which %s the workload's environment"):format(
      table.concat(private, ", "), #private == 1 and "holds" or "hold"))
  end
end


-- Writes to a terminal or a file. given: stream, fd (of the stream, if it may be a
-- terminal), name (of a file), verbose (show commands and what they print), watch_gpu (show how
-- the GPUs are doing).
local function writer(given)
  local out = output.terminal(given.stream, given.fd, given.name)
  local ui, what = {}, nil

  local function detail(value)
    out.clear()
    out.line(out.style("dim", INDENT .. text.clean(value)))
  end

  -- how the GPUs are doing, which are watched while programs run, if that is wanted
  local watch

  local function show_live(name, took)
    if watch then watch.sample() end
    local said = watch and supervise.describe_gpus(watch.latest) or {}
    out.status(live_line(name, took, what, said[1] and table.concat(said, "; ")))
  end

  local function step_line(name, took, note, color)
    out.clear()
    local label = ("%-10s"):format(name)
    local said = output.wrap((" "):rep(NOTES) .. (note or ""), out.columns):sub(NOTES + 1)
    out.line("  " .. (color and out.style(color, label) or label)
      .. (" %s   %s"):format(took and seconds(took) or "        ", said))
    if watch then
      watch.sample()
      for _, line in ipairs(supervise.describe_gpus(watch.samples)) do detail(line) end
    end
    watch = nil
  end

  function ui.start(recipe, cfg, run)
    out.line(out.style("bold", recipe.name)
      .. (" · capture=%s · %s"):format(cfg.capture, text.clean(run.dir)))
    if run.root_is_new then
      out.line(("  runs are kept in %s; run.root=FOLDER keeps them elsewhere"):format(
        text.clean(run.root)))
    end
  end

  function ui.begin(name)
    what = nil
    if not given.verbose then return out.status(("  %-10s ..."):format(name)) end
    out.clear()
    out.line("  " .. name)
  end

  function ui.progress(name, took, said)
    what = said
    show_live(name, took)
  end

  function ui.tick(name, took)
    if given.watch_gpu and not watch then
      watch = supervise.watch_gpus()
      if watch.reason then detail("no GPU to watch: " .. watch.reason) end
    end
    show_live(name, took)
  end

  function ui.command(argv)
    if given.verbose then detail("$ " .. process.shown(argv)) end
  end

  function ui.output(line)
    if given.verbose then detail("| " .. line) end
  end

  function ui.done(name, took, note) step_line(name, took, note) end
  function ui.kept(name) step_line(name, nil, "kept from before", "dim") end
  function ui.skipped(name, why) step_line(name, nil, "skipped: " .. why, "yellow") end
  function ui.failed(name, took, err) step_line(name, took, "failed: " .. err.message, "red") end

  function ui.finish(ctx, failure) print_end(out, ctx, failure) end

  return ui
end


-- One that tells two.
local function both(first, second)
  return setmetatable({}, { __index = function(_, event)
    return function(...)
      first[event](...)
      second[event](...)
    end
  end })
end


-- Standard error, as output.terminal takes it, whose codes are ours.
local warnings = {}

function warnings.write(_, ...)
  output.warn(output.trusted(table.concat { ... }))
  return true
end

function warnings.flush() return true end


-- Tells on a terminal which step is done, and leaves nothing.
local function passing()
  local out = output.terminal(warnings, 2, "standard error")
  local ui = {}

  function ui.begin(name) out.status(("  %s ..."):format(name)) end
  function ui.progress(name, took, said) out.status(live_line(name, took, said)) end
  function ui.tick(name, took) out.status(live_line(name, took)) end
  function ui.finish() out.clear() end

  return setmetatable(ui, { __index = silent })
end


-- What a run tells. given: quiet (print nothing; errors are the caller's), brief (only what
-- it is at, on standard error), verbose, watch_gpu, log (a file that gets all of it), stream
-- (what to write to in place of standard output).
function progress.new(given)
  local ui = given.brief and passing() or given.quiet and silent
    or writer { stream = given.stream or io.stdout, fd = 1, verbose = given.verbose,
      watch_gpu = given.watch_gpu }
  if not given.log then return ui end
  local file, message = io.open(given.log, "w")
  if not file then
    errors.raise("usage", "--log: " .. message, { hint = "name a file that can be written" })
  end
  return both(ui, writer { stream = file, name = given.log,
    verbose = true, watch_gpu = given.watch_gpu })
end


return progress
