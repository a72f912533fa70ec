-- Where the time of each stage goes: GPU time by category of work, idle time by
-- what the CPU did, driver calls, and how long launches wait.
-- All figures are means per used instance of the stage.
local categories = require "llmprof.analysis.categories"
local errors = require "llmprof.errors"
local json = require "llmprof.json"
local stages = require "llmprof.analysis.stages"
local steps = require "llmprof.analysis.steps"
local waiting = require "llmprof.analysis.waiting"

local breakdown = {}


local function used_instances(found)
  local by_stage = {}
  for _, instance in ipairs(found.instances) do
    if instance.used then
      by_stage[instance.stage] = by_stage[instance.stage] or {}
      table.insert(by_stage[instance.stage], instance)
    end
  end
  return by_stage
end


-- ---- GPU time by category ----

-- Kernels of a stage, or of a part of one, with their category and device time.
local function category_rows(kernels, stage, count)
  local sums, order, all = {}, {}, 0
  for _, kernel in ipairs(kernels) do
    if kernel.stage == stage or kernel.part == stage then
      local row = sums[kernel.category]
      if not row then
        row = { category = kernel.category, gpu_time_ns = 0, calls = 0 }
        sums[kernel.category], order[#order + 1] = row, row
      end
      row.gpu_time_ns = row.gpu_time_ns + kernel.total_ns
      row.calls, all = row.calls + kernel.calls, all + kernel.total_ns
    end
  end
  table.sort(order, function(a, b)
    if a.gpu_time_ns ~= b.gpu_time_ns then return a.gpu_time_ns > b.gpu_time_ns end
    return a.category < b.category
  end)
  for _, row in ipairs(order) do
    row.share = all > 0 and row.gpu_time_ns / all or nil
    row.gpu_time_ns, row.calls = row.gpu_time_ns / count, row.calls / count
  end
  return json.list(order)
end


-- Give each kernel of the list its category.
function breakdown.categorize(kernels, rules)
  local classify = categories.classifier(rules)
  for _, kernel in ipairs(kernels) do kernel.category = classify(kernel.name) end
end


-- ---- the CPU's side ----

local function mean_waiting(split, instances)
  local sums = {}
  for _, instance in ipairs(instances) do
    for class, ns in pairs(split(instance)) do sums[class] = (sums[class] or 0) + ns end
  end
  local means = {}
  for class, ns in pairs(sums) do means[class .. "_ns"] = ns / #instances end
  return means
end


local function mean_api(measure, instances)
  local sums = {}
  for _, instance in ipairs(instances) do
    for class, entry in pairs(measure(instance)) do
      sums[class] = sums[class] or { calls = 0, ns = 0 }
      sums[class].calls = sums[class].calls + entry.calls / #instances
      sums[class].ns = sums[class].ns + entry.ns / #instances
    end
  end
  sums.host = nil
  return sums
end


-- How long after the launching call returned an operation began, for those
-- that did begin later: a queue that is never there means the GPU waits.
local function launch_delays(trace, found)
  local frame = errors.check("failed", trace:frame "kernels")
  if found.whole then return {} end
  stages.label(trace, frame, found.declared)
  local delays = {}
  local view = frame:where { stage_range = stages.used_ranges(found) }
  for _, row in ipairs(view:group { by = { "stage" }, sum = { "queue_time" },
    percentiles = { 50, 90 } }) do
    local queue = row.queue_time
    delays[row.stage] = { queued_share = queue.count / row.count,
      median_ns = queue.median, p90_ns = queue.p90 }
  end
  return delays
end


-- ---- together ----

-- Add categories, waiting, api, launch_delay and, where steps are marked,
-- between_steps to the stages of results.
function breakdown.add(list, trace, found, kernels)
  local instances, delays = used_instances(found), launch_delays(trace, found)
  local split, api = waiting.classifier(trace, found.ops), waiting.api_time(trace)
  local declared = {}
  for _, stage in ipairs(found.declared) do declared[stage.name] = stage end
  for _, stage in ipairs(list) do
    local own = instances[stage.name]
    if own then
      stage.between_steps = steps.between(steps.of(trace, found, declared[stage.name]), split)
      stage.categories = category_rows(kernels, stage.name, #own)
      stage.waiting = mean_waiting(split, own)
      stage.api = mean_api(api, own)
      stage.launch_delay = delays[stage.name]
    end
  end
end


return breakdown
