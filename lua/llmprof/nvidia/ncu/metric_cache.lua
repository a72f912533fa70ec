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


return metric_cache
