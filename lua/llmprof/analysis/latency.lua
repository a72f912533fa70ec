-- What a user of the model waits for: time to the first token, time per token
-- after it, tokens per second.
--
-- TTFT is the wall time of the stage named "prefill", TPOT that of one step of
-- the stage named "decode": from ranges that mark steps (a stage's `step`),
-- else from the workload's own steps_ms, else the stage's time over its tokens.
local errors = require "llmprof.errors"
local json = require "llmprof.json"
local statistics = require "llmprof.statistics"

local latency = {}

local PREFILL, DECODE = "prefill", "decode"

-- More single values than this are not kept in results.json.
local MOST_VALUES = 4096


local function used(found, name)
  local list = {}
  for _, instance in ipairs(found.instances) do
    if instance.used and instance.stage == name then list[#list + 1] = instance end
  end
  return list
end


local function walls(instances)
  local values = {}
  for i, instance in ipairs(instances) do values[i] = instance.wall end
  return values
end


-- { count, mean_ns, std_ns, min_ns, max_ns, p50_ns, p90_ns, p99_ns, values_ns }
local function describe(values)
  local described = statistics.describe(values)
  if not described then return nil end
  local result = { count = described.count, mean_ns = described.mean, std_ns = described.std,
    min_ns = described.min, max_ns = described.max }
  if described.count > 1 then
    for _, p in ipairs { 50, 90, 99 } do
      result[("p%d_ns"):format(p)] = statistics.percentile(values, p)
    end
  end
  if #values <= MOST_VALUES then result.values_ns = json.list(values) end
  return result
end


-- ---- steps ----

local function declared_step(found)
  for _, stage in ipairs(found.declared) do
    if stage.name == DECODE then return stage.step end
  end
  return nil
end


-- Step times by instance of decode, from ranges inside them on the timeline.
local function steps_from_ranges(trace, found, step)
  local ranges = errors.check("failed", trace:frame "ranges"):where { tag = step }
  local rows = {}
  for row = 1, #ranges do
    rows[row] = { start = ranges:get(row, "start"), stop = ranges:get(row, "end") }
  end
  table.sort(rows, function(a, b) return a.start < b.start end)
  local by_instance = {}
  for _, instance in ipairs(used(found, DECODE)) do
    local list = {}
    for _, row in ipairs(rows) do
      if row.start >= instance.start and row.stop <= instance.stop then
        list[#list + 1] = row.stop - row.start
      end
    end
    if #list > 0 then by_instance[#by_instance + 1] = list end
  end
  return by_instance
end


local function steps_from_metrics(metrics, found)
  local by_instance = {}
  for i, rep in ipairs(metrics and metrics.repeats or {}) do
    local stage = rep.stages[DECODE]
    if stage and stage.steps_ms and not (found.repeats.skipped_first and i == 1) then
      local list = {}
      for j, ms in ipairs(stage.steps_ms) do list[j] = ms * 1e6 end
      if #list > 0 then by_instance[#by_instance + 1] = list end
    end
  end
  return by_instance
end


local function flatten(lists)
  local all = {}
  for _, list in ipairs(lists) do table.move(list, 1, #list, #all + 1, all) end
  return all
end


-- Mean of the slopes of the repeats: how much longer each step is than the one
-- before it.
local function slope_of(lists)
  local slopes = {}
  for _, list in ipairs(lists) do slopes[#slopes + 1] = statistics.slope(list) end
  return #slopes > 0 and statistics.sum(slopes) / #slopes or nil
end


local function tpot_of(trace, found, given)
  local step = declared_step(found)
  local lists = step and steps_from_ranges(trace, found, step) or {}
  local source = "ranges"
  if #lists == 0 then lists, source = steps_from_metrics(given.metrics, found), "metrics" end
  if #lists > 0 then
    local result = describe(flatten(lists))
    result.source, result.slope_ns_per_token = source, slope_of(lists)
    return result
  end
  if not given.steps or given.steps <= 0 then return nil end
  local values = {}
  for i, instance in ipairs(used(found, DECODE)) do values[i] = instance.wall / given.steps end
  local result = describe(values)
  if result then result.source = "stage" end
  return result
end


-- ---- together ----

-- Tokens of all sequences per second, over the used repeats of decode.
local function throughput(found, steps, batch)
  if not steps or steps <= 0 then return nil end
  local rates = {}
  for _, instance in ipairs(used(found, DECODE)) do
    if instance.wall > 0 then rates[#rates + 1] = steps * batch / (instance.wall / 1e9) end
  end
  local described = statistics.describe(rates)
  return described and { count = described.count, mean = described.mean, std = described.std,
    batch = batch }
end


-- { ttft, tpot, tokens_per_s }, each absent when it cannot be known. given:
-- metrics (the workload's own), steps (of one decode), batch (sequences side by
-- side; 1), each of which may be absent.
function latency.measure(trace, found, given)
  if found.whole then return nil end
  return {
    ttft = describe(walls(used(found, PREFILL))),
    tpot = tpot_of(trace, found, given),
    tokens_per_s = throughput(found, given.steps, given.batch or 1),
  }
end


return latency
