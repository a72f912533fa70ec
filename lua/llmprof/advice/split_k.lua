-- Matrix products with fewer blocks than the GPU has room for, which keep nothing busy: the sum
-- over the inner dimension can be split among more blocks.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "split_k", own_code = true }

-- Below this part of a wave most SMs are empty.
local WAVES = 0.5

-- Below this percent of its peak no unit is what decides.
local BUSY = 60

-- From this share of the stage's GPU time on.
local WORTH = 0.03


local function used(counters)
  return math.max(counters.sm_percent or 0, counters.memory_percent or 0,
    counters.dram_percent or 0, counters.tensor_percent or 0)
end


local function is_small(kernel)
  local launch, counters = kernel.launch, kernel.counters
  return evidence.is_whole_product(kernel) and launch ~= nil and counters ~= nil
    and (launch.waves or 1) < WAVES and counters.dram_percent ~= nil and used(counters) < BUSY
    and kernel.mean_ns >= evidence.SHORT_NS
end


local function why(kernel)
  return (", %.2f waves, its busiest unit at %.0f %%"):format(kernel.launch.waves,
    used(kernel.counters))
end


local function finding(stage, found)
  local gain = 0
  for _, kernel in ipairs(found.list) do
    local least = math.max(kernel.mean_ns * math.max(kernel.launch.waves,
      used(kernel.counters) / 100), evidence.SHORT_NS)
    gain = gain + kernel.calls * math.max(kernel.mean_ns - least, 0) / stage.wall.count
  end
  return {
    stage = stage.name,
    title = ("matmuls of %s have too few blocks for the GPU"):format(stage.name),
    evidence = evidence.with_kernels({
      evidence.note(evidence.COUNTERS, "%s in matmuls of less than half a wave, with no unit at "
        .. "%d %%", evidence.time(found.ns), BUSY),
    }, found, stage, why),
    try = "split-K or stream-K (cuBLASLt's heuristics with a larger workspace, Triton's SPLIT_K), "
      .. "smaller tiles, or a larger batch",
    changes = evidence.faster(stage, found, gain),
    assumption = "blocks on all SMs do the same work, and a launch takes 5 µs at least",
    kernels = found.ids,
    confidence = "low",
  }
end


function rule.examine(results, report)
  if not evidence.has_counter(results, "dram_percent") then
    report.abstain "no matmul was measured"
    return
  end
  local most = evidence.each_share(results, evidence.stages(results), is_small, WORTH,
    function(stage, found) report.finding(finding(stage, found)) end)
  return ("such matmuls take %s of the GPU time of a stage at most"):format(evidence.percent(most))
end


return rule
