-- NVIDIA's summaries of the timeline, as nsys stats would write them.
local frames = require "llmprof.frame"
local layout = require "llmprof.bundle.layout"
local stats = require "llmprof.trace.stats"
local tables = require "llmprof.tables"

local step = { name = "export", summary = "write NVIDIA's summaries of it",
  requires = { "timeline" }, reads = { "trace" }, needs = { layout.timeline }, makes = {} }

for i, name in ipairs(stats.names) do step.makes[i] = layout.summary(name) end


-- How many have rows. What one works out of each kernel is not kept for the next.
function step.work(ctx)
  local trace, filled = ctx.state.trace, 0
  for _, name in ipairs(stats.names) do
    trace:renew "kernels"
    local report = stats.report(trace, name, {})
    ctx.run:write(layout.summary(name), report, function(path)
      return tables.save(path, "csv", report.columns, report.rows, { soon = true })
    end)
    filled = filled + (#report.rows > 0 and 1 or 0)
    frames.tidy()
  end
  return filled
end


function step.run(ctx, filled)
  return ("%d of %d summaries have rows"):format(filled or step.work(ctx), #stats.names)
end


return step
