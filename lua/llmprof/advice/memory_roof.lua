-- Kernels that already read memory as fast as it goes: no better kernel helps,
-- only fewer bytes, or more work per byte.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "memory_roof" }

-- Near the roof: ncu calls what is above it well used, %.
local NEAR = 80

-- From this share of the stage's GPU time on.
local WORTH = 0.1


-- One whose percent is above what can be has no known bound.
local function is_at_roof(kernel)
  local counters = kernel.counters
  return counters and (counters.dram_percent or 0) >= NEAR and counters.bound ~= "unknown"
end


local function measured(kernel)
  return (", %.0f %% of the DRAM bandwidth"):format(kernel.counters.dram_percent)
end


local function finding(stage, roof)
  return {
    stage = stage.name,
    title = ("%s of the GPU time of %s is at the memory's speed"):format(
      evidence.percent(roof.share), stage.name),
    evidence = evidence.with_kernels({
      evidence.note(evidence.COUNTERS, "%s in kernels at %d %% or more of the DRAM bandwidth",
        evidence.time(roof.ns), NEAR),
    }, roof, stage, measured),
    try = "only fewer bytes or more work per byte help: weights (and KV cache) of 8 or 4 bits, "
      .. "a larger batch",
    changes = evidence.change("scale(%s, 0.5)", stage, roof.list),
    assumption = "their bytes are halved, as by 8-bit instead of 16-bit weights",
    kernels = roof.ids,
    confidence = "medium",
  }
end


function rule.examine(results, report)
  if not evidence.has_counter(results, "dram_percent") then
    report.abstain "DRAM throughput was not measured (counters by ncu)"
    return
  end
  local most = evidence.each_share(results, evidence.stages(results), is_at_roof, WORTH,
    function(stage, roof) report.finding(finding(stage, roof)) end)
  return ("such kernels take %s of the GPU time of a stage at most"):format(evidence.percent(most))
end


return rule
