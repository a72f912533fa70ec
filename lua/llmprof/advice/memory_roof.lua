-- Kernels that read memory as fast as it goes: no better kernel helps.
local evidence = require "llmprof.advice.evidence"

-- Near the roof: ncu calls what is above it well used, %.
local NEAR = 80


return evidence.rule_of_kernels {
  name = "memory_roof",
  known = function(kernel) return kernel.counters and kernel.counters.dram_percent end,
  lacking = "DRAM throughput was not measured (counters by ncu)",
  worth = 0.1,
  -- one whose percent is above what can be has no known bound
  wanted = function(kernel)
    local counters = kernel.counters
    return counters and (counters.dram_percent or 0) >= NEAR and counters.bound ~= "unknown"
  end,
  title = "%s spends %P of its GPU time at the memory's speed",
  note = function(roof)
    return "%T in kernels at %d %% or more of the DRAM bandwidth", roof.ns, NEAR
  end,
  why = function(kernel)
    return (", %.0f %% of the DRAM bandwidth"):format(kernel.counters.dram_percent)
  end,
  try = "only fewer bytes or more work per byte help: weights (and KV cache) of 8 or 4 bits, "
    .. "a larger batch",
  change = "scale(%s, 0.5)",
  assumption = "their bytes are halved, as by 8-bit instead of 16-bit weights",
}
