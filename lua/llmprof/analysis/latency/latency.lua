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
local json = require "llmprof.json"
local own_times = require "llmprof.analysis.latency.own_times"
local lists = require "llmprof.tables.lists"
local range_name = require "llmprof.trace.nvtx_names"
local stage_summary = require "llmprof.analysis.stages.summary"
local statistics = require "llmprof.statistics"
local steps = require "llmprof.analysis.stages.steps"

local latency = { where = { "found" },
  reads = { "found", "metrics", "workload", "plain", "ranks", "missing" },
  gives = { latency = "TTFT, TPOT and tokens per second" } }

local PREFILL, DECODE = "prefill", "decode"

-- From this difference on two times of the same thing contradict each other.
local AGREE = 0.05


-- The instances of the stages without a parent that are this to the model.
local function instances_of(found, role)
  return lists.filtered(found.instances, function(instance)
    return not instance.parent and range_name.role(instance.stage) == role
  end)
end


-- ---- steps ----

-- Steps that ranks make together -> their times in ns, by the mean of the ranks, without cold
-- ones; and is the first of them there?
local function times_of(runs)
  local most, times, opening = 0, {}, false
  for _, run in ipairs(runs) do most = math.max(most, #run.steps) end
  for place = 1, most do
    local sum, count = 0, 0
    for _, run in ipairs(runs) do
      local step = run.steps[place]
      if step and not step.cold then sum, count = sum + step.stop - step.start, count + 1 end
    end
    if count > 0 then times[#times + 1], opening = sum / count, opening or place == 1 end
  end
  return { times = times, opening = opening }
end


-- The runs of steps of the decodes, those that ranks make together in one list: lists of runs
-- of llmprof.analysis.stages.steps, in order. leader_of: by rank, the first of those that it
-- communicates with.
local function runs_together(found, leader_of)
  local nth = {}
  return (lists.grouped(steps.runs(found.instances, found.by_engine), function(run)
    if run.parent or range_name.role(run.stage) ~= DECODE then return nil end
    local rank = run.rank or -1
    local own = ("%d %d"):format(rank, run.rep)
    nth[own] = (nth[own] or 0) + 1
    return ("%d %d %d"):format(leader_of[rank] or rank, run.rep, nth[own])
  end))
end


-- By repeat, list of { times (ns, of steps that follow each other, of each token that a sequence
-- gets in them), opening (is the first step of a decode among them?) }; and what marks the steps.
local function step_times(found, given, groups)
  local by_repeat, metrics = {}, given.metrics
  for _, runs in ipairs(given.is_speculated and {} or groups) do
    local rep, made = runs[1].rep, times_of(runs)
    for i, time in ipairs(made.times) do made.times[i] = time / (given.per_step or 1) end
    by_repeat[rep] = by_repeat[rep] or {}
    table.insert(by_repeat[rep], made)
  end
  if next(by_repeat) then return by_repeat, found.inferred and "inferred" or "ranges" end
  for rep, times in pairs(own_times.steps(metrics)) do
    by_repeat[rep] = { { times = times, opening = true } }
  end
  return by_repeat, "metrics"
end


-- ---- repeats ----

-- From when the CPU began with it to when what an instance is for was there, on the CPU
-- and on the GPU: what a user waits.
local function waited(instance)
  return math.max(instance.stop, instance.done or 0) - (instance.host_start or instance.start)
end


-- By repeat, the mean time of these instances, a field or a function of them.
local function means_by_repeat(instances, value)
  local means, _, by_repeat = {}, lists.grouped(instances, "rep")
  for rep, own in pairs(by_repeat) do means[rep] = lists.sum(own, value) / #own end
  return means
end


-- Every repeat, the ones left out too: { rep, used, left_out (its stages that do
-- not count), outlier (the first, when it took far longer than the others),
-- ttft_ns, tpot_ns, tokens_per_s }.
local function repeats_of(found, given, steps_by_repeat, prefills, decodes)
  local made = given.steps and given.steps > 0 and not given.is_speculated
    and given.steps * (given.per_step or 1) or nil
  local ttft, walls = means_by_repeat(prefills, waited), means_by_repeat(decodes, "wall")
  local list = json.list {}
  for rep = 1, found.repeats.count do
    local left_out = lists.map(found.repeats.left_out or {}, function(one)
      return one.rep == rep and cold.is_stage(one) and one.stage or nil
    end)
    local entry = { rep = rep, used = rep > cold.skipped(found.repeats),
      left_out = #left_out > 0 and json.list(left_out) or nil, ttft_ns = ttft[rep],
      outlier = rep == 1 and found.repeats.first_is_outlier or nil }
    local times = lists.flat(steps_by_repeat[rep] or {}, "times")
    if #times > 0 then
      entry.tpot_ns = statistics.sum(times) / #times
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
local function counted_of(decodes, list)
  local used_in = {}
  for _, instance in ipairs(decodes) do
    used_in[instance.rep] = used_in[instance.rep] or instance.used
  end
  return lists.filtered(list, function(entry)
    if used_in[entry.rep] == nil then return entry.used end
    return used_in[entry.rep]
  end)
end


-- ---- TPOT ----

-- A slope is told from chance at this many standard errors.
local ERRORS = 3


-- How much longer each step is than the one before it, so per token of context; its standard
-- error; and what the steps do as the context grows: "longer", "shorter" or "none". The first
-- step of a decode is not looked at, which does what the prefill left. nil without steps enough.
local function slope_of(runs)
  local times = {}
  for i, run in ipairs(runs) do
    times[i] = table.move(run.times, run.opening and 2 or 1, #run.times, 1, {})
  end
  local slope, err = statistics.slope(times)
  if not slope then return nil end
  local is_against = lists.any(times, function(values) -- does a run speak against that of all?
    local own, own_err = statistics.slope { values }
    return own and own * slope < 0 and math.abs(own) > ERRORS * own_err
  end)
  if math.abs(slope) <= ERRORS * err or is_against then return slope, err, "none" end
  return slope, err, slope > 0 and "longer" or "shorter"
end


-- counted: the repeats whose decodes count.
local function tpot_of(by_repeat, source, counted)
  local runs = lists.flat(counted, function(entry) return by_repeat[entry.rep] end)
  local all = lists.flat(runs, "times")
  if #all == 0 then all, source = lists.map(counted, "tpot_ns"), "stage" end
  local result = own_times.distribution(all)
  if not result then return nil end
  result.source = source
  if source ~= "stage" then
    result.slope_ns_per_token, result.slope_error_ns, result.trend = slope_of(runs)
  end
  return result
end


-- ---- the CPU's side ----

-- What the marking ranges took on the CPU, and how long after its range a token was
-- there: { count, mean_ns, ..., lead_ns (mean), lead_max_ns }; nil without ranges.
local function host_of(groups)
  local times, leads = {}, {}
  for _, runs in ipairs(groups) do
    local own, most = {}, 0
    for _, run in ipairs(runs) do
      own[#own + 1], most = run.used and run or nil, math.max(most, #run.steps)
    end
    for place = 1, most do
      local time, lead, count = 0, 0, 0
      for _, run in ipairs(own) do
        local step = run.steps[place]
        if step and step.host_stop and not step.cold then
          time, count = time + step.host_stop - step.host_start, count + 1
          lead = math.max(lead, step.stop - step.host_stop)
        end
      end
      if count > 0 then times[#times + 1], leads[#leads + 1] = time / count, lead end
    end
  end
  local result = own_times.distribution(times)
  if not result then return nil end
  local lead = statistics.describe(leads)
  result.values_ns, result.lead_ns, result.lead_max_ns = nil, lead.mean, lead.max
  return result
end


-- ---- what the workload says itself ----

-- { timeline_ns, workload_ns, difference (of the larger one) } where the workload's
-- own time of a step is another one; nil where they agree or nothing is known. Between the tokens
-- of requests that clients timed lie steps that prefill others, too: llmprof.ranks.requests
-- compares them with all of these.
local function contradiction(tpot, given, found)
  local repeats = given.metrics and given.metrics.repeats or {}
  if found.by_engine or lists.any(repeats, "requests") then return nil end
  local own = tpot and tpot.source ~= "metrics"
    and own_times.tpot_ns(given.metrics, found.repeats, given.batch)
  if not own then return nil end
  local difference = math.abs(own - tpot.mean_ns) / math.max(own, tpot.mean_ns)
  return difference > AGREE and { timeline_ns = tpot.mean_ns, workload_ns = own,
    difference = difference } or nil
end


-- ---- together ----

-- { ttft, tpot, host, tokens_per_s, plain, contradiction, repeats }, all but the last
-- absent when they cannot be known; plain is that of llmprof.analysis.latency.own_times.
-- given: metrics (the workload's own), plain (list of those without the profiler),
-- steps (of one decode), batch (sequences side by side), ranks (of llmprof.ranks), each of
-- which may be absent. TPOT is the time of one step, in which each sequence gets a token; tokens
-- per second are those of all sequences. Second: is TTFT absent as no range of prefill has an end?
function latency.measure(found, given)
  if found.whole then return nil end
  local decodes = instances_of(found, DECODE)
  local by_clients = own_times.requests_ns(given.metrics, "ttft_ms")
  -- a prefill step of an engine is no request, nor is an inferred prefill, behind which
  -- others may have waited
  local served = found.by_engine or found.inferred and #by_clients > 0
  local all = served and {} or instances_of(found, PREFILL)
  -- one that was left open ends where something else begins
  local prefills = lists.filtered(all, function(instance) return not instance.open end)
  local leader_of = {}
  for _, rank in ipairs(given.ranks and given.ranks.ranks or {}) do
    leader_of[rank.rank] = rank.leader
  end
  local groups = runs_together(found, leader_of)
  local by_repeat, source = step_times(found, given, groups)
  local list = repeats_of(found, given, by_repeat, prefills, decodes)
  local counted = counted_of(decodes, list)
  local ttft = own_times.distribution(served and by_clients
    or lists.map(lists.filtered(prefills, "used"), waited))
  if ttft and served then ttft.source = "clients" end
  local tpot = tpot_of(by_repeat, source, counted)
  return { ttft = ttft, tpot = tpot, host = host_of(groups),
    tokens_per_s = own_times.rate(lists.map(counted, "tokens_per_s"), given.batch), repeats = list,
    plain = own_times.plain(given.plain, found.repeats, given.metrics),
    contradiction = contradiction(tpot, given, found) }, #prefills < #all and not ttft
end


function latency.run(state)
  local made = stage_summary.counts(state, stage_summary.decodes(state.found))
  made.metrics, made.plain, made.ranks = state.metrics, state.plain, state.ranks
  local figures, is_open = latency.measure(state.found, made)
  if is_open then
    table.insert(state.missing, { what = "TTFT", why = "no range of prefill that counts has an end",
      how = "end the capture after the ranges (nsys.capture_range_end=stop)" })
  end
  if state.found.own then
    figures = { repeats = figures.repeats, plain = { runs = 1, ttft = figures.ttft,
      tpot = figures.tpot, tokens_per_s = figures.tokens_per_s } }
  end
  state.latency = figures
end


return latency
