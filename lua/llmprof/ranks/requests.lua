-- What clients saw beside what the steps say: time per token, stalls of decode by the
-- prefill of other requests. From metrics.json. Requests that say when they were sent meet
-- single steps, others their means only.
local json = require "llmprof.json"
local keys = require "llmprof.tables.keys"
local lists = require "llmprof.tables.lists"
local rows = require "llmprof.ranks.rows"
local statistics = require "llmprof.statistics"

local requests = {}

-- Requests, and looks at the engine's page, that are kept in results and looked at one by one.
local MOST = 4096

local MS = 1e6 -- in ns


-- ---- steps ----

-- First and last step that runs in [from, to); the last is before the first for none.
local function overlapping(steps, from, to)
  return statistics.first_above(steps.last, from), statistics.first_above(steps.begin, to - 1) - 1
end


-- ---- what they say of a request ----

-- The one step that can have prefilled it: it ends before the first token came, and holds
-- the whole prompt. nil for none or several.
local function prefill_step(steps, from, to, prompt)
  local found
  local first, last = overlapping(steps, from, to)
  for i = first, last do
    if (steps.context[i] or 0) > 0 and steps.last[i] <= to
      and (steps.context_tokens[i] or 0) >= prompt then
      if found then return nil end
      found = i
    end
  end
  return found
end


-- By how much steps that prefill others are longer than `plain` while it is in decode.
local function stall_of(steps, from, to, plain)
  local sum = 0
  for i = statistics.first_above(steps.last, from), #steps.begin do
    if steps.last[i] > to then break end
    if (steps.context[i] or 0) > 0 and steps.interval[i] then
      sum = sum + math.max(steps.interval[i] - plain, 0)
    end
  end
  return sum
end


-- Steps of the prefill of each request by order, first and last, where as many tokens were
-- prefilled as were sent: the scheduler takes prompts in the order in which they come. nil where
-- that does not fit. list: requests in the order in which they were sent.
local function in_order(list, steps, given)
  local behind, sum = {}, 0 -- tokens that were prefilled when each step ended
  for i, tokens in ipairs(steps.context_tokens) do
    sum = sum + (tokens or 0)
    behind[i] = sum
  end
  local made, before = {}, 0
  for i, request in ipairs(list) do
    local prompt = request.prompt_tokens or given.prompt_tokens
    if not prompt then return nil end
    local sent = request.sent_utc_ns - given.epoch
    local first = statistics.first_above(behind, before)
    before = before + prompt
    local last = statistics.first_above(behind, before - 1)
    if last > #behind or steps.last[first] < sent
      or steps.last[last] > sent + request.ttft_ms * 1e6 then
      return nil
    end
    made[i] = { first, last }
  end
  return before == sum and made or nil
end


-- How long steps of others ran from when it was sent until its prefill began, when that was, and
-- how long it took, in ns.
local function waits_of(steps, first, last, sent)
  local start, busy, until_ns = math.max(steps.begin[first], sent), 0, sent
  for i = statistics.first_above(steps.last, sent), first - 1 do
    local from, to = math.max(steps.begin[i], until_ns), math.min(steps.last[i], start)
    if to > from then busy, until_ns = busy + to - from, to end
  end
  return busy, start, steps.last[last] - start
end


-- own: first and last step of its prefill, where its order tells them.
local function record(request, steps, given, own)
  local sent = request.sent_utc_ns - given.epoch
  local ended, token = sent + request.ms * 1e6, sent + request.ttft_ms * 1e6
  local first, last = overlapping(steps, sent, ended)
  local prompt = request.prompt_tokens or given.prompt_tokens
  local one, queue, start, prefill = own and own[1], nil, nil, nil
  if not one and prompt then one = prefill_step(steps, sent, token, prompt) end
  if one then queue, start, prefill = waits_of(steps, one, own and own[2] or one, sent) end
  return { queue_ns = queue, prefill_start_ns = start, prefill_ns = prefill,
    sent_ns = sent, ttft_ns = request.ttft_ms * 1e6,
    tpot_ns = request.tpot_ms and request.tpot_ms * 1e6, length_ns = request.ms * 1e6,
    tokens = request.tokens, first_step = last >= first and first - 1 or nil,
    steps = math.max(last - first + 1, 0), prefill_step = one and one - 1,
    prefill_steps = own and own[2] - own[1] + 1 or one and 1,
    stall_ns = given.plain and stall_of(steps, token, ended, given.plain) }
end


