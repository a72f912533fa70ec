-- stakeholder_summary.md: one page to hand on.
local parts = require "llmprof.report.parts"
local rows = require "llmprof.report.rows"

local report = {}

local TOP, TOP_OPERATORS = 8, 10


local function verdict(results)
  local lines = {}
  for i, line in ipairs(parts.verdict(results)) do lines[i] = "> " .. line end
  return table.concat(lines, "\n>\n") .. "\n"
end


function report.render(results)
  return table.concat({
    ("# %s: where the time goes\n"):format(parts.title(results)),
    verdict(results),
    "## Environment\n", parts.environment(results),
    "## Aggregates\n", parts.aggregates(results),
    "## Per-Stage Timings\n", parts.stages(results),
    "## MFU\n", parts.mfu(results),
    "## Top Operators\n", parts.operators(results, TOP_OPERATORS),
    "## Top Kernels\n", parts.table("top_kernels", rows.functions(results, TOP)),
    "## What to Do, in Order\n", parts.advice(results),
    "## How Far to Trust It\n", parts.trust(results),
    "## Where This Comes From\n", parts.source(results),
  }, "\n")
end


return report
