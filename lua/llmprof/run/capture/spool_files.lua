-- The spool of a run as its timeline.
local clock = require "llmprof.io.clock"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local text = require "llmprof.text"
local trace_file = require "llmprof.trace.file"

local spool_files = {}


-- Writes the timeline of the run's spool, and what the collector noticed as notes.
function spool_files.keep_timeline(ctx)
  local spool = layout.collector.spool
  local trace = trace_file.open(ctx.run:path(spool))
  for _, said in ipairs(errors.check(trace:diagnostics())) do
    if said.severity ~= "info" then ctx.note("collector: " .. text.clean(said.text)) end
  end
  errors.check(trace:sqlite(ctx.run:path(layout.timeline)))
  trace:close()
  ctx.outputs[#ctx.outputs + 1] = spool
end


-- What an earlier attempt of the run left, for a run that goes on with it.
function spool_files.recall(ctx)
  local command = fs.read(ctx.run:path(layout.collector.command))
  local written = errors.check(fs.stat(ctx.run:path(layout.timeline)))
  return { date = clock.timestamp(written.mtime_ns),
    command = command and command:gsub("\n$", "") or nil, complaints = {} }
end


return spool_files