-- Requests that say when they were sent, in that order, as results.json has them, and are their
-- steps told by the order of the requests; nil where the clocks cannot be put together. list:
-- requests of metrics.json; frame: steps; given: epoch (UTC of time 0, ns), prompt_tokens, plain
-- (interval of a decode step, ns).
local function request_steps(list, frame, given)
  local steps = frame and given.epoch and rows.of_first_rank(frame, { "begin", "last", "context",
    "context_tokens", "interval" })
  if not steps then return nil end
  for i = 2, #steps.last do steps.last[i] = math.max(steps.last[i], steps.last[i - 1]) end
  local made, met = json.list {}, false
  local sent = lists.first(lists.filtered(list, "sent_utc_ns"), MOST)
  lists.sort(sent, "sent_utc_ns")
  local order = in_order(sent, steps, given)
  for i, request in ipairs(sent) do
    made[i] = record(request, steps, given, order and order[i])
    met = met or made[i].steps > 0
  end
  return met and made or nil, order ~= nil
end


-- ---- requests ----

-- A client's time per token agrees with the steps' interval within this share.
local AGREES = 0.05


-- All requests of the rounds that the workload counted.
local function all_of(metrics)
  local all = lists.flat(metrics.repeats or {}, "requests")
  return lists.filtered(all, function(request) return request.tpot_ms and request.ttft_ms end)
end


-- { count, mean_ns, min_ns, max_ns, p50_ns, ... } of times in ms, or in ns; nil for none.
local function spread(values, unit)
  local ns = lists.map(values, function(value) return value * (unit or 1) end)
  local made = statistics.describe(ns)
  return made and statistics.add_percentiles({ count = made.count, mean_ns = made.mean,
    min_ns = made.min, max_ns = made.max }, ns)
end


-- Times between the tokens of each request, as far as the workload kept them; else of a
-- round's requests as their mean, and true.
local function between_tokens(list, metrics)
  local own = lists.flat(list, "steps_ms")
  if #own > 0 then return spread(own, MS) end
  local rounds = lists.flat(metrics.repeats or {}, function(rep)
    return keys.at(rep, "stages.decode.steps_ms")
  end)
  return spread(rounds, MS), #rounds > 0 or nil
end


-- The mean interval of the steps that make tokens, as a closed loop sees them: of all
-- steps with requests in decode, each as often as it has such requests.
local function interval_of(groups)
  local function tokens_of(group)
    return group.interval_ns and group.generation and group.generation * group.count or 0
  end
  local tokens = lists.sum(groups, tokens_of)
  local time = lists.sum(groups, function(group)
    return tokens_of(group) * (group.interval_ns or 0)
  end)
  return tokens > 0 and time / tokens or nil
end


local function decode_interval(groups)
  local best = lists.largest(groups, function(group)
    return group.phase == "decode" and group.interval_ns and group.count
  end)
  return best and best.interval_ns
end


local UNKNOWN = "when requests were sent is not in metrics.json, so they cannot be matched to the "
  .. "steps that prefilled them"
local APART = "the requests were sent while no step of the capture ran, or the capture does not "
  .. "say when it began, so requests cannot be matched to the steps that prefilled them"


