-- The metrics that a chip has, as ncu --query-metrics told, kept between runs:
-- a file for each version of ncu and chip. A run does without it: what cannot be
-- read is asked anew, what cannot be written is not kept.
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local sorted_keys = require("llmprof.tables.keys").sorted
local paths = require "llmprof.io.paths"

local metric_cache = {}


-- The file of a version and a chip; nil where there is no folder to keep it in.
local function path_of(version, chip)
  local folder = paths.folder "cache"
  local name = ("ncu-%s-%s.json"):format(version, chip):gsub("[^%w._-]", "_")
  return folder and folder .. "/" .. name
end


-- A list of names as a set; nil for anything else, and for an empty list.
local function set_of(list)
  if type(list) ~= "table" or #list == 0 then return nil end
  local names = {}
  for _, name in ipairs(list) do
    if type(name) ~= "string" then return nil end
    names[name] = true
  end
  return names
end


-- Base names of the chip's metrics as a set, or nil.
function metric_cache.load(version, chip)
  local path = path_of(version, chip)
  local kept = path and json.load(path)
  if type(kept) ~= "table" or kept.ncu ~= version or kept.chip ~= chip then return nil end
  return set_of(kept.metrics)
end


-- Keep them, whole or not at all.
function metric_cache.save(version, chip, names)
  local path = path_of(version, chip)
  local text = path and json.encode(json.ordered({ ncu = version, chip = chip,
    metrics = json.list(sorted_keys(names)) }, { "ncu", "chip", "metrics" }), { pretty = true })
  if text and fs.mkdirs((path:match "^(.*)/")) then fs.write(path, text .. "\n") end
end


-- ---- cost ----

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


local function cost_path_of(version, chip)
  local folder = paths.folder "cache"
  local name = ("ncu-cost-%s-%s.json"):format(version, chip):gsub("[^%w._-]", "_")
  return folder and folder .. "/" .. name
end


-- A factor that can be believed; else 1.
local function factor(value)
  return type(value) == "number" and value >= 1 / MOST and value <= MOST and value or 1
end


local function load(version, chip)
  local path = version and chip and cost_path_of(version, chip)
  local kept = path and json.load(path)
  if type(kept) ~= "table" or kept.ncu ~= version or kept.chip ~= chip then kept = {} end
  return { pass = factor(kept.pass), launch = factor(kept.launch) }
end


-- { pass_s, launch_s, start_s } of a machine. memory: bytes that the workload has on the
-- GPU, a model's where that is nil; version and chip may be nil.
function metric_cache.figures(version, chip, memory)
  local kept = load(version, chip)
  local restored = math.min(memory or MOST_BYTES, MOST_BYTES)
  return { pass_s = kept.pass * (PASS_S + PASS_S_PER_BYTE * restored),
    launch_s = kept.launch * LAUNCH_S, start_s = START_S }
end


-- Keep what a run took, as factors of what was predicted for it: pass, launch (either
-- may be nil).
function metric_cache.learn(version, chip, took)
  local path = version and chip and cost_path_of(version, chip)
  if not path or not (took.pass or took.launch) then return end
  local kept = load(version, chip)
  kept.ncu, kept.chip = version, chip
  kept.pass = factor(kept.pass * (took.pass or 1))
  kept.launch = factor(kept.launch * (took.launch or 1))
  local text = json.encode(json.ordered(kept, { "ncu", "chip", "pass", "launch" }),
    { pretty = true })
  if text and fs.mkdirs((path:match "^(.*)/")) then fs.write(path, text .. "\n") end
end


return metric_cache
