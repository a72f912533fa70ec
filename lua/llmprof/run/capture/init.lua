-- Where a run's data comes from. A source of captures is a table:
--
--   name            what results call it
--   open(ctx)       sets ctx.state.folder, where there are files of before (optional)
--   find(ctx)       looks for the tools, raises without one that is needed (optional)
--   machine(ctx)    what was measured, for env.json; nil when it is not known; without it, this
--                   machine
--   about(ctx)      { tool, counters_tool, environment, workload }, as far as known;
--                   ctx.state.environment is there
--   inputs(ctx)     for inputs.yaml; without it, what the workload says later
--   note(ctx)       for people, about the tools
--   untimed(ctx)    why no timeline is taken, and what would have one; nil when one is
--   timeline(ctx), counters(ctx)
--                   put their files into the run: true, or false and why not
--   operators(ctx)  the operators, of llmprof.run.operators, or the path of a file of them; nil
--                   and why there are none
--   recall(ctx)     how the timeline that is there was taken: { date, command,
--                   complaints }, as far as known (optional)
--   room(ctx)       what measuring counters costs and how the workload may be shortened
--                   for it: room of llmprof.analysis.counters.plan (optional)
--   rank_files(ctx) the files of other ranks than the timeline's with it, where there
--                   are some (optional)
--   left_out(ctx)   a new list: a line for each file that is not used, and why (optional)
--   preview(ctx)    step name -> list of argv that it would start, or of texts about
--                   them; ctx is on paper, of llmprof.run.start
--   captured_with(ctx)  the settings that a capture of before was made with, as a
--                   tree; nil where it does not say (optional)
--   kept(ctx)       the timeline that is there before anything runs (optional)
--
-- To add one: a file beside this, a line below, and its name among the choices of
-- `capture` in recipe/defaults.lua; captures_spec.lua compares the two.
local lazy = require "llmprof.io.lazy"
local automatic = lazy "llmprof.run.capture.automatic"
local errors = require "llmprof.process.errors"
local layout = require "llmprof.bundle.layout"
local live = lazy "llmprof.run.capture.live"
local workload = lazy "llmprof.run.workload"

local capture = {}


-- ---- no profiler ----

-- The workload runs by itself, and what it says of itself is all there is.
local none = { name = "alone" }

local WHY, HOW = "capture=none", "capture=auto runs the program under a profiler"


function none.about() return {} end
function none.note() return "no profiler" end
function none.untimed() return WHY, HOW end
function none.timeline() return false, WHY end
function none.counters() return false, WHY end
function none.operators() return false, WHY end


-- Run it; its numbers, or nil and why there are none.
function none.run(ctx)
  local spec = workload.describe(ctx.recipe, ctx.cfg, ctx.run)
  local folder = layout.workload.folder
  local result, lines = workload.run(ctx, { argv = spec.argv, spec = spec, folder = folder,
    log = layout.log_in(folder) })
  workload.keep_inputs(ctx, folder)
  local metrics, message = workload.metrics(ctx.run, folder)
  workload.note_end(ctx, result, lines, layout.log_in(folder))
  return metrics, message or "it wrote no metrics.json"
end


function none.preview(ctx) return { alone = { workload.describe(ctx.recipe, ctx.cfg).argv } } end


-- ---- engines that somebody else started ----

-- They run under nsys or with our collector inside: a timeline, and nothing that would need the
-- engine to be run again.
local function attached(timeline, key)
  local source = live.new(timeline, require "llmprof.run.capture.under_ncu")
  local why, preview = key .. ": the engine is not ours to run again", source.preview

  function source.counters() return false, why end
  function source.operators() return false, why end
  function source.preview(ctx) return { timeline = preview(ctx).timeline } end

  return source
end


-- ---- which ----

-- By what `capture` says, a function that gives the source, so that others are not loaded.
local function nsys() return automatic.nsys end

capture.sources = {
  auto = nsys, nsys = nsys,
  recorded = function() return require("llmprof.run.capture.files").recorded end,
  files = function() return require "llmprof.run.capture.files" end,
  builtin = function() return require "llmprof.run.capture.builtin" end,
  none = function() return none end,
}


-- Why capture=auto is nsys; nil where it is the collector, or was not asked for.
function capture.declined(cfg) return cfg.capture == "auto" and automatic.why_nsys(cfg) or nil end


-- The source that a configuration asks for.
function capture.of(cfg)
  local why = capture.declined(cfg)
  local is_ours = not why and (cfg.capture == "auto" or cfg.capture == "builtin")
  if cfg.counters.by == "builtin" and not is_ours then
    errors.raise("usage", "counters=builtin needs capture=builtin: they are taken in one run",
      { hint = why and "capture=auto would use nsys: " .. why })
  end
  if is_ours and cfg.collector.yield == "on"
    and (cfg.counters.by == "builtin" or cfg.collector.samples_hz > 0) then
    errors.raise("usage", "collector.yield=on leaves no counters and samples to the collector",
      { hint = "counters=ncu measures them; collector.samples_hz=0" })
  end
  local kind, server = cfg.capture, cfg.server or {}
  if kind == "auto" then kind = why and "nsys" or "builtin" end
  if kind == "nsys" and (server.session or "") ~= "" then
    return attached(require("llmprof.run.capture.under_nsys").of_session, "server.session")
  elseif kind == "builtin" and (server.spools or "") ~= "" then
    return attached(require "llmprof.run.capture.under_spools", "server.spools")
  end
  return capture.sources[kind]()
end


return capture
