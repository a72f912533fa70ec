-- Where a kernel stands in the sequence of its stage: the kernels that run just
-- before and after it, most often.
local errors = require "llmprof.process.errors"
local stages = require "llmprof.analysis.stages.find"
local trace_file = require "llmprof.trace.file"
local tuple = require("llmprof.tables.keys").tuple

local sequence = {}


-- Stages as a recipe would declare them, from results.
local function declared_of(results)
  local declared = {}
  for i, stage in ipairs(results.stages) do
    declared[i] = { name = stage.name, parent = stage.parent }
  end
  return declared
end


-- The kernels of the last used instance of each stage, in their order.
local function kernels_of(trace, found, results)
  local frame = errors.check(trace:frame "kernels")
  stages.label(trace, frame, found)
  if not found.whole then
    local last, ranges = {}, {}
    for _, instance in ipairs(found.instances) do
      if instance.used and not instance.parent then last[instance.stage] = instance.range end
    end
    for _, stage in ipairs(results.stages) do ranges[#ranges + 1] = last[stage.name] end
    frame = frame:where { stage_range = ranges }
  end
  return frame:sort { { "start" } }
end


local function key_of(stage, part, name)
  return tuple(stage or stages.WHOLE_RUN, part, name or "")
end


local function count(counts, key, neighbour, times)
  counts[key] = counts[key] or {}
  counts[key][neighbour] = (counts[key][neighbour] or 0) + times
end


-- places: key -> its values as one text, by which equals are told apart.
local function most_often(counts, places)
  local best
  for name, times in pairs(counts or {}) do
    local more = times - (best and counts[best] or 0)
    if more > 0 or (more == 0 and places[name] < places[best]) then best = name end
  end
  return best
end


-- Of the kernels of a side, by tuple(stage, part, name): { previous, next }, the keys
-- of the kernels around it (absent at an end of the stage). Empty without a trace.
function sequence.neighbours(side)
  if not side.trace then return {} end
  local trace = trace_file.open(side.trace)
  local found = stages.find(trace, declared_of(side.results), side.results.repeats)
  local list = kernels_of(trace, found, side.results)
  local previous, following, around, places = {}, {}, {}, {}
  for _, kernel in ipairs(list:group { by = { "stage", "part", "name" } }) do
    local key = key_of(kernel.stage, kernel.part, kernel.name)
    around[key] = {}
    places[key] = ("%s/%s/%s"):format(kernel.stage or "", kernel.part or "", kernel.name or "")
  end
  list:follow { "stage", "part", "name" }
  for _, pair in ipairs(list:slice(1, #list - 1):group {
    by = { "stage", "part", "name", "next_stage", "next_part", "next_name" } }) do
    if pair.stage == pair.next_stage then
      local key = key_of(pair.stage, pair.part, pair.name)
      local next_key = key_of(pair.next_stage, pair.next_part, pair.next_name)
      count(previous, next_key, key, pair.count)
      count(following, key, next_key, pair.count)
    end
  end
  for key, entry in pairs(around) do
    entry.previous, entry.next = most_often(previous[key], places),
      most_often(following[key], places)
  end
  return around
end


return sequence
