-- A load on a serving engine, of metrics.json: what its clients saw, whether the rate was held,
-- how many requests were good ones; and the engine's own numbers meanwhile.
local json = require "llmprof.json"
local own_times = require "llmprof.analysis.latency.own_times"
local statistics = require "llmprof.statistics"
local lists = require "llmprof.tables.lists"

local served = { reads = { "metrics", "engine_log", "trace", "engine", "missing" },
  gives = { load = "what the clients of a server saw",
    engine_metrics = "the engine's own numbers meanwhile" } }


-- ---- the load ----

local function is_number(value) return type(value) == "number" end

-- Optional numbers of metrics.json may be null.
local function number(value) return is_number(value) and value or nil end


local function per_second(count, seconds)
  return count and seconds and seconds > 0 and count / seconds or nil
end


local function tokens_of(metrics, field)
  local sum, known = 0, false
  for _, rep in ipairs(metrics.repeats) do
    for _, request in ipairs(rep.requests or {}) do
      if not is_number(request[field]) then return nil end
      sum, known = sum + request[field], true
    end
  end
  return known and sum or nil
end


local function in_ns(ms) return is_number(ms) and ms * 1e6 or nil end


-- Requests within the limits, and how many of these came a second.
local function goals(slo, requests, seconds)
  if type(slo) ~= "table" or not requests then return nil end
  return { ttft_ns = in_ns(slo.ttft_ms), tpot_ns = in_ns(slo.tpot_ms), met = slo.met,
    share = requests > 0 and slo.met / requests or nil,
    per_s = per_second(slo.met, seconds) }
end


local function errors_of(list)
  local made = json.list {}
  for i, entry in ipairs(list or {}) do made[i] = { text = entry.text, count = entry.count } end
  return #made > 0 and made or nil
end


-- Requests that would be answered a second if none waited for another: over the time in
-- which all are sent, those that fail too, and the shortest answer of all.
local function unqueued_per_s(given, answer)
  local held = number(given.held_per_s)
  if not held or held <= 0 or not answer or not answer.min_ns or not given.failed then
    return nil
  end
  return given.completed / ((given.completed + given.failed) / held + answer.min_ns / 1e9)
end


-- In ns, of the requests one by one, or as another generator says it of all.
local function times_of(metrics, field, said)
  local made = own_times.distribution(own_times.requests_ns(metrics, field))
  if made or type(said) ~= "table" then return made end
  made = { count = said.count }
  for key, ms in pairs(said) do
    local name = key:match "^(.*)_ms$"
    if name then made[name .. "_ns"] = in_ns(ms) end
  end
  return made
end


-- { kind, arrivals, rate_per_s, ... } of results.json; nil for rounds.
function served.load(metrics)
  local given = metrics and metrics.load
  if not given then return nil end
  local seconds = number(given.duration_s)
  local answer = times_of(metrics, "ms", given.answer)
  return { kind = given.kind, generator = given.generator, arrivals = given.arrivals,
    rate_per_s = number(given.rate_per_s),
    planned_per_s = number(given.planned_per_s), held_per_s = number(given.held_per_s),
    requests = given.requests, completed = given.completed, failed = given.failed,
    errors = errors_of(given.errors), unread = given.unread,
    duration_ns = seconds and seconds * 1e9,
    completed_per_s = number(given.completed_per_s) or per_second(given.completed, seconds),
    tokens_per_s = number(given.tokens_per_s)
      or per_second(tokens_of(metrics, "tokens"), seconds),
    prompt_tokens_per_s = number(given.prompt_tokens_per_s)
      or per_second(tokens_of(metrics, "prompt_tokens"), seconds),
    ttft = times_of(metrics, "ttft_ms", given.ttft),
    tpot = times_of(metrics, "tpot_ms", given.tpot),
    answer = answer, unqueued_per_s = unqueued_per_s(given, answer),
    slo = goals(given.slo, given.requests, seconds) }
end


-- ---- the engine's own numbers ----

-- A figure over the looks at it: { mean, min, max }, nil where the engine has none.
local function level(samples, name)
  local made = statistics.describe(lists.filtered(lists.map(samples, name), is_number))
  return made and { mean = made.mean, min = made.min, max = made.max }
end


-- What a counter grew by from the first look to the last; nil where one lacks it, or the
-- engine began again.
local function growth(samples, name)
  local first, last = samples[1][name], samples[#samples][name]
  if #samples < 2 or not is_number(first) or not is_number(last) or last < first then return nil end
  return last - first
end


local function share(part, whole) return part and whole and whole > 0 and part / whole or nil end


-- The mean of a figure over the looks after a verification.
local function verified(samples, name)
  local made = level(lists.filtered(samples, function(sample)
    return is_number(sample.accept_length) and sample.accept_length > 0
  end), name)
  return made and made.mean
end


-- { looks, failed, complaint, running, waiting, kv_use, preemptions, prefix_hit_share,
-- acceptance, tokens_per_verification } of results.json; nil where nobody looked.
function served.engine(metrics)
  local given = metrics and metrics.engine_metrics
  if not given then return nil end
  local samples = given.samples
  local made = { looks = #samples, failed = given.failed,
    complaint = type(given.complaint) == "string" and given.complaint or nil }
  if #samples == 0 then return made end
  -- before and after a short load, the engine's page says nothing of it
  if lists.any(samples, function(sample) return sample.running ~= 0 end) then
    made.running, made.waiting = level(samples, "running"), level(samples, "waiting")
    made.kv_use = level(samples, "kv_use")
  end
  made.preemptions = growth(samples, "preemptions")
  made.prefix_hit_share = share(growth(samples, "prefix_hits"), growth(samples, "prefix_queries"))
    or number(samples[#samples].prefix_hit_share)
  made.acceptance = share(growth(samples, "accepted"), growth(samples, "drafted"))
    or verified(samples, "acceptance")
  local accepted = share(growth(samples, "accepted"), growth(samples, "verifications"))
  made.tokens_per_verification = accepted and 1 + accepted or verified(samples, "accept_length")
  return made
end


-- The lines of the engine's log; nil where the trace next to it is of a program that is no engine.
function served.log_of(state)
  local log = state.engine_log
  return (state.engine or not (log and log.place == "found")) and log or nil
end


function served.run(state)
  local log = served.log_of(state)
  local looks = lists.filtered(log or {}, "running")
  if state.engine_log and not log then
    table.insert(state.missing, { what = "the server's log", why = "it lies next to the trace of a "
      .. "program that is no serving engine", how = "an engine's kernels or ranges in the trace" })
  end
  state.load = served.load(state.metrics)
  state.engine_metrics = served.engine(state.metrics)
    or served.engine { engine_metrics = looks[1] and { samples = looks } }
end


return served
