-- Latency by the workload's own clock: what its metrics.json says of prefill and
-- decode. Without a profiler it is the only one there is.
local cold = require "llmprof.analysis.stages.warmup"
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"
local range_name = require "llmprof.trace.nvtx_names"
local sorted_keys = require("llmprof.tables.keys").sorted
local statistics = require "llmprof.statistics"

local own_times = {}


-- ---- distributions ----

-- Times as results keep them.

-- More single values than this are not kept in results.json.
local MOST_VALUES = 4096


-- { count, mean_ns, std_ns, min_ns, max_ns, p50_ns, p90_ns, p99_ns, values_ns } of
-- times in ns; percentiles as far as there are values enough. nil for none.
function own_times.distribution(values)
  local described = statistics.describe(values)
  if not described then return nil end
  local result = { count = described.count, mean_ns = described.mean, std_ns = described.std,
    min_ns = described.min, max_ns = described.max }
  statistics.add_percentiles(result, values)
  if #values <= MOST_VALUES then result.values_ns = json.list(values) end
  return result
end


-- Tokens per second as results keep them, of several rates; nil for none.
function own_times.rate(rates, batch)
  local made = statistics.describe(rates)
  return made and { count = made.count, mean = made.mean, std = made.std, batch = batch }
end


-- ---- the workload's clock ----

-- The record of the stage that is this to the model in a repeat, and its name.
local function record_of(rep, role)
  for name, stage in pairs(rep.stages) do
    if range_name.role(name) == role then return stage, name end
  end
  return nil
end


-- What the requests of a server took by their clients' clocks, in ns: values of a field
-- in ms.
function own_times.requests_ns(metrics, field)
  return lists.map(lists.flat(metrics and metrics.repeats or {}, "requests"), function(request)
    return type(request[field]) == "number" and request[field] * 1e6 or nil
  end)
end


-- Were requests of a load answered while others were? Those of rounds begin together; of one
-- that does not say when it was sent it cannot be ruled out.
function own_times.requests_overlap(metrics)
  if not (metrics and metrics.load) then return false end
  local list = lists.flat(metrics.repeats or {}, "requests")
  if #list == 0 or lists.any(list, function(one)
    return type(one.sent_utc_ns) ~= "number" or type(one.ms) ~= "number"
  end) then
    return true
  end
  lists.sort(list, "sent_utc_ns")
  for i = 2, #list do
    if list[i].sent_utc_ns < list[i - 1].sent_utc_ns + list[i - 1].ms * 1e6 then return true end
  end
  return false
end


-- Stands for what llmprof.analysis.stages.find makes of a trace: of each stage that the
-- workload timed an instance a repeat, as long as one of its ranges. declared: the recipe's
-- stages, which come first; policy: of llmprof.analysis.stages.warmup.
function own_times.found(metrics, declared, policy)
  local list, known, instances = {}, {}, {}
  for i, stage in ipairs(declared) do
    list[i], known[stage.name], known[range_name.role(stage.name)] = stage, stage, stage
  end
  for rep, entry in ipairs(metrics.repeats) do
    for _, name in ipairs(sorted_keys(entry.stages)) do
      local wall, stage = own_times.instance_ns(entry.stages[name]), known[name]
      if not stage then
        stage = { name = name }
        known[name], list[#list + 1] = stage, stage
      end
      if wall then
        instances[#instances + 1] = { stage = stage.name, parent = stage.parent, rep = rep,
          start = 0, stop = wall, wall = wall }
      end
    end
  end
  return { own = true, declared = list, instances = instances,
    by_engine = #own_times.requests_ns(metrics, "ttft_ms") > 0,
    repeats = cold.judge(instances, #metrics.repeats, policy) }
end


-- By repeat, the ns of the steps that the workload timed one by one.
function own_times.steps(metrics)
  local by_repeat = {}
  for i, rep in ipairs(metrics and metrics.repeats or {}) do
    local stage = record_of(rep, "decode")
    if stage and stage.steps_ms and #stage.steps_ms > 0 then
      by_repeat[i] = {}
      for j, ms in ipairs(stage.steps_ms) do by_repeat[i][j] = ms * 1e6 end
    end
  end
  return by_repeat
end


-- ns of one instance of a stage of metrics.json; nil where it was not timed.
function own_times.instance_ns(stage) return stage.ms and stage.ms * 1e6 / (stage.count or 1) end


-- ns from token to token of a decode: all of it over its steps, where they were
-- counted, else the mean of those that were timed.
function own_times.step_ns(stage, batch)
  local steps = stage.steps or (stage.tokens and batch and stage.tokens / batch)
  if steps and steps > 0 and stage.ms then return stage.ms * 1e6 / steps end
  local times = stage.steps_ms
  return times and #times > 0 and statistics.sum(times) * 1e6 / #times or nil
end


-- The times of a stage over the repeats that count, as value_of(stage) gives them. profiled: as of
-- warmup.place_of.
local function values_of(metrics, repeats, role, value_of, profiled)
  local values = {}
  for i, rep in ipairs(metrics and metrics.repeats or {}) do
    local stage, name = record_of(rep, role)
    if stage and not cold.left_out(repeats, cold.place_of(profiled, rep, i), name) then
      values[#values + 1] = value_of(stage)
    end
  end
  return values
end


-- ns of a decode step over the repeats that count; nil where it was not timed.
function own_times.tpot_ns(metrics, repeats, batch)
  local values = values_of(metrics, repeats, "decode", function(stage)
    return own_times.step_ns(stage, batch)
  end)
  return #values > 0 and statistics.sum(values) / #values or nil
end


-- { runs, ttft, tpot (distributions over the repeats that count), tokens_per_s } of
-- runs without a profiler; nil where none was timed. runs: list of metrics.json;
-- repeats: of llmprof.analysis.stages.warmup; profiled: the metrics.json of the timeline, or nil.
function own_times.plain(runs, repeats, profiled)
  local ttft, tpot, rates, batch = {}, {}, {}, nil
  for _, metrics in ipairs(runs or {}) do
    batch = metrics.batch
    lists.add(ttft, values_of(metrics, repeats, "prefill", own_times.instance_ns, profiled))
    for _, ns in ipairs(values_of(metrics, repeats, "decode", function(stage)
      return own_times.step_ns(stage, batch)
    end, profiled)) do
      tpot[#tpot + 1] = ns
      if batch and ns > 0 then rates[#rates + 1] = batch / (ns / 1e9) end
    end
  end
  if #ttft == 0 and #tpot == 0 then return nil end
  return { runs = #runs, ttft = own_times.distribution(ttft), tpot = own_times.distribution(tpot),
    tokens_per_s = own_times.rate(rates, batch) }
end


return own_times
