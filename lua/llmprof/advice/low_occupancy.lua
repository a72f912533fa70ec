-- Kernels of few warps, or few blocks, which cannot hide latency or leave most SMs empty.
local evidence = require "llmprof.advice.evidence"
local lists = require "llmprof.tables.lists"

local rule = { name = "low_occupancy" }

-- From this share of the stage's GPU time on.
local WORTH = 0.03

-- What no launch does without: an empty kernel takes about 1 us, and so does it
-- to read memory once and to let the last block end.
local FILL_NS = 2000


-- The ns that all launches of a kernel save where this part of their time is left; a launch keeps
-- at least the time to fill the GPU.
local function saved(kernel, part)
  local least = math.min(kernel.mean_ns * part + FILL_NS, kernel.mean_ns)
  return kernel.calls * (kernel.mean_ns - least)
end


-- ---- by counters ----

-- Below this share of the SM's warps latency is hard to hide, %.
local LOW = 25

local by_counters = {
  worth = WORTH,
  wanted = function(kernel)
    local counters = kernel.counters
    return counters and counters.bound == "latency" and counters.occupancy_percent
      and counters.occupancy_percent < LOW
  end,
  title = "kernels of %s leave most of each SM empty",
  note = function(low)
    return "%T in kernels with less than %d %% of the warps, neither compute nor memory busy",
      low.ns, LOW
  end,
  why = function(kernel)
    local counters = kernel.counters
    local limiter = counters.occupancy_limiter or kernel.launch and kernel.launch.limiter
    return (", %.0f %% of the warps%s"):format(counters.occupancy_percent,
      limiter and ", limited by " .. limiter or "")
  end,
  try = "for a small grid, more parallel work: split-K, flash decoding, a larger batch. For "
    .. "registers or shared memory, smaller tiles, or another kernel of the library",
  saved = function(kernel)
    local counters = kernel.counters
    return saved(kernel, math.min(math.max(counters.sm_percent or 0,
      counters.memory_percent or 0), 100) / 100)
  end,
  assumption = "they reach the peak of the unit that they use most, apart from the 2 µs that a "
    .. "launch takes to fill and drain the GPU",
  confidence = "low",
}


-- ---- without counters ----

-- A grid of fewer blocks than this part of the SMs is small; launches of at least this many ns.
local FEW, LONG_NS = 0.25, 20e3


-- Blocks of the shape that a kernel is launched in most.
local function blocks_of(kernel)
  local main = (kernel.shapes or {})[1]
  return main and main.grid and main.grid[1] * main.grid[2] * main.grid[3]
end


local function by_blocks(results, sms)
  return {
    worth = WORTH,
    skips = function(stage) return evidence.is_held_up(results, stage) end,
    wanted = function(kernel)
      local blocks = blocks_of(kernel)
      return blocks ~= nil and blocks < FEW * sms and kernel.mean_ns >= LONG_NS
        and kernel.category ~= "communication" -- which wait for others
    end,
    title = "kernels of %s run on few SMs",
    source = evidence.TIMELINE, is_of_timeline = true,
    note = function(small)
      return "%T in kernels with fewer blocks than a quarter of the GPU's %d SMs", small.ns, sms
    end,
    why = function(kernel) return evidence.say(", %N{block}", blocks_of(kernel)) end,
    try = "more blocks: split what one block loops over, flash decoding, split-K, a larger batch",
    saved = function(kernel) return saved(kernel, blocks_of(kernel) / sms) end,
    assumption = "their work is divided among all SMs, and no unit is at its peak",
    confidence = "low",
    silent = "kernels of few blocks take %P of the GPU time of a stage at most",
  }
end


function rule.examine(results, report)
  if lists.any(results.kernels, function(kernel)
    return kernel.counters and kernel.counters.occupancy_percent
  end) then
    return evidence.examine_kernels(results, report, by_counters)
  end
  local sms = results.hardware and results.hardware.sm_count
  if sms then return evidence.examine_kernels(results, report, by_blocks(results, sms)) end
  report.abstain "neither occupancy (counters by ncu, section Occupancy) nor the GPU is known"
end


return rule
