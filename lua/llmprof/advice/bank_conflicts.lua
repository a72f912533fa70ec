-- Kernels whose warps wait for banks of shared memory.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "bank_conflicts", own_code = true }

-- From this part of the wavefronts of shared memory on, %.
local MANY = 25

-- From this share of the stage's GPU time on.
local WORTH = 0.03

-- What shared memory keeps busy, or waiting.
local SHARED = { L1 = true, LSU = true, MIO = true, latency = true, ["some SM unit"] = true,
  ["L2 or L1"] = true }


local function has_conflicts(kernel)
  local counters = kernel.counters
  return counters ~= nil and (counters.bank_conflict_percent or 0) >= MANY
    and SHARED[counters.bound] ~= nil
end


local function why(kernel)
  return (", %.0f %% of the wavefronts, bound by %s"):format(
    kernel.counters.bank_conflict_percent, kernel.counters.bound)
end


local function finding(stage, found)
  local gain = 0
  for _, kernel in ipairs(found.list) do
    gain = gain + kernel.total_ns * kernel.counters.bank_conflict_percent / 100 / stage.wall.count
  end
  return {
    stage = stage.name,
    title = ("kernels of %s have bank conflicts in shared memory"):format(stage.name),
    evidence = evidence.with_kernels({
      evidence.note(evidence.COUNTERS, "%s in kernels where %d %% of the wavefronts or more come "
        .. "from bank conflicts", evidence.time(found.ns), MANY),
    }, found, stage, why),
    try = "rows of shared memory padded by one element, or a swizzled layout",
    changes = evidence.faster(stage, found, gain),
    assumption = "their time falls with the wavefronts",
    kernels = found.ids,
    confidence = "medium",
  }
end


function rule.examine(results, report)
  if not evidence.has_counter(results, "bank_conflict_percent") then
    report.abstain "bank conflicts were not measured (counters.set=full)"
    return
  end
  local most = evidence.each_share(results, evidence.stages(results), has_conflicts, WORTH,
    function(stage, found) report.finding(finding(stage, found)) end)
  return ("such kernels take %s of the GPU time of a stage at most"):format(evidence.percent(most))
end


return rule
