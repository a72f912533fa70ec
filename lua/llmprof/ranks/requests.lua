-- What clients saw beside what the steps say: time per token, stalls of decode by the
-- prefill of other requests. From metrics.json. Requests that say when they were sent meet
-- single steps, others their means only.
local request_steps = require "llmprof.ranks.request_steps"
local statistics = require "llmprof.statistics"

local requests = {}

-- A client's time per token agrees with the steps' interval within this share.
local AGREES = 0.05


-- All requests of the rounds that the workload counted.
local function all_of(metrics)
  local list = {}
  for _, rep in ipairs(metrics.repeats or {}) do
    for _, request in ipairs(type(rep.requests) == "table" and rep.requests or {}) do
      if request.tpot_ms and request.ttft_ms then list[#list + 1] = request end
    end
  end
  return list
end


local function spread(values)
  local made = statistics.describe(values)
  return made and statistics.add_percentiles({ count = made.count, mean_ns = made.mean,
    min_ns = made.min, max_ns = made.max }, values)
end


local function ns_of(list, field)
  local values = {}
  for i, request in ipairs(list) do values[i] = request[field] * 1e6 end
  return values
end


-- Times between the tokens of each request, as far as the workload kept them; else of a
-- round's requests as their mean, and true.
local function between_tokens(list, metrics)
  local values = {}
  for _, request in ipairs(list) do
    for _, ms in ipairs(type(request.steps_ms) == "table" and request.steps_ms or {}) do
      values[#values + 1] = ms * 1e6
    end
  end
  if #values > 0 then return spread(values) end
  for _, rep in ipairs(metrics.repeats or {}) do
    local decode = rep.stages and rep.stages.decode
    for _, ms in ipairs(decode and decode.steps_ms or {}) do values[#values + 1] = ms * 1e6 end
  end
  return spread(values), #values > 0 or nil
end


-- The mean interval of the steps that make tokens, as a closed loop sees them: of all
-- steps with requests in decode, each as often as it has such requests.
local function interval_of(groups)
  local tokens, time = 0, 0
  for _, group in ipairs(groups) do
    local made = group.generation
    if group.interval_ns and made and made > 0 then
      tokens = tokens + made * group.count
      time = time + made * group.count * group.interval_ns
    end
  end
  return tokens > 0 and time / tokens or nil
end


local function decode_interval(groups)
  local best
  for _, group in ipairs(groups) do
    if group.phase == "decode" and group.interval_ns and (not best or group.count > best.count) then
      best = group
    end
  end
  return best and best.interval_ns
end


local UNKNOWN = "metrics.json does not say when requests were sent: which step prefilled which "
  .. "request is not attributable"
local APART = "the requests were sent while no step of the capture ran, or the capture does not "
  .. "say when it began: which step prefilled which request is not attributable"


-- Which requests have a prefill step of their own, in words.
local function attributable(list, single)
  if not single then
    for _, request in ipairs(list) do
      if request.sent_utc_ns then return APART end
    end
    return UNKNOWN
  end
  local count = 0
  for _, one in ipairs(single) do count = count + (one.prefill_step and 1 or 0) end
  return ("%d of %d requests have one step that can have prefilled them; of the others it is not "
    .. "attributable"):format(count, #single)
end


-- { count, ttft, tpot, between_tokens (each { count, mean_ns, p50_ns, ... }), averaged (are
-- these means of a round's requests), step_interval_ns, difference (share), agrees,
-- stall_ns (by which a decode step that prefills others, too, is longer), attributable,
-- single (of llmprof.ranks.request_steps) }; nil without requests or steps. groups: steps
-- by (phase, batch, tokens) with generation; steps: their frame; epoch: UTC of its time 0.
function requests.of(metrics, groups, steps, epoch)
  local list = metrics and all_of(metrics) or {}
  if #list == 0 or not groups then return nil end
  local made = { count = #list, ttft = spread(ns_of(list, "ttft_ms")),
    tpot = spread(ns_of(list, "tpot_ms")) }
  made.between_tokens, made.averaged = between_tokens(list, metrics)
  local plain = decode_interval(groups)
  made.single = request_steps.of(list, steps, { epoch = epoch, plain = plain,
    prompt_tokens = metrics.prompt_tokens })
  made.attributable = attributable(list, made.single)
  local interval = interval_of(groups)
  if interval then
    made.step_interval_ns = interval
    made.difference = (made.tpot.mean_ns - interval) / interval
    made.agrees = math.abs(made.difference) <= AGREES
    made.stall_ns = plain and math.max(interval - plain, 0) or nil
  end
  return made
end


return requests
