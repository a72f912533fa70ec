-- Matrix products with fewer blocks than the GPU has room for, which keep nothing busy: the sum
-- over the inner dimension can be split among more blocks.
local evidence = require "llmprof.advice.evidence"

-- Below this part of a wave most SMs are empty.
local WAVES = 0.5

-- Below this percent of its peak no unit is what decides.
local BUSY = 60


local function used(counters)
  return math.max(counters.sm_percent or 0, counters.memory_percent or 0,
    counters.dram_percent or 0, counters.tensor_percent or 0)
end


return evidence.rule_of_kernels {
  name = "split_k", own_code = true,
  counters = { "dram_percent" },
  lacking = "no matmul was measured",
  worth = 0.03,
  wanted = function(kernel)
    local launch, counters = kernel.launch, kernel.counters
    return evidence.is_whole_product(kernel) and launch ~= nil and counters ~= nil
      and (launch.waves or 1) < WAVES and counters.dram_percent ~= nil and used(counters) < BUSY
      and kernel.mean_ns >= evidence.SHORT_NS
  end,
  title = "matmuls of %s have too few blocks for the GPU",
  note = function(found)
    return "%s in matmuls of less than half a wave, with no unit at %d %%",
      evidence.time(found.ns), BUSY
  end,
  why = function(kernel)
    return (", %.2f waves, its busiest unit at %.0f %%"):format(kernel.launch.waves,
      used(kernel.counters))
  end,
  try = "split-K or stream-K (cuBLASLt's heuristics with a larger workspace, Triton's SPLIT_K), "
    .. "smaller tiles, or a larger batch",
  saved = function(kernel)
    local least = math.max(kernel.mean_ns * math.max(kernel.launch.waves,
      used(kernel.counters) / 100), evidence.SHORT_NS)
    return kernel.calls * math.max(kernel.mean_ns - least, 0)
  end,
  assumption = "blocks on all SMs do the same work, and a launch takes 5 µs at least",
  confidence = "low",
  silent = "such matmuls take %s of the GPU time of a stage at most",
}
