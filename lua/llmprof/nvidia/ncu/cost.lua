-- What measuring with ncu costs on a machine: each launch, measured or not, each pass
-- of a measured one, and the start. Figures of an H200 with ncu 2025.3.1; how far this
-- machine is from them is learned from its own runs and kept in the cache, a file for
-- each version of ncu and chip.
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local paths = require "llmprof.io.paths"

local cost = {}

-- Of a launch that is not measured, eager or in a graph, inside the filters: 0.07 to
-- 0.16 ms.
local LAUNCH_S = 0.15e-3

-- Of a pass beside the kernel itself: 0.022 s for a toy, 0.038 s for models with 8 and
-- with 17 GB on the GPU, and in between what saving and restoring memory takes.
local PASS_S, PASS_S_PER_BYTE, MOST_BYTES = 0.023, 5e-12, 3e9

-- What a program starts later under ncu.
local START_S = 3

-- A figure further from these than so is taken for a mistake.
local MOST = 5


local function path_of(version, chip)
  local folder = paths.folder "cache"
  local name = ("ncu-cost-%s-%s.json"):format(version, chip):gsub("[^%w._-]", "_")
  return folder and folder .. "/" .. name
end


-- A factor that can be believed; else 1.
local function factor(value)
  return type(value) == "number" and value >= 1 / MOST and value <= MOST and value or 1
end


local function load(version, chip)
  local path = version and chip and path_of(version, chip)
  local kept = path and json.load(path)
  if type(kept) ~= "table" or kept.ncu ~= version or kept.chip ~= chip then kept = {} end
  return { pass = factor(kept.pass), launch = factor(kept.launch) }
end


-- { pass_s, launch_s, start_s } of a machine. memory: bytes that the workload has on the
-- GPU, a model's where that is nil; version and chip may be nil.
function cost.figures(version, chip, memory)
  local kept = load(version, chip)
  local restored = math.min(memory or MOST_BYTES, MOST_BYTES)
  return { pass_s = kept.pass * (PASS_S + PASS_S_PER_BYTE * restored),
    launch_s = kept.launch * LAUNCH_S, start_s = START_S }
end


-- Keep what a run took, as factors of what was predicted for it: pass, launch (either
-- may be nil).
function cost.learn(version, chip, took)
  local path = version and chip and path_of(version, chip)
  if not path or not (took.pass or took.launch) then return end
  local kept = load(version, chip)
  kept.ncu, kept.chip = version, chip
  kept.pass = factor(kept.pass * (took.pass or 1))
  kept.launch = factor(kept.launch * (took.launch or 1))
  local text = json.encode(json.ordered(kept, { "ncu", "chip", "pass", "launch" }),
    { pretty = true })
  if text and fs.mkdirs((path:match "^(.*)/")) then fs.write(path, text .. "\n") end
end


return cost
