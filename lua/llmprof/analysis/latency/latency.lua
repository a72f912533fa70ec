-- What a user of the model waits for: time to the first token, time per token
-- after it, tokens per second.
--
-- TTFT is the time from the beginning of the stage "prefill" to its end, or to
-- that of its last operation where the CPU did not wait for it; where no range marks
-- stages and clients of a server timed their requests, it is theirs. TPOT is that of one
-- step of the stage "decode" (llmprof.analysis.stages.steps): from ranges that mark
-- steps, or inferred ones, else from the workload's own steps_ms, else the stage's
-- time over its steps. Stages of a domain, "LLM:prefill", count by their text.
local cold = require "llmprof.analysis.stages.warmup"
local distribution = require "llmprof.analysis.latency.distribution"
local json = require "llmprof.json"
local own_times = require "llmprof.analysis.latency.own_times"
local range_name = require "llmprof.trace.nvtx_names"
local statistics = require "llmprof.statistics"

local latency = {}

local PREFILL, DECODE = "prefill", "decode"

-- From this difference on two times of the same thing contradict each other.
local AGREE = 0.05


-- The instances of the stages without a parent that are this to the model.
local function instances_of(found, role)
  local list = {}
  for _, instance in ipairs(found.instances) do
    if not instance.parent and range_name.role(instance.stage) == role then
      list[#list + 1] = instance
    end
  end
  return list
end


local function used(instances)
  local list = {}
  for _, instance in ipairs(instances) do
    if instance.used then list[#list + 1] = instance end
  end
  return list
end


-- ---- steps ----

-- By repeat, the times in ns of the steps of its decodes, without cold ones.
local function steps_on_timeline(decodes)
  local by_repeat = {}
  for _, instance in ipairs(decodes) do
    for _, step in ipairs(instance.steps or {}) do
      local list = by_repeat[instance.rep] or {}
      by_repeat[instance.rep] = list
      if not step.cold then list[#list + 1] = step.stop - step.start end
    end
  end
  return by_repeat
end


local function step_times(found, decodes, metrics)
  local by_repeat = steps_on_timeline(decodes)
  if next(by_repeat) then return by_repeat, found.inferred and "inferred" or "ranges" end
  return own_times.steps(metrics), "metrics"
end


-- ---- repeats ----

-- From when the CPU began with it to when what an instance is for was there, on the CPU
-- and on the GPU: what a user waits.
local function waited(instance)
  return math.max(instance.stop, instance.done or 0) - (instance.host_start or instance.start)
end


local function wall_of(instance)
  return instance.wall
end


-- By repeat, the mean time of these instances.
local function means_by_repeat(instances, value_of)
  local sums, counts = {}, {}
  for _, instance in ipairs(instances) do
    sums[instance.rep] = (sums[instance.rep] or 0) + value_of(instance)
    counts[instance.rep] = (counts[instance.rep] or 0) + 1
  end
  for rep, sum in pairs(sums) do sums[rep] = sum / counts[rep] end
  return sums
end


-- The stages of a repeat that do not count; nil when all do.
local function left_out_of(found, rep)
  local list = json.list {}
  for _, entry in ipairs(found.repeats.left_out or {}) do
    if entry.rep == rep and cold.is_stage(entry) then list[#list + 1] = entry.stage end
  end
  return #list > 0 and list or nil
end


-- Every repeat, the ones left out too: { rep, used, left_out (its stages that do
-- not count), outlier (the first, when it took far longer than the others),
-- ttft_ns, tpot_ns, tokens_per_s }.
local function repeats_of(found, given, steps_by_repeat, prefills, decodes)
  local made = given.steps and given.steps > 0 and given.steps or nil
  local ttft, walls = means_by_repeat(prefills, waited), means_by_repeat(decodes, wall_of)
  local list = json.list {}
  for rep = 1, found.repeats.count do
    local entry = { rep = rep, used = not (found.repeats.skipped_first and rep == 1),
      left_out = left_out_of(found, rep), ttft_ns = ttft[rep],
      outlier = rep == 1 and found.repeats.first_is_outlier or nil }
    local steps = steps_by_repeat[rep]
    if steps and #steps > 0 then
      entry.tpot_ns = statistics.sum(steps) / #steps
    elseif walls[rep] and made then
      entry.tpot_ns = walls[rep] / made
    end
    if entry.tpot_ns and entry.tpot_ns > 0 and given.batch then
      entry.tokens_per_s = given.batch / (entry.tpot_ns / 1e9)
    end
    list[rep] = entry
  end
  return list
end


-- The repeats with a decode that counts; those without any decode do, too.
local function counted_of(found, decodes, list)
  local used_in, counted = {}, {}
  for _, instance in ipairs(decodes) do
    used_in[instance.rep] = used_in[instance.rep] or instance.used
  end
  for _, entry in ipairs(list) do
    local counts = used_in[entry.rep]
    if counts == nil then counts = not (found.repeats.skipped_first and entry.rep == 1) end
    if counts then counted[#counted + 1] = entry end
  end
  return counted
end


-- ---- TPOT ----

-- Mean of the slopes of the repeats: how much longer each step is than the one
-- before it, so per token of context; its standard error; do the repeats agree on its
-- direction? nil when no repeat has steps enough.
local function slope_of(by_repeat)
  local slopes, squares = {}, 0
  for _, times in ipairs(by_repeat) do
    local slope, err = statistics.slope(times)
    if slope then slopes[#slopes + 1], squares = slope, squares + err ^ 2 end
  end
  local all = statistics.describe(slopes)
  if not all then return nil end
  return all.mean, math.sqrt(squares) / all.count, all.min > 0 or all.max < 0
end


-- A slope is told from chance at this many standard errors.
local ERRORS = 3

-- What the steps do as the context grows: "longer", "shorter" or "none", so that no
-- single repeat speaks for all.
local function trend_of(slope, err, agree)
  if not agree or math.abs(slope) <= ERRORS * err then return "none" end
  return slope > 0 and "longer" or "shorter"
end


local function flat(lists)
  local all = {}
  for _, list in ipairs(lists) do table.move(list, 1, #list, #all + 1, all) end
  return all
end


-- counted: the repeats whose decodes count.
local function tpot_of(by_repeat, source, counted)
  local lists, means = {}, {}
  for _, entry in ipairs(counted) do
    lists[#lists + 1] = by_repeat[entry.rep]
    means[#means + 1] = entry.tpot_ns
  end
  local all = flat(lists)
  if #all == 0 then all, source = means, "stage" end
  local result = distribution.of(all)
  if not result then return nil end
  result.source = source
  if source ~= "stage" then
    local slope, err, agree = slope_of(lists)
    result.slope_ns_per_token, result.slope_error_ns = slope, err
    result.trend = slope and trend_of(slope, err, agree)
  end
  return result
end


-- ---- the CPU's side ----

-- What the marking ranges took on the CPU, and how long after its range a token was
-- there: { count, mean_ns, ..., lead_ns (mean), lead_max_ns }; nil without ranges.
local function host_of(decodes)
  local times, leads = {}, {}
  for _, instance in ipairs(used(decodes)) do
    for _, step in ipairs(instance.steps or {}) do
      if step.host_stop and not step.cold then
        times[#times + 1] = step.host_stop - step.host_start
        leads[#leads + 1] = math.max(step.stop - step.host_stop, 0)
      end
    end
  end
  local result = distribution.of(times)
  if not result then return nil end
  local lead = statistics.describe(leads)
  result.values_ns, result.lead_ns, result.lead_max_ns = nil, lead.mean, lead.max
  return result
end


-- ---- what the workload says itself ----

-- { timeline_ns, workload_ns, difference (of the larger one) } where the workload's
-- own time of a step is another one; nil where they agree or nothing is known.
local function contradiction(tpot, given, found)
  local own = tpot and tpot.source ~= "metrics"
    and own_times.tpot_ns(given.metrics, found.repeats, given.batch)
  if not own then return nil end
  local difference = math.abs(own - tpot.mean_ns) / math.max(own, tpot.mean_ns)
  return difference > AGREE and { timeline_ns = tpot.mean_ns, workload_ns = own,
    difference = difference } or nil
end


-- ---- together ----

local function rates_of(counted, batch)
  local values = {}
  for _, entry in ipairs(counted) do values[#values + 1] = entry.tokens_per_s end
  local rates = statistics.describe(values)
  return rates and { count = rates.count, mean = rates.mean, std = rates.std, batch = batch }
end


local function ttft_of(values, served)
  local result = distribution.of(values)
  if result and served then result.source = "clients" end
  return result
end


-- { ttft, tpot, host, tokens_per_s, plain, contradiction, repeats }, all but the last
-- absent when they cannot be known; plain is that of llmprof.analysis.latency.own_times.
-- given: metrics (the workload's own), plain (list of those without the profiler),
-- steps (of one decode), batch (sequences side by side), each of which may be
-- absent. TPOT is the time of one step, in which each sequence gets a token; tokens
-- per second are those of all sequences.
function latency.measure(found, given)
  if found.whole then return nil end
  local decodes = instances_of(found, DECODE)
  local by_clients = own_times.requests_ns(given.metrics, "ttft_ms")
  -- a prefill step of an engine is no request, nor is an inferred prefill, behind which
  -- others may have waited
  local served = found.by_engine or found.inferred and #by_clients > 0
  local prefills = served and {} or instances_of(found, PREFILL)
  local by_repeat, source = step_times(found, decodes, given.metrics)
  local list, ttft = repeats_of(found, given, by_repeat, prefills, decodes), {}
  local counted = counted_of(found, decodes, list)
  for i, instance in ipairs(used(prefills)) do ttft[i] = waited(instance) end
  if served then ttft = by_clients end
  local tpot = tpot_of(by_repeat, source, counted)
  return { ttft = ttft_of(ttft, served), tpot = tpot, host = host_of(decodes),
    tokens_per_s = rates_of(counted, given.batch), repeats = list,
    plain = own_times.plain(given.plain, found.repeats),
    contradiction = contradiction(tpot, given, found) }
end


return latency
