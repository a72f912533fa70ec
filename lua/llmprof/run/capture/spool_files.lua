-- The spool of a run as its timeline.
local errors = require "llmprof.base.errors"
local layout = require "llmprof.bundle.layout"
local text = require "llmprof.text"
local trace_file = require "llmprof.trace.file"

local spool_files = {}


-- Writes the timeline of the run's spool, and what the collector noticed as notes.
function spool_files.keep_timeline(ctx)
  local spool = layout.collector.spool
  local trace = trace_file.open(ctx.run:path(spool))
  for _, said in ipairs(errors.check("failed", trace:diagnostics())) do
    if said.severity ~= "info" then ctx.note("collector: " .. text.clean(said.text)) end
  end
  errors.check("failed", trace:sqlite(ctx.run:path(layout.timeline)))
  trace:close()
  ctx.outputs[#ctx.outputs + 1] = spool
end


return spool_files
