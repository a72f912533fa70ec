-- What stages cost to run: money by the time that GPUs are taken, and energy by NVML's counter of
-- the GPUs that ran them, else by the power that was sampled. Output tokens are those of all
-- sequences: one of each prefill, and those of its decode.
local hardware = require "llmprof.model.hardware"
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"
local overhead = require "llmprof.analysis.latency.overhead"
local range_name = require "llmprof.trace.nvtx_names"
local statistics = require "llmprof.statistics"

local running_cost = { reads = { "ranks", "stages", "repeats", "overhead", "hardware",
    "environment", "price", "samples", "trace", "found", "metrics", "workload" },
  gives = { running_cost = "money and energy by stage and token" } }

local HOUR, MILLION = 3600e9, 1e6


-- ---- money ----

-- What an hour of a GPU costs: { per_hour, currency, source }, or nil.
local function price_of(state)
  local set = state.price or {}
  local currency = set.currency or "USD"
  if set.per_hour then
    return { per_hour = set.per_hour, currency = currency, source = "price.per_hour" }
  end
  local gpus = state.environment.gpus
  local file = hardware.find(state.hardware and state.hardware.name or gpus and gpus[1]
    and gpus[1].name)
  if not file or not file.price_per_hour then return nil end
  return { per_hour = file.price_per_hour, currency = "USD",
    source = file.file:match "conf/hardware/.*$", example = true }
end


-- ---- energy ----

-- Intervals that are shorter than this many samples, or of power than NVML's mean of a
-- second, are not told from what lies around them.
local LEAST_SAMPLES, LEAST_POWER_NS = 2, 2e9

