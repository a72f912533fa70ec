-- Kernels that wait for latency because few warps are there to hide it, and what
-- keeps more from running.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "low_occupancy" }

-- Below this share of the SM's warps latency is hard to hide, %.
local LOW = 25

-- From this share of the stage's GPU time on.
local WORTH = 0.03

-- What no launch does without: an empty kernel takes about 1 us, and so does it
-- to read memory once and to let the last block end.
local FILL_NS = 2000


local function is_low(kernel)
  local counters = kernel.counters
  return counters and counters.bound == "latency" and counters.occupancy_percent
    and counters.occupancy_percent < LOW
end


-- How much of the unit that it uses most a kernel gets, 0 to 1.
local function used(kernel)
  local counters = kernel.counters
  return math.min(math.max(counters.sm_percent or 0, counters.memory_percent or 0), 100) / 100
end


local function why(kernel)
  local counters = kernel.counters
  local limiter = counters.occupancy_limiter or kernel.launch and kernel.launch.limiter
  return (", %.0f %% of the warps%s"):format(counters.occupancy_percent,
    limiter and ", limited by " .. limiter or "")
end


-- Time that comes back when each kernel takes its work at the peak, and the time
-- that no launch does without.
local function headroom(group, stage)
  local sum = 0
  for _, kernel in ipairs(group.list) do
    local least = math.min(kernel.mean_ns * used(kernel) + FILL_NS, kernel.mean_ns)
    sum = sum + kernel.calls * (kernel.mean_ns - least) / stage.wall.count
  end
  return sum
end


local function finding(stage, low)
  return {
    stage = stage.name,
    title = ("kernels of %s leave most of each SM empty"):format(stage.name),
    evidence = evidence.with_kernels({
      evidence.note(evidence.COUNTERS, "%s in kernels with less than %d %% of the warps, "
        .. "neither compute nor memory busy", evidence.time(low.ns), LOW),
    }, low, stage, why),
    try = "for a small grid, more parallel work: split-K, flash decoding, a larger batch. For "
      .. "registers or shared memory, smaller tiles, or another kernel of the library",
    gain_ns = headroom(low, stage),
    spends = "gpu",
    assumption = "they reach the peak of the unit that they use most, beside the 2 µs that a "
      .. "launch takes to fill and drain the GPU",
    kernels = low.ids,
    confidence = "low",
  }
end


function rule.examine(results, report)
  if not evidence.has_counter(results, "occupancy_percent") then
    report.abstain "occupancy was not measured (counters by ncu, section Occupancy)"
    return
  end
  local most = evidence.each_share(results, evidence.stages(results), is_low, WORTH,
    function(stage, low) report.finding(finding(stage, low)) end)
  return ("such kernels take %s of the GPU time of a stage at most"):format(evidence.percent(most))
end


return rule
