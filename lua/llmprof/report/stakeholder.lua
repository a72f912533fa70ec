-- stakeholder_summary.md: one page to hand on.
local findings = require "llmprof.report.findings"
local operators = require "llmprof.report.operators"
local parts = require "llmprof.report.parts"

local report = {}

-- Rows of Top Operators and Top Kernels, and findings.
local OPERATORS, TOP, FINDINGS = 10, 8, 5


local function verdict(results)
  local lines = {}
  for i, line in ipairs(findings.verdict_lines(results)) do lines[i] = "> " .. line end
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
    "## Top Operators\n", operators.top(results, OPERATORS),
    "## Top Kernels\n", parts.top_kernels(results, TOP),
    "## What to Do, in Order\n", findings.brief(results, FINDINGS),
    "## How Far to Trust It\n", parts.trust(results),
    "## Where This Comes From\n", parts.source(results),
  }, "\n")
end


return report
