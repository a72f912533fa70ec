-- Clocks of the GPU that power, heat or a limit held down.
local evidence = require "llmprof.advice.evidence"
local lists = require "llmprof.tables.lists"

local rule = { name = "throttling" }


function rule.examine(results, report)
  local checks = results.integrity and results.integrity.checks or {}
  local check = lists.find(checks, "name", "clocks")
  if not check then
    return report.abstain "clocks were not sampled (a capture made elsewhere, or no NVML)"
  elseif check.level ~= "ok" then
    report.finding {
      title = "the GPU's clocks were held down",
      evidence = { evidence.note("NVML", "%s", check.text) },
      try = "raise the power limit, cool the GPU, or lock its clocks; until then compare runs at "
        .. "the same clocks only",
      confidence = "high",
    }
  end
  return check.text
end


return rule
