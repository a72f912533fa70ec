-- Kernels whose warps touch more sectors of memory than their threads can use.
local evidence = require "llmprof.advice.evidence"

-- Sectors that a request of a warp needs at most: 32 threads of 16 bytes.
local WIDEST = 16

-- Units that move what is not used, too.
local MEMORY = { DRAM = true, L2 = true, L1 = true, LSU = true, latency = true,
  ["L2 or L1"] = true, ["DRAM, L2 or L1"] = true }


local function sectors(kernel)
  local counters = kernel.counters or {}
  return math.max(counters.sectors_per_load or 0, counters.sectors_per_store or 0)
end


return evidence.rule_of_kernels {
  name = "uncoalesced", own_code = true,
  known = function(kernel) return sectors(kernel) > 0 end,
  lacking = "sectors of requests were not measured (counters.set=full)",
  worth = 0.03,
  wanted = function(kernel)
    return sectors(kernel) > WIDEST and MEMORY[kernel.counters.bound] ~= nil
  end,
  title = "kernels of %s access global memory uncoalesced",
  note = function(found)
    return "%T in kernels with more than %d sectors of 32 bytes for a warp's request", found.ns,
      WIDEST
  end,
  why = function(kernel)
    return (", %.0f sectors a request, bound by %s"):format(sectors(kernel), kernel.counters.bound)
  end,
  try = "neighbouring threads on neighbouring addresses: another layout of the tensor, or a "
    .. "transpose through shared memory",
  saved = function(kernel) return kernel.total_ns * (1 - WIDEST / sectors(kernel)) end,
  assumption = ("their time falls with the sectors, to %d a request"):format(WIDEST),
}
