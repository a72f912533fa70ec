-- report.md: everything, section by section as the recipe orders them.
local findings = require "llmprof.report.findings"
local mermaid = require "llmprof.report.mermaid"
local operators = require "llmprof.report.operators"
local parts = require "llmprof.report.parts"
local ranks = require "llmprof.report.ranks"

local report = {}

-- Operators shown; operators.md has all.
local OPERATORS = 30

local sections = {
  environment = { "Environment", parts.environment },
  aggregates = { "Aggregates", function(results)
    return parts.aggregates(results) .. "\n" .. parts.each_repeat(results)
  end },
  stages = { "Per-Stage Timings", function(results)
    return table.concat({ parts.stages(results), mermaid.pictures(results),
      parts.breakdown(results) }, "\n")
  end },
  mfu = { "MFU/MBU", parts.mfu },
  operators = { "Top Operators", function(results) return operators.top(results, OPERATORS) end },
  kernels = { "Top Kernels", parts.kernels },
  roofline = { "Roofline", parts.roofline },
  advice = { "What to Do", findings.full },
}

-- Not configured: there where there is something to say.
local LAYERS_AFTER, RANKS_AFTER = "stages", "stages"


-- order: names of sections, as configured by `report`.
function report.render(results, order)
  local out = { ("# %s: where the time goes\n"):format(parts.title(results)),
    parts.source(results) }
  for _, name in ipairs(order) do
    local title, make = table.unpack(sections[name])
    out[#out + 1] = ("## %s\n"):format(title)
    out[#out + 1] = make(results)
    if name == LAYERS_AFTER and results.layers then
      out[#out + 1] = "## Layers of a Decode Step\n"
      out[#out + 1] = parts.layers(results)
    end
    if name == RANKS_AFTER and results.ranks then
      out[#out + 1] = "## Steps, Ranks and Collectives\n"
      out[#out + 1] = ranks.full(results)
    end
  end
  out[#out + 1] = "## How Far to Trust It\n"
  out[#out + 1] = parts.trust(results)
  out[#out + 1] = "## Not Measured\n"
  out[#out + 1] = parts.missing(results)
  out[#out + 1] = "## Rules That Could Not Tell\n"
  out[#out + 1] = findings.abstained(results)
  local silent = findings.silent(results)
  if silent then out[#out + 1] = "## Rules That Found Nothing\n\n" .. silent end
  return table.concat(out, "\n")
end


return report