-- Which requests have a prefill step of their own, in words.
local function attributable(list, single, by_order)
  if not single then
    return lists.any(list, "sent_utc_ns") and APART or UNKNOWN
  end
  if by_order then
    return "as many tokens were prefilled as were sent, so the order of the requests tells the "
      .. "prefill of each"
  end
  local count = lists.sum(single, function(one) return one.prefill_step and 1 or 0 end)
  return ("%d of %d requests have one step that can have prefilled them; of the others it is not "
    .. "attributable"):format(count, #single)
end


-- Of requests what results.json tells; nil without requests or steps. groups: steps by (phase,
-- batch, tokens) with generation; steps: their frame; epoch: UTC of its time 0.
function requests.of(metrics, groups, steps, epoch)
  local list = metrics and all_of(metrics) or {}
  if #list == 0 or not groups then return nil end
  local made = { count = #list, ttft = spread(lists.map(list, "ttft_ms"), MS),
    tpot = spread(lists.map(list, "tpot_ms"), MS) }
  made.between_tokens, made.averaged = between_tokens(list, metrics)
  local plain = decode_interval(groups)
  local by_order
  made.single, by_order = request_steps(list, steps, { epoch = epoch, plain = plain,
    prompt_tokens = metrics.prompt_tokens })
  made.attributable = attributable(list, made.single, by_order)
  local interval = interval_of(groups)
  if interval then
    made.step_interval_ns = interval
    made.difference = (made.tpot.mean_ns - interval) / interval
    made.agrees = math.abs(made.difference) <= AGREES
    made.stall_ns = plain and math.max(interval - plain, 0) or nil
  end
  return made
end


-- ---- engine looks ----

local LEVELS = { "running", "waiting", "kv_use" }


-- The mean of values first..last of a list with gaps; nil for none.
local function mean(list, first, last)
  local sum, count = 0, 0
  for i = first, last do
    if list[i] then sum, count = sum + list[i], count + 1 end
  end
  return count > 0 and sum / count or nil
end


-- What a counter grew by; nil where a look lacks it, or the engine began again.
local function growth(from, to) return from and to and to >= from and to - from or nil end


local function add_steps(look, steps, from, to)
  local first = statistics.first_above(steps.begin, from)
  local last = statistics.first_above(steps.begin, to) - 1
  look.steps = last - first + 1
  look.batch = mean(steps.batch, first, last)
  look.step_ns = mean(steps.length, first, last)
end


-- The engine's own numbers beside the steps, look for look; nil where no step began between two
-- looks, or the clocks cannot be put together. metrics: metrics.json; frame: steps; epoch: UTC of
-- time 0, ns.
function requests.engine_looks(metrics, frame, epoch)
  local samples = metrics and metrics.engine_metrics and metrics.engine_metrics.samples or {}
  local steps = frame and epoch and #samples > 1
    and rows.of_first_rank(frame, { "begin", "batch", "length" })
  if not steps then return nil end
  local made, met = json.list {}, false
  for i = 1, math.min(#samples, MOST) do
    local sample, before = samples[i], samples[i - 1]
    local look = { at_ns = sample.utc_ns - epoch }
    for _, name in ipairs(LEVELS) do look[name] = sample[name] end
    if before then
      look.preemptions = growth(before.preemptions, sample.preemptions)
      add_steps(look, steps, before.utc_ns - epoch, look.at_ns)
      met = met or look.steps > 0
    end
    made[i] = look
  end
  return met and made or nil
end


-- ---- key-value caches between ranks ----

-- Prefill and decode on ranks of their own: from the end of a request's prefill on the one
-- to its first step on the other, in which its KV cache goes from here to there.
--
-- Steps say how many requests they take, not which. The n-th that leaves the prefill is the
-- n-th that the decode takes up, where as many were taken up as left and none before it
-- left; else nothing is said of single ones.

-- The first rank that only prefills and the first that decodes; nil where one of them is
-- missing, or a rank does both.
local function roles(frame)
  local prefills, decodes
  local groups = frame:group { by = { "world" }, sum = { "context", "generation" } }
  for _, group in ipairs(groups) do
    local context, generation = group.context.total or 0, group.generation.total or 0
    if context > 0 and generation == 0 then
      prefills = math.min(prefills or math.huge, group.world)
    elseif generation > 0 then
      decodes = math.min(decodes or math.huge, group.world)
    end
  end
  if not prefills or not decodes then return nil end
  return prefills, decodes
end


-- A moment of each step once for each request that it prefills, in order; with `count` of
-- all of them, where these are too many to look at.
local function moments(frame, world, column)
  local made = rows.of_rank(frame, world, { column, "context" })
  local list = { count = 0 }
  for i, moment in ipairs(made[column]) do
    local prefilled = made.context[i] or 0
    list.count = list.count + prefilled
    for _ = 1, list.count <= MOST and prefilled or 0 do list[#list + 1] = moment end
  end
  return lists.sort(list)
end


-- Why nothing is said of single requests; nil where it is. lengths: from when each left to when it
-- was taken up.
local function unknown(left, taken, lengths)
  if taken.count == 0 then
    return "no step of the decode says that it takes a request up, so transfers cannot be timed"
  elseif left.count ~= taken.count then
    return ("%d requests left the prefill and %d were taken up in the capture, so transfers "
      .. "cannot be timed"):format(left.count, taken.count)
  elseif left.count > MOST then
    return ("%d requests are more than the %d that are looked at one by one"):format(left.count,
      MOST)
  elseif lists.any(lengths, function(length) return length < 0 end) then
    return "requests were taken up in another order than they left the prefill, so transfers "
      .. "cannot be timed"
  end
  return nil
end


-- What results.json tells of them; nil where no ranks of their own prefill and decode. frame: of
-- steps.
function requests.kv_transfers(frame)
  if not frame then return nil end
  local from, to = roles(frame)
  if not from then return nil end
  local left, taken, lengths = moments(frame, from, "last"), moments(frame, to, "begin"), {}
  for i, moment in ipairs(left) do lengths[i] = (taken[i] or moment) - moment end
  local made = { from_rank = from, to_rank = to, left = left.count, taken = taken.count,
    unknown = unknown(left, taken, lengths) }
  if made.unknown then return made end
  made.single, made.times = json.list {}, spread(lengths)
  for i, moment in ipairs(left) do
    made.single[i] = { start_ns = moment, end_ns = taken[i], length_ns = lengths[i] }
  end
  return made
end


return requests
