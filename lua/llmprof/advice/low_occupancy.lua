-- Kernels that wait for latency because few warps are there to hide it, and what
-- keeps more from running; without counters those of few blocks, which leave most SMs empty.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "low_occupancy" }

-- Below this share of the SM's warps latency is hard to hide, %.
local LOW = 25

-- From this share of the stage's GPU time on.
local WORTH = 0.03

-- A grid of fewer blocks than this part of the SMs is small; launches of at least this many ns.
local FEW, LONG_NS = 0.25, 20e3

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
    changes = evidence.faster(stage, low, headroom(low, stage)),
    assumption = "they reach the peak of the unit that they use most, apart from the 2 µs that a "
      .. "launch takes to fill and drain the GPU",
    kernels = low.ids,
    confidence = "low",
  }
end


-- ---- without counters ----

-- Blocks of the shape that a kernel is launched in most.
local function blocks_of(kernel)
  local main = (kernel.shapes or {})[1]
  return main and main.grid and main.grid[1] * main.grid[2] * main.grid[3]
end


local function is_small(sms)
  return function(kernel)
    local blocks = blocks_of(kernel)
    return blocks ~= nil and blocks < FEW * sms and kernel.mean_ns >= LONG_NS
      and kernel.category ~= "communication" -- which wait for others
  end
end


local function of_few_blocks(stage, small, sms)
  local gain, notes = 0, { evidence.note(evidence.TIMELINE,
    "%s in kernels with fewer blocks than a quarter of the GPU's %d SMs", evidence.time(small.ns),
    sms) }
  for i, note in ipairs(evidence.largest(small, stage)) do
    notes[i + 1] = evidence.note(evidence.TIMELINE, "%s, %s", note.text,
      evidence.things(blocks_of(small.list[i]), "block"))
  end
  for _, kernel in ipairs(small.list) do
    local least = math.min(kernel.mean_ns * blocks_of(kernel) / sms + FILL_NS, kernel.mean_ns)
    gain = gain + kernel.calls * (kernel.mean_ns - least) / stage.wall.count
  end
  return {
    stage = stage.name,
    title = ("kernels of %s run on few SMs"):format(stage.name),
    evidence = notes,
    try = "more blocks: split what one block loops over, flash decoding, split-K, a larger batch",
    changes = evidence.faster(stage, small, gain),
    assumption = "their work is divided among all SMs, and no unit is at its peak",
    kernels = small.ids,
    confidence = "low",
  }
end


function rule.examine(results, report)
  if not evidence.has_counter(results, "occupancy_percent") then
    local sms = results.hardware and results.hardware.sm_count
    if not sms then
      report.abstain "neither occupancy (counters by ncu, section Occupancy) nor the GPU is known"
      return
    end
    local most = evidence.each_share(results, evidence.stages(results), is_small(sms), WORTH,
      function(stage, small)
        if not evidence.is_held_up(results, stage) then
          report.finding(of_few_blocks(stage, small, sms))
        end
      end)
    return ("kernels of few blocks take %s of the GPU time of a stage at most"):format(
      evidence.percent(most))
  end
  local most = evidence.each_share(results, evidence.stages(results), is_low, WORTH,
    function(stage, low) report.finding(finding(stage, low)) end)
  return ("such kernels take %s of the GPU time of a stage at most"):format(evidence.percent(most))
end


return rule
