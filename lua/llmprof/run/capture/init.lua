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
--                   for it: room of llmprof.analysis.counter_plan (optional)
--   rank_files(ctx) the files of other ranks than the timeline's with it, where there
--                   are some (optional)
--   preview(ctx)    step name -> list of argv that it would start, or of texts about
--                   them; ctx is on paper, of llmprof.run.dry_run
--   captured_with(ctx)  the settings that a capture of before was made with, as a
--                   tree; nil where it does not say (optional)
--   kept(ctx)       the timeline that is there before anything runs (optional)
--
-- To add one: a file beside this, a line below, and its name among the choices of
-- `capture` in recipe/defaults.lua; captures_spec.lua compares the two.
local alone = require "llmprof.run.capture.alone"
local attached = require "llmprof.run.capture.attached"
local automatic = require "llmprof.run.capture.automatic"
local builtin = require "llmprof.run.capture.builtin"
local errors = require "llmprof.base.errors"
local recorded = require "llmprof.run.capture.recorded"

local capture = {}

local with_nsys = automatic.nsys

-- By what `capture` says; auto may be the collector, too.
capture.sources = {
  auto = with_nsys, nsys = with_nsys, recorded = recorded, builtin = builtin,
  none = alone,
}


-- Why capture=auto is nsys; nil where it is the collector, or was not asked for.
function capture.declined(cfg)
  return cfg.capture == "auto" and automatic.why_nsys(cfg) or nil
end


-- The source that a configuration asks for.
function capture.of(cfg)
  local why = capture.declined(cfg)
  if cfg.counters == "builtin" and (why or cfg.capture ~= "auto" and cfg.capture ~= "builtin") then
    errors.raise("usage", "counters=builtin needs capture=builtin: they are taken in one run",
      { hint = why and "capture=auto would use nsys: " .. why })
  end
  local source = capture.sources[cfg.capture]
  if cfg.capture == "auto" and not why then source = automatic.collector end
  local other = source == with_nsys and attached.session or source == builtin and attached.spools
  return other and other.wanted(cfg) and other or source
end


return capture
