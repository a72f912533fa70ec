-- Kernels whose warps touch more sectors of memory than their threads can use.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "uncoalesced", own_code = true }

-- Sectors that a request of a warp needs at most: 32 threads of 16 bytes.
local WIDEST = 16

-- From this share of the stage's GPU time on.
local WORTH = 0.03

-- Units that move what is not used, too.
local MEMORY = { DRAM = true, L2 = true, L1 = true, LSU = true, latency = true,
  ["L2 or L1"] = true, ["DRAM, L2 or L1"] = true }


local function sectors(kernel)
  local counters = kernel.counters or {}
  return math.max(counters.sectors_per_load or 0, counters.sectors_per_store or 0)
end


local function is_scattered(kernel)
  return sectors(kernel) > WIDEST and MEMORY[kernel.counters.bound] ~= nil
end


local function why(kernel)
  return (", %.0f sectors a request, bound by %s"):format(sectors(kernel), kernel.counters.bound)
end


local function finding(stage, found)
  local gain = 0
  for _, kernel in ipairs(found.list) do
    gain = gain + kernel.total_ns * (1 - WIDEST / sectors(kernel)) / stage.wall.count
  end
  return {
    stage = stage.name,
    title = ("kernels of %s access global memory uncoalesced"):format(stage.name),
    evidence = evidence.with_kernels({
      evidence.note(evidence.COUNTERS, "%s in kernels with more than %d sectors of 32 bytes for a "
        .. "warp's request", evidence.time(found.ns), WIDEST),
    }, found, stage, why),
    try = "neighbouring threads on neighbouring addresses: another layout of the tensor, or a "
      .. "transpose through shared memory",
    changes = evidence.faster(stage, found, gain),
    assumption = ("their time falls with the sectors, to %d a request"):format(WIDEST),
    kernels = found.ids,
    confidence = "medium",
  }
end


function rule.examine(results, report)
  if not (evidence.has_counter(results, "sectors_per_load")
    or evidence.has_counter(results, "sectors_per_store")) then
    report.abstain "sectors of requests were not measured (counters.set=full)"
    return
  end
  local most = evidence.each_share(results, evidence.stages(results), is_scattered, WORTH,
    function(stage, found) report.finding(finding(stage, found)) end)
  return ("such kernels take %s of the GPU time of a stage at most"):format(evidence.percent(most))
end


return rule
