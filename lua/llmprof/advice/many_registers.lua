-- Kernels that wait for memory while registers keep more warps from an SM.
local evidence = require "llmprof.advice.evidence"

-- Of an SM's warps at most this many fit, %: more hide the latency well enough.
local FEW = 50


return evidence.rule_of_kernels {
  name = "many_registers", own_code = true,
  counters = { "bound" },
  lacking = "no kernel was measured",
  worth = 0.03,
  wanted = function(kernel)
    local launch, counters = kernel.launch, kernel.counters
    return launch ~= nil and counters ~= nil and launch.limiter == "registers"
      and launch.occupancy_percent <= FEW and counters.bound == "latency"
  end,
  title = "registers limit the occupancy of kernels of %s",
  note = function(found)
    return "%s in kernels that wait for latency, with room for %d %% of the warps or less",
      evidence.time(found.ns), FEW
  end,
  why = function(kernel)
    local stall = (kernel.counters.stalls or {})[1]
    local shape = (kernel.shapes or {})[1]
    return ("%s, %.0f %% of the warps fit%s"):format(shape and shape.registers
      and (", %d registers a thread"):format(shape.registers) or "",
      kernel.launch.occupancy_percent, stall and (", %s of the waiting is for %s"):format(
        evidence.percent(stall.share), stall.waits_for) or "")
  end,
  try = "smaller tiles, __launch_bounds__ or fewer warps a block (num_warps in Triton); "
    .. "where registers then spill, it is no gain",
  confidence = "low",
}
