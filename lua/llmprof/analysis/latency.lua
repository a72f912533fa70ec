-- What a user of the model waits for: time to the first token, time per token
-- after it, tokens per second.
--
-- TTFT is the wall time of the stage named "prefill", TPOT that of one step of
-- the stage named "decode": from ranges that mark steps (a stage's `step`), or
-- inferred steps, else from the workload's own steps_ms, else the stage's time
-- over its steps.
local json = require "llmprof.json"
local statistics = require "llmprof.base.statistics"
local steps = require "llmprof.analysis.steps"

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

-- By repeat, the times in ns of the steps of its decodes: from the ranges that
-- mark them, or as they were inferred.
local function steps_from_ranges(trace, found)
  local by_repeat = {}
  for _, stage in ipairs(found.declared) do
    if stage.name == DECODE then
      for _, entry in ipairs(steps.of(trace, found, stage)) do
        local rep = entry.instance.rep
        by_repeat[rep] = by_repeat[rep] or {}
        for _, step in ipairs(entry.steps) do
          table.insert(by_repeat[rep], step.stop - step.start)
        end
      end
    end
  end
  return by_repeat
end


-- The same as the workload timed them.
local function steps_from_metrics(metrics, found)
  local by_repeat = {}
  for i, rep in ipairs(metrics and metrics.repeats or {}) do
    local stage = rep.stages[DECODE]
    if stage and stage.steps_ms and not (found.repeats.skipped_first and i == 1) then
      by_repeat[i] = {}
      for j, ms in ipairs(stage.steps_ms) do by_repeat[i][j] = ms * 1e6 end
    end
  end
  return by_repeat
end


local function step_times(trace, found, metrics)
  local by_repeat = steps_from_ranges(trace, found)
  local source = found.inferred and "inferred" or "ranges"
  if not next(by_repeat) then
    by_repeat, source = steps_from_metrics(metrics, found), "metrics"
  end
  return by_repeat, source
end


-- ---- repeats ----

local function walls_by_repeat(found, name)
  local sums, counts = {}, {}
  for _, instance in ipairs(found.instances) do
    if instance.stage == name then
      sums[instance.rep] = (sums[instance.rep] or 0) + instance.wall
      counts[instance.rep] = (counts[instance.rep] or 0) + 1
    end
  end
  return sums, counts
end


-- Every repeat, the ones left out too: { rep, used, outlier (the first, when it
-- took far longer than the others), ttft_ns, tpot_ns, tokens_per_s }.
local function repeats_of(found, given, steps_by_repeat)
  local steps_made = given.steps and given.steps > 0 and given.steps or nil
  local prefill, prefills = walls_by_repeat(found, PREFILL)
  local decode, decodes = walls_by_repeat(found, DECODE)
  local list = json.list {}
  for rep = 1, found.repeats.count do
    local entry = { rep = rep, used = not (found.repeats.skipped_first and rep == 1),
      outlier = rep == 1 and found.repeats.first_is_outlier or nil }
    if prefill[rep] then entry.ttft_ns = prefill[rep] / prefills[rep] end
    local marked = steps_by_repeat[rep]
    if marked and #marked > 0 then
      entry.tpot_ns = statistics.sum(marked) / #marked
    elseif decode[rep] and steps_made then
      entry.tpot_ns = decode[rep] / decodes[rep] / steps_made
    end
    if decode[rep] and decode[rep] > 0 and steps_made and given.batch then
      entry.tokens_per_s = steps_made * given.batch * decodes[rep] / (decode[rep] / 1e9)
    end
    list[rep] = entry
  end
  return list
end


local function pick_used(list, field)
  local values = {}
  for _, entry in ipairs(list) do
    if entry.used and entry[field] then values[#values + 1] = entry[field] end
  end
  return values
end


-- ---- TPOT ----

-- Mean of the slopes of the repeats: how much longer each step is than the one
-- before it, so per token of context; and its standard error. nil when no repeat
-- has steps enough.
local function slope_of(by_repeat, count)
  local slopes, squares = {}, 0
  for rep = 1, count do
    local slope, err = statistics.slope(by_repeat[rep] or {})
    if slope then slopes[#slopes + 1], squares = slope, squares + err ^ 2 end
  end
  if #slopes == 0 then return nil end
  return statistics.sum(slopes) / #slopes, math.sqrt(squares) / #slopes
end


-- A slope is told from chance at this many standard errors.
local ERRORS = 3

-- What the steps do as the context grows: "longer", "shorter" or "none".
local function trend_of(slope, err)
  if math.abs(slope) <= ERRORS * err then return "none" end
  return slope > 0 and "longer" or "shorter"
end


local function tpot_of(by_repeat, source, found, list)
  local all = {}
  for rep = 1, found.repeats.count do
    local times = by_repeat[rep] or {}
    table.move(times, 1, #times, #all + 1, all)
  end
  if #all == 0 then all, source = pick_used(list, "tpot_ns"), "stage" end
  local result = describe(all)
  if not result then return nil end
  result.source = source
  if source ~= "stage" then
    local slope, err = slope_of(by_repeat, found.repeats.count)
    result.slope_ns_per_token, result.slope_error_ns = slope, err
    result.trend = slope and trend_of(slope, err)
  end
  return result
end


-- ---- together ----

-- { ttft, tpot, tokens_per_s, repeats }, the first three absent when they cannot
-- be known. given: metrics (the workload's own), steps (of one decode), batch
-- (sequences side by side), each of which may be absent. TPOT is the time
-- of one step, in which each sequence gets a token; tokens per second are those
-- of all sequences.
function latency.measure(trace, found, given)
  if found.whole then return nil end
  local by_repeat, source = step_times(trace, found, given.metrics)
  local list = repeats_of(found, given, by_repeat)
  local rates = statistics.describe(pick_used(list, "tokens_per_s"))
  return {
    ttft = describe(walls(used(found, PREFILL))),
    tpot = tpot_of(by_repeat, source, found, list),
    tokens_per_s = rates and { count = rates.count, mean = rates.mean, std = rates.std,
      batch = given.batch },
    repeats = list,
  }
end


return latency
