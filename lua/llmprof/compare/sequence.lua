-- Where a kernel stands in the sequence of its stage: the kernels that run just
-- before and after it, most often.
local errors = require "llmprof.base.errors"
local stages = require "llmprof.analysis.stages"
local trace_file = require "llmprof.trace.file"

local sequence = {}


-- Stages as a recipe would declare them, from results.
local function declared_of(results)
  local declared = {}
  for i, stage in ipairs(results.stages) do
    declared[i] = { name = stage.name, parent = stage.parent }
  end
  return declared
end


-- The kernels of the last used instance of each stage: { key, start }.
local function kernels_of(trace, found, results)
  local frame = errors.check("failed", trace:frame "kernels")
  stages.label(trace, frame, found)
  local last = {}
  for _, instance in ipairs(found.instances) do
    if instance.used and not instance.parent then last[instance.stage] = instance.range end
  end
  if not found.whole then
    local ranges = {}
    for _, stage in ipairs(results.stages) do ranges[#ranges + 1] = last[stage.name] end
    frame = frame:where { stage_range = ranges }
  end
  local list = {}
  for row = 1, #frame do
    local stage = found.whole and stages.WHOLE_RUN or frame:get(row, "stage")
    list[row] = { stage = stage, start = frame:get(row, "start"), row = row,
      key = table.concat({ stage, frame:get(row, "part") or "", frame:get(row, "name") or "" },
        "\0") }
  end
  table.sort(list, function(a, b)
    if a.start ~= b.start then return a.start < b.start end
    return a.row < b.row
  end)
  return list
end


local function count(counts, key, neighbour)
  counts[key] = counts[key] or {}
  counts[key][neighbour] = (counts[key][neighbour] or 0) + 1
end


local function most_often(counts)
  local best
  for name, times in pairs(counts or {}) do
    if not best or times > counts[best] or (times == counts[best] and name < best) then
      best = name
    end
  end
  return best
end


-- Of the kernels of a side, by "stage\0part\0name": { previous, next }, the keys of
-- the kernels around it (absent at an end of the stage). Empty without a trace.
function sequence.neighbours(side)
  if not side.trace then return {} end
  local trace = trace_file.open(side.trace)
  local found = stages.find(trace, declared_of(side.results), side.results.repeats)
  local previous, following, around = {}, {}, {}
  local list = kernels_of(trace, found, side.results)
  for i, kernel in ipairs(list) do
    local before = list[i - 1]
    around[kernel.key] = {}
    if before and before.stage == kernel.stage then
      count(previous, kernel.key, before.key)
      count(following, before.key, kernel.key)
    end
  end
  for key, entry in pairs(around) do
    entry.previous, entry.next = most_often(previous[key]), most_often(following[key])
  end
  return around
end


return sequence
