-- stakeholder_summary.md: the short version, to hand on.
local findings = require "llmprof.report.findings"
local mermaid = require "llmprof.report.mermaid"
local operators = require "llmprof.report.operators"
local parts = require "llmprof.report.parts"
local ranks = require "llmprof.report.ranks"

local report = {}

-- Rows of Top Operators, and findings.
local OPERATORS, FINDINGS = 10, 3


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
    "## Aggregates\n", parts.brief_aggregates(results),
    "## Per-Stage Timings\n", parts.brief_stages(results), mermaid.pictures(results),
    ranks.short(results) .. "## MFU/MBU\n", parts.brief_mfu(results),
    "## Top Operators\n", operators.top(results, OPERATORS),
    "## Top Kernels\n", parts.top_kernels(results),
    "## What to Do Next\n", findings.brief(results, FINDINGS),
    "## How Far to Trust It\n", parts.brief_trust(results),
    "## Where This Comes From\n", parts.source(results),
  }, "\n")
end


return report
