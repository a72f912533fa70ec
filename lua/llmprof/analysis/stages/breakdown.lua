-- Where the time of each stage goes: GPU time by category of work, idle time by
-- what the CPU did, driver calls, and how long launches wait.
-- All figures are means per used instance of the stage.
local categories = require "llmprof.analysis.kernels.categories"
local errors = require "llmprof.process.errors"
local json = require "llmprof.json"
local stage_summary = require "llmprof.analysis.stages.summary"
local stages = require "llmprof.analysis.stages.find"
local statistics = require "llmprof.statistics"
local steps = require "llmprof.analysis.stages.steps"
local uneven_steps = require "llmprof.analysis.stages.uneven_steps"
local waiting = require "llmprof.analysis.stages.idle_causes"
local waits = require "llmprof.analysis.stages.waits"

local breakdown = { where = { "trace" }, reads = { "found", "kernels", "stages", "ranks" },
  gives = { ["stages.categories"] = "what the kernels of a stage are for",
    ["stages.waiting"] = "what the CPU did while the GPU had nothing to do" } }


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

-- Device time and calls of the kernels of a stage, or of a part of one, by
-- category, over all its instances.
local function kernel_sums(kernels, stage)
  local sums, list = {}, {}
  local function add(kernel)
    local row = sums[kernel.category]
    if not row then
      row = { category = kernel.category, gpu_time_ns = 0, calls = 0 }
      sums[kernel.category], list[#list + 1] = row, row
    end
    row.gpu_time_ns, row.calls = row.gpu_time_ns + kernel.total_ns, row.calls + kernel.calls
  end
  for _, part in ipairs { kernels, kernels.others or {} } do
    for _, kernel in ipairs(part) do
      if kernel.stage == stage or kernel.part == stage then add(kernel) end
    end
  end
  return list
end


-- Copies and sets: what the kernels leave of the stage's GPU time.
local function memory_row(list, instances)
  local row = { category = categories.MEMORY, gpu_time_ns = 0, calls = 0 }
  for _, instance in ipairs(instances) do
    if instance.graphs > 0 then return nil end -- their kernels are not known one by one
    row.gpu_time_ns = row.gpu_time_ns + instance.gpu_time
    row.calls = row.calls + instance.copies + instance.sets
  end
  for _, kernels in ipairs(list) do row.gpu_time_ns = row.gpu_time_ns - kernels.gpu_time_ns end
  return row.calls > 0 and row.gpu_time_ns > 0 and row or nil
end


-- Means per instance by category, largest first.
local function category_rows(kernels, stage, instances)
  local list, all = kernel_sums(kernels, stage), 0
  list[#list + 1] = memory_row(list, instances)
  for _, row in ipairs(list) do all = all + row.gpu_time_ns end
  for _, row in ipairs(list) do
    row.share = all > 0 and row.gpu_time_ns / all or nil
    row.gpu_time_ns, row.calls = row.gpu_time_ns / #instances, row.calls / #instances
  end
  table.sort(list, function(a, b)
    if a.gpu_time_ns ~= b.gpu_time_ns then return a.gpu_time_ns > b.gpu_time_ns end
    return a.category < b.category
  end)
  return json.list(list)
end


-- Give each kernel of the list its category.
function breakdown.categorize(kernels, rules)
  local classify = categories.classifier(rules)
  for _, kernel in ipairs(kernels) do
    kernel.category = classify(kernel.name, kernel.mangled_name)
  end
end


-- ---- the CPU's side ----

local function mean_waiting(split, instances)
  local sums = {}
  for _, instance in ipairs(instances) do
    for class, ns in pairs(split(instance, instance.pid)) do
      sums[class] = (sums[class] or 0) + ns
    end
  end
  local means = {}
  for class, ns in pairs(sums) do means[class .. "_ns"] = ns / #instances end
  return means
end


local function mean_api(measure, instances)
  local means = {}
  for class, entry in pairs(measure(instances)) do
    means[class] = { calls = entry.calls / #instances, ns = entry.ns / #instances }
  end
  means.host = nil
  return means
end


-- How long after the launching call returned an operation began, for those
-- that did begin later: a queue that is never there means the GPU waits.
local function launch_delays(trace, found)
  local frame = errors.check(trace:frame "kernels")
  if found.whole then return {} end
  stages.label(trace, frame, found)
  local delays = {}
  local view = frame:where { stage_range = stages.used_ranges(found) }
  for _, row in ipairs(view:group { by = { "stage" }, sum = { "queue_time" },
    percentiles = { 50, 90 } }) do
    local queue = row.queue_time
    delays[row.stage] = { queued_share = queue.count / row.count,
      median_ns = statistics.supports(queue.count, 50) and queue.median or nil,
      p90_ns = statistics.supports(queue.count, 90) and queue.p90 or nil }
  end
  return delays
end


-- ---- together ----

local function by_name(declared)
  local stages_by_name = {}
  for _, stage in ipairs(declared) do stages_by_name[stage.name] = stage end
  return stages_by_name
end


-- Add categories, waiting, waits, api, launch_delay and, where steps are known, slow_steps and
-- between_steps to the stages of results.
function breakdown.add(list, trace, found, kernels)
  local instances, delays = used_instances(found), launch_delays(trace, found)
  local split, declared = waiting.classifier(trace, found), by_name(found.declared)
  for _, stage in ipairs(list) do
    local own = instances[stage.name]
    if own then
      stage.between_steps = steps.between(steps.of(found, declared[stage.name]), split)
      stage.slow_steps = uneven_steps.of(found, stage.name, split)
      stage.waiting = mean_waiting(split, own)
    end
  end
  found.forget_busy() -- calls of stages are next, which are many
  local api, waits_in = waiting.api_time(trace), waits.grouper(trace, found.ops, kernels)
  for _, stage in ipairs(list) do
    local own = instances[stage.name]
    if own then
      stage.categories = category_rows(kernels, stage.name, own)
      stage.waits = waits_in(own)
      stage_summary.refine_bound(stage)
      stage.api = mean_api(api, own)
      stage.launch_delay = delays[stage.name]
    end
  end
end


function breakdown.run(state)
  breakdown.add(state.stages, state.trace, state.found, state.kernels or {})
  for _, stage in ipairs(state.stages) do stage_summary.refine_by_ranks(stage, state.ranks) end
end


return breakdown