-- Energy drawn by a GPU up to each sample, in J: { at (ns), joules } of rising times; how it is
-- known; the distance of samples; and W drawn while nothing ran.
local function series_of(samples)
  local at, joules, gaps, idle = {}, {}, {}, nil
  local counted = samples[1].energy_j ~= nil
  for i, sample in ipairs(samples) do
    local before = samples[i - 1]
    at[i] = sample.time_ns
    joules[i] = counted and sample.energy_j or before and joules[i - 1]
      + (before.power_w + sample.power_w) / 2 * (sample.time_ns - before.time_ns) / 1e9 or 0
    if before then gaps[#gaps + 1] = sample.time_ns - before.time_ns end
    if sample.utilization_percent == 0 and sample.power_w then
      idle = math.min(idle or math.huge, sample.power_w)
    end
  end
  local least = LEAST_SAMPLES * statistics.median(gaps)
  return { at = at, joules = joules, source = counted and "counter" or "power", idle_w = idle,
    least_ns = counted and least or math.max(least, LEAST_POWER_NS) }
end


-- J up to a time of the wall clock; nil beyond the samples.
local function joules_at(series, ns)
  local after = statistics.first_place(#series.at, function(i) return series.at[i] >= ns end)
  if after > #series.at or after == 1 and series.at[1] > ns then return nil end
  if after == 1 then return series.joules[1] end
  local from, to = series.at[after - 1], series.at[after]
  local part = to > from and (ns - from) / (to - from) or 0
  return series.joules[after - 1] + part * (series.joules[after] - series.joules[after - 1])
end


-- By index, as NVML counts, those of the machine's GPUs that the timeline has: a set, empty where
-- that cannot be told. environment: devices (of the timeline), gpus (of the machine).
function running_cost.gpus_of(environment)
  return lists.set(lists.map(environment.gpus or {}, function(known)
    return lists.any(environment.devices or {}, function(device)
      return device.uuid and known.uuid and known.uuid:find(device.uuid, 1, true)
    end) and known.index or nil
  end))
end


-- The series of each of the GPUs that ran the stages, or nil and why there is none.
local function all_series(state)
  local drawn = lists.filtered(state.samples or {}, function(sample)
    return sample.power_w or sample.energy_j
  end)
  local by_gpu = lists.grouped(lists.filtered(drawn, "time_ns"), "index")
  if #by_gpu == 0 then
    return nil, #drawn == 0 and "nothing sampled the power of the GPU"
      or "its samples of power have no wall-clock times, as an older llmprof took them"
  end
  if #by_gpu > 1 or #(state.environment.devices or {}) ~= 1 then
    local ran = running_cost.gpus_of(state.environment)
    by_gpu = lists.filtered(by_gpu, function(own) return ran[own[1].index] end)
    if #by_gpu == 0 then return nil, "which of the sampled GPUs ran it is not known" end
  end
  local epoch = state.trace and state.trace:info().epoch
  if not epoch then return nil, "the timeline has no wall clock" end
  if lists.any(by_gpu, function(own) return #own < 2 end) then
    return nil, "the power of the GPU was sampled once"
  end
  local list = lists.map(by_gpu, series_of)
  list.epoch, list.source = epoch, list[1].source
  list.least_ns = select(2, lists.largest(list, "least_ns"))
  local are_idle = #lists.map(list, "idle_w") == #list
  list.idle_w = are_idle and lists.sum(list, "idle_w") or nil
  return list
end


-- J between two times of the trace; nil where a GPU was not sampled then, or they lie too close.
local function joules_between(list, from, to)
  if to - from < list.least_ns then return nil end
  local sum = 0
  for _, series in ipairs(list) do
    local first, last = joules_at(series, list.epoch + from), joules_at(series, list.epoch + to)
    if not (first and last) then return nil end
    sum = sum + last - first
  end
  return sum
end


-- Mean J of the instances of a stage that count, and the part of it that the GPUs draw anyway.
local function energy_of(list, stage)
  local used = lists.filtered(stage.instances, "used")
  local each = lists.map(used, function(one)
    return joules_between(list, one.start_ns, one.start_ns + one.wall_ns)
  end)
  if #used == 0 or #each < #used then return nil end
  local joules, ns = statistics.sum(each), lists.sum(used, "wall_ns")
  return joules / #used, list.idle_w and joules > 0
    and math.min(list.idle_w * ns / 1e9 / joules, 1) or nil
end


-- ---- together ----

-- First tokens that an engine's prefills make, by stage: one for each request whose prompt ends
-- in the step. A prompt goes on in the next one where a step is as full as any, and the next one of
-- its rank prefills, too.
local function first_tokens(found)
  local made = {}
  for _, own in ipairs(lists.grouped(found.instances, "rank")) do
    local _, fullest = lists.largest(own, function(step) return step.work or 0 end)
    for i, step in ipairs(own) do
      local after, context = own[i + 1], step.used and step.context or 0
      local goes_on = step.work == fullest and after and (after.context or 0) > 0
      made[step.stage] = (made[step.stage] or 0) + math.max(context - (goes_on and 1 or 0), 0)
    end
  end
  return made
end


-- Output tokens that an instance of each stage makes, by stage: those of decoding, and the first
-- token of each sequence, which its prefill makes. What a small model proposes is no output.
local function output_tokens(state)
  local found = state.found
  local by_engine = found and not found.own and found.by_engine
  local first = by_engine and first_tokens(found) or {}
  local batch = state.metrics and state.metrics.batch or state.workload and state.workload.batch
  local made, decoded = {}, 0
  for _, stage in ipairs(state.stages) do
    if by_engine and stage.wall and not stage.tokens then return {} end -- speculated ones
    local tokens = stage.name ~= "draft" and (by_engine or stage.steps) and stage.tokens or 0
    local prefills = 0
    if by_engine and stage.wall then
      prefills = (first[stage.name] or 0) / stage.wall.count
    elseif not stage.parent and range_name.role(stage.name) == "prefill" then
      prefills = batch or 0
    end
    made[stage.name], decoded = tokens + prefills, decoded + tokens
  end
  return decoded > 0 and made or {}
end


-- Times that a stage ran in a repeat.
local function per_repeat(stage)
  local timed = stage.wall or stage.own
  return timed.count / (stage.repeats or 1)
end


-- A mixed step of an engine takes tokens of some sequences and makes those of others: no number
-- of them is what its time is for.
local function stage_row(stage, ns, money, list)
  local tokens = stage.name ~= "mixed" and stage.tokens and stage.tokens > 0 and stage.tokens or nil
  local joules, idle = nil, nil
  if list then joules, idle = energy_of(list, stage) end
  return { stage = stage.name, time_ns = ns, tokens = tokens,
    per_million_tokens = money and tokens and money * ns / tokens * MILLION or nil,
    energy_j = joules, energy_j_per_token = joules and tokens and joules / tokens or nil,
    idle_share = idle }
end


-- J per token of everything that counts, from the first instance to the last.
local function whole_energy(state, list, output)
  local from, to, tokens = math.huge, -math.huge, 0
  for _, stage in ipairs(state.stages) do
    for _, instance in ipairs(stage.parent and {} or stage.instances) do
      if instance.used and instance.start_ns then
        from = math.min(from, instance.start_ns)
        to = math.max(to, instance.start_ns + instance.wall_ns)
        tokens = tokens + (output[stage.name] or 0)
      end
    end
  end
  local joules = to > from and joules_between(list, from, to)
  return joules and tokens > 0 and joules / tokens or nil
end


function running_cost.run(state)
  local price, gpus = price_of(state), state.hardware and state.hardware.count or 1
  local list, why = all_series(state)
  if not price and not list then return end
  local money = price and price.per_hour * gpus / HOUR -- of a ns
  local rows, all_ns, all_tokens, is_told = json.list {}, 0, 0, false
  local output = output_tokens(state)
  for _, stage in ipairs(state.stages) do
    local ns = not stage.parent and overhead.time_of(state, stage)
    if ns then
      local row = stage_row(stage, ns, money, list)
      rows[#rows + 1], is_told = row, is_told or (row.per_million_tokens or row.energy_j) ~= nil
      all_ns = all_ns + ns * per_repeat(stage)
      all_tokens = all_tokens + (output[stage.name] or 0) * per_repeat(stage)
    end
  end
  if not is_told then return end
  local metrics = state.metrics or state.workload or {}
  local made = { stages = rows, gpus = gpus, batch = metrics.batch, price = price }
  if all_tokens > 0 then
    made.tokens, made.ns_per_token = all_tokens, all_ns / all_tokens
    made.per_million_tokens = money and money * made.ns_per_token * MILLION
  end
  if list then
    made.energy_source, made.idle_w = list.source, list.idle_w
    made.energy_j_per_token = whole_energy(state, list, output)
    if not made.energy_j_per_token then
      why = ("it ran shorter than %.1f s, which is what samples of its %s tell apart"):format(
        list.least_ns / 1e9, list.source == "power" and "power" or "energy")
    end
  end
  made.no_energy = not made.energy_j_per_token and why or nil
  state.running_cost = made
end


return running_cost
