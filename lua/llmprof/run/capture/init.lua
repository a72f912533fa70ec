-- Where a run's data comes from. A source of captures is a table:
--
--   name            what results call it
--   open(ctx)       what is known without looking for a tool: ctx.state.tools, and
--                   ctx.state.folder where there are files of before
--   find(ctx)       looks for the tools, raises without one that is needed (optional)
--   machine(ctx)    what was measured, for env.json; nil when it is not known
--   about(ctx)      { tool, counters_tool, environment, workload }, as far as known;
--                   ctx.state.environment is there
--   inputs(ctx)     for inputs.yaml
--   note(ctx)       for people, about the tools
--   untimed(ctx)    why no timeline is taken, and what would have one; nil when one is
--   timeline(ctx), counters(ctx), operators(ctx)
--                   put their files into the run: true, or false and why not
--   recall(ctx)     how the timeline that is there was taken: { date, command,
--                   complaints }, as far as known
--   room(ctx)       what measuring counters costs and how the workload may be shortened
--                   for it: room of llmprof.analysis.counters.plan (optional)
--   rank_files(ctx) the files of other ranks than the timeline's with it, where there
--                   are some (optional)
--   left_out(ctx)   a new list: a line for each file that is not used, and why (optional)
--   preview(ctx)    step name -> list of argv that it would start, or of texts about
--                   them; ctx is on paper, of llmprof.run.dry_run
--   captured_with(ctx)  the settings that a capture of before was made with, as a
--                   tree; nil where it does not say (optional)
--   kept(ctx)       the timeline that is there before anything runs (optional)
--
-- To add one: a file beside this, a line below, and its name among the choices of
-- `capture` in recipe/defaults.lua; captures_spec.lua compares the two.
local errors = require "llmprof.process.errors"
local lazy = require "llmprof.io.lazy"
local attached = lazy "llmprof.run.capture.attached"
local automatic = lazy "llmprof.run.capture.automatic"

local capture = {}


-- By what `capture` says, a function that gives the source, so that others are not loaded.
local function nsys() return automatic.nsys end

capture.sources = {
  auto = nsys, nsys = nsys,
  recorded = function() return require "llmprof.run.capture.recorded" end,
  files = function() return require "llmprof.run.capture.files" end,
  builtin = function() return require "llmprof.run.capture.builtin" end,
  none = function() return require "llmprof.run.capture.none" end,
}


-- Why capture=auto is nsys; nil where it is the collector, or was not asked for.
function capture.declined(cfg)
  return cfg.capture == "auto" and automatic.why_nsys(cfg) or nil
end


-- What takes an engine that somebody else started, in place of a source.
local function for_engines(kind)
  return kind == "nsys" and attached.session or kind == "builtin" and attached.spools or nil
end


-- The source that a configuration asks for.
function capture.of(cfg)
  local why = capture.declined(cfg)
  if cfg.counters == "builtin" and (why or cfg.capture ~= "auto" and cfg.capture ~= "builtin") then
    errors.raise("usage", "counters=builtin needs capture=builtin: they are taken in one run",
      { hint = why and "capture=auto would use nsys: " .. why })
  end
  if cfg.capture == "auto" and not why then return automatic.collector end
  local other = for_engines(why and "nsys" or cfg.capture)
  return other and other.wanted(cfg) and other or capture.sources[cfg.capture]()
end


return capture
