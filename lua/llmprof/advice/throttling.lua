-- The GPU's clocks were held down while the workload ran: by power, by heat, or
-- by a limit that somebody set.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "throttling" }


local function clock_check(results)
  for _, check in ipairs(results.integrity and results.integrity.checks or {}) do
    if check.name == "clocks" then return check end
  end
  return nil
end


function rule.examine(results, report)
  local check = clock_check(results)
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
