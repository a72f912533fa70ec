-- Steps of a stage: the ranges inside it that each mark one token, where the
-- recipe names them (a stage's `step`), or what was inferred.
local errors = require "llmprof.base.errors"

local steps = {}


-- Every range of that name, by start: { start, stop } in ns.
local function ranges_named(trace, name)
  local found = errors.check("failed", trace:frame "ranges"):where { tag = name }
  local list = {}
  for row = 1, #found do
    list[row] = { start = found:get(row, "start"), stop = found:get(row, "end") }
  end
  table.sort(list, function(a, b) return a.start < b.start end)
  return list
end


local function inferred_steps(found, stage)
  local list = {}
  for _, instance in ipairs(found.instances) do
    if instance.used and instance.stage == stage.name and instance.steps then
      list[#list + 1] = { instance = instance, steps = instance.steps }
    end
  end
  return list
end


-- The steps within each used instance of a stage: list of { instance, steps },
-- without instances that have none. Empty when the stage declares no step and
-- none were inferred.
function steps.of(trace, found, stage)
  if found.inferred then return inferred_steps(found, stage) end
  if not stage.step then return {} end
  local ranges, list = ranges_named(trace, stage.step), {}
  for _, instance in ipairs(found.instances) do
    if instance.used and instance.stage == stage.name then
      local inside = {}
      for _, range in ipairs(ranges) do
        if range.start >= instance.start and range.stop <= instance.stop then
          inside[#inside + 1] = range
        end
      end
      if #inside > 0 then list[#list + 1] = { instance = instance, steps = inside } end
    end
  end
  return list
end


-- What lies between one step and the next: list of { start, stop } in ns.
function steps.gaps(list)
  local gaps = {}
  for i = 2, #list do
    gaps[i - 1] = { start = list[i - 1].stop, stop = math.max(list[i].start, list[i - 1].stop) }
  end
  return gaps
end


-- Means per instance: { count, between_ns, idle_ns (of the GPU, between steps),
-- and that idle time by what the CPU did: launch_ns, ... }. split: a classifier
-- of llmprof.analysis.waiting. nil without steps.
function steps.between(list, split)
  if #list == 0 then return nil end
  local sums = { count = 0, between_ns = 0, idle_ns = 0 }
  for _, entry in ipairs(list) do
    sums.count = sums.count + #entry.steps
    for _, gap in ipairs(steps.gaps(entry.steps)) do
      sums.between_ns = sums.between_ns + gap.stop - gap.start
      for class, ns in pairs(split(gap)) do
        sums[class .. "_ns"] = (sums[class .. "_ns"] or 0) + ns
        sums.idle_ns = sums.idle_ns + ns
      end
    end
  end
  for key, sum in pairs(sums) do sums[key] = sum / #list end
  return sums
end


return steps
