-- Kernels that wait for latency because few warps are there to hide it, and what
-- keeps more from running.
local evidence = require "llmprof.analysis.evidence"

local rule = { name = "low_occupancy" }

-- Below this share of the SM's warps latency is hard to hide, %.
local LOW = 25

-- From this share of the stage's GPU time on.
local WORTH = 0.03


local function is_low(kernel)
  local counters = kernel.counters
  return counters and counters.bound == "latency" and counters.occupancy_percent
    and counters.occupancy_percent < LOW and kernel.mean_ns >= evidence.SHORT_NS
end


local function why(kernel)
  local counters = kernel.counters
  return (", %.0f %% of the warps%s"):format(counters.occupancy_percent,
    counters.occupancy_limiter and ", limited by " .. counters.occupancy_limiter or "")
end


-- Time that comes back when a kernel gets all of the unit it uses most.
local function headroom(group, stage)
  local sum = 0
  for _, kernel in ipairs(group.list) do
    local used = math.max(kernel.counters.sm_percent or 0, kernel.counters.memory_percent or 0)
    sum = sum + kernel.total_ns / stage.wall.count * (1 - math.min(used, 100) / 100)
  end
  return sum
end


function rule.examine(results, report)
  if not evidence.has_counter(results, "occupancy_percent") then
    report.abstain "occupancy was not measured (counters by ncu, section Occupancy)"
    return
  end
  for _, stage in ipairs(evidence.stages(results)) do
    local low = evidence.kernels(results, stage, is_low)
    if low.share >= WORTH then
      report.finding {
        stage = stage.name,
        title = ("kernels of %s leave most of each SM empty"):format(stage.name),
        evidence = evidence.with_kernels({
          evidence.note(evidence.COUNTERS, "%s in kernels of at least %s with less than %d %% of "
            .. "the warps, neither compute nor memory busy", evidence.time(low.ns),
            evidence.time(evidence.SHORT_NS), LOW),
        }, low, stage, why),
        try = "for a small grid, more parallel work: split-K, flash decoding, a larger batch. For "
          .. "registers or shared memory, smaller tiles, or another kernel of the library",
        gain_ns = headroom(low, stage),
        spends = "gpu",
        assumption = "they reach the peak of the unit that they use most",
        kernels = low.ids,
        confidence = "low",
      }
    end
  end
end


return rule
