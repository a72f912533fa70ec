-- A load on a serving engine, of metrics.json: what its clients saw, the engine's own numbers
-- meanwhile, what requests wait for until their first token, and how full the KV cache was.
local json = require "llmprof.json"
local model = require "llmprof.model"
local own_times = require "llmprof.analysis.latency.own_times"
local statistics = require "llmprof.statistics"
local lists = require "llmprof.tables.lists"

local served = { reads = { "metrics", "engine_log", "trace", "engine", "missing", "ranks", "arch",
    "run" },
  gives = { load = "what the clients of a server saw",
    engine_metrics = "the engine's own numbers meanwhile",
    first_token = "where the time to the first token goes",
    kv_cache = "how full it was, and what a token takes of it" } }


-- ---- the load ----

local function is_number(value) return type(value) == "number" end

-- Optional numbers of metrics.json may be null.
local function number(value) return is_number(value) and value or nil end


local function ratio(part, whole) return part and whole and whole > 0 and part / whole or nil end


local function tokens_of(metrics, field)
  local list = lists.flat(metrics.repeats, "requests")
  local are_known = not lists.any(list, function(one) return not is_number(one[field]) end)
  return #list > 0 and are_known and lists.sum(list, field) or nil
end


local function in_ns(ms) return is_number(ms) and ms * 1e6 or nil end


-- Requests within the limits, and how many of these came a second.
local function goals(slo, requests, seconds)
  if type(slo) ~= "table" or not requests then return nil end
  return { ttft_ns = in_ns(slo.ttft_ms), tpot_ns = in_ns(slo.tpot_ms), met = slo.met,
    share = ratio(slo.met, requests), per_s = ratio(slo.met, seconds) }
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
  local errors = json.list(lists.map(given.errors or {}, function(entry)
    return { text = entry.text, count = entry.count }
  end))
  local answer = times_of(metrics, "ms", given.answer)
  return { kind = given.kind, generator = given.generator, arrivals = given.arrivals,
    rate_per_s = number(given.rate_per_s),
    planned_per_s = number(given.planned_per_s), held_per_s = number(given.held_per_s),
    requests = given.requests, completed = given.completed, failed = given.failed,
    errors = #errors > 0 and errors or nil, unread = given.unread,
    duration_ns = seconds and seconds * 1e9,
    completed_per_s = number(given.completed_per_s) or ratio(given.completed, seconds),
    tokens_per_s = number(given.tokens_per_s)
      or ratio(tokens_of(metrics, "tokens"), seconds),
    prompt_tokens_per_s = number(given.prompt_tokens_per_s)
      or ratio(tokens_of(metrics, "prompt_tokens"), seconds),
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
  if #samples < 2 then return nil end
  local first, last = samples[1][name], samples[#samples][name]
  if not is_number(first) or not is_number(last) or last < first then return nil end
  return last - first
end


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
  made.prefix_hit_share = ratio(growth(samples, "prefix_hits"), growth(samples, "prefix_queries"))
    or number(samples[#samples].prefix_hit_share)
  made.acceptance = ratio(growth(samples, "accepted"), growth(samples, "drafted"))
    or verified(samples, "acceptance")
  local accepted = ratio(growth(samples, "accepted"), growth(samples, "verifications"))
  made.tokens_per_verification = accepted and 1 + accepted or verified(samples, "accept_length")
  return made
end


-- The lines of the engine's log; nil where the trace next to it is of a program that is no engine.
local function log_of(state)
  local log = state.engine_log
  return (state.engine or not (log and log.place == "found")) and log or nil
end


-- ---- the first token ----

-- A figure's mean from the first look to the last, of a histogram's sum and count; nil where the
-- page lacks one or nothing was counted.
local function page_mean_ns(samples, figure)
  local sum, count = growth(samples, figure .. "_s"), growth(samples, figure .. "_count")
  if not sum or not count or count == 0 then return nil end
  return sum / count * 1e9, count
end


-- Means of requests that have a prefill step of their own: { count, ttft, queue, prefill,
-- before (its prefill, while no step ran), after }; nil without any.
local function by_steps(ranks)
  local own = lists.filtered(ranks and ranks.requests and ranks.requests.single or {},
    "prefill_ns")
  if #own == 0 then return nil end
  local function mean(of) return lists.sum(own, of) / #own end
  local made = { count = #own, ttft = mean "ttft_ns", queue = mean "queue_ns",
    prefill = mean "prefill_ns", before = mean(function(one)
      return one.prefill_start_ns - one.sent_ns - one.queue_ns
    end) }
  made.after = made.ttft - made.queue - made.before - made.prefill
  return made
end


local PAGE, STEPS, CLIENTS = "page", "steps", "clients"

-- Parts by the engine's page; where steps tell a request's prefill, apart from what the engine
-- counts as prefill besides.
local function parts_of_page(add, samples, client_ns, steps)
  local ttft, count = page_mean_ns(samples, "ttft")
  local queue, queued = page_mean_ns(samples, "queue")
  local prefill, prefilled = page_mean_ns(samples, "prefill")
  if not (ttft or queue or prefill) then return false end
  if ttft then add("network", client_ns - ttft, PAGE, count) end
  if queue then add("queue", queue, PAGE, queued) end
  if prefill and steps and steps.prefill <= prefill then
    add("prefill", steps.prefill, STEPS, steps.count)
    add("scheduler", prefill - steps.prefill, PAGE, prefilled)
  elseif prefill then
    add("prefill", prefill, PAGE, prefilled)
  elseif steps then
    add("prefill", steps.prefill, STEPS, steps.count)
  end
  return true
end


-- { ttft_ns (mean), count, parts = { part, ns, share, source, count }, unknown (why the whole is
-- one part) }; nil where no client timed a first token.
function served.first_token(state)
  local metrics, ranks = state.metrics, state.ranks
  local timed = state.load and state.load.ttft
    or metrics and own_times.distribution(own_times.requests_ns(metrics, "ttft_ms"))
  if not timed or not timed.mean_ns or timed.mean_ns <= 0 then return nil end
  local steps = by_steps(ranks)
  local samples = metrics.engine_metrics and metrics.engine_metrics.samples or {}
  local made = { ttft_ns = timed.mean_ns, count = timed.count, parts = json.list {} }
  local rest = made.ttft_ns
  local function add(part, ns, source, count)
    rest = rest - ns
    made.parts[#made.parts + 1] = { part = part, ns = ns, source = source, count = count,
      share = ns / made.ttft_ns }
  end
  if not parts_of_page(add, samples, timed.mean_ns, steps) then
    if steps then
      made.ttft_ns, made.count, rest = steps.ttft, steps.count, 0
      for _, name in ipairs { "queue", "prefill", "before", "after" } do
        add(name, steps[name], STEPS, steps.count)
      end
      return made
    end
    made.unknown = ranks and ranks.requests and ranks.requests.attributable
      or "neither the engine's page nor steps on the timeline tell its parts"
  end
  add("unexplained", rest, CLIENTS, timed.count)
  return made
end


-- ---- the KV cache ----

-- Looks kept in results; a quotient of shares may lack this to the next whole number.
local MOST, ROUNDING = 512, 1e-9


-- What a token adds to it over all layers, as the model's description has it.
local function bytes_per_token(arch)
  if not arch or not arch.decoder then return nil end
  local bytes = model.decode(arch, { batch = 1, steps = 1, context = 0 }).kv_write_bytes
  return bytes > 0 and bytes or nil
end


-- Looks at it while requests ran, the engine's page, else lines of its log, and whether there were
-- others.
local function looks_of(state)
  local page = state.metrics and state.metrics.engine_metrics
  local list, first, idle = json.list {}, nil, false
  for _, sample in ipairs(page and page.samples or log_of(state) or {}) do
    if is_number(sample.kv_use) and sample.running == 0 then
      idle = true
    elseif is_number(sample.kv_use) then
      first = first or sample.utc_ns
      list[#list + 1] = { number = #list + 1, use = sample.kv_use,
        at_ns = first and sample.utc_ns and sample.utc_ns - first or nil,
        running = number(sample.running), waiting = number(sample.waiting) }
    end
  end
  return list, idle
end


-- At most MOST of a list, at equal distances, the fullest among them.
local function thinned(list, fullest)
  if #list <= MOST then return list end
  local made = json.list {}
  for i = 1, MOST do
    local from, to = (i - 1) * #list // MOST + 1, i * #list // MOST
    made[i] = from <= fullest.number and fullest.number <= to and fullest or list[from]
  end
  return made
end


local NO_LOOKS = "neither an engine's page nor its log was read"
local IDLE = "no request ran when the engine's page was read"


-- { bytes_per_token, run_tokens, tokens (that it holds), use { mean, min, max }, looks, fullest
-- (a look), more_requests (that would fit at the fullest look), unknown }; nil where nothing is
-- known of it.
function served.kv_cache(state)
  local looks, idle = looks_of(state)
  local bytes, run = bytes_per_token(state.arch), state.run or {}
  local made = { bytes_per_token = bytes,
    tokens = lists.map(log_of(state) or {}, "kv_tokens")[1] }
  if #looks == 0 then
    if not bytes and not idle then return nil end
    made.unknown = idle and IDLE or NO_LOOKS
    if run.batch and run.prompt_tokens and run.new_tokens then
      made.run_tokens = run.batch * (run.prompt_tokens + run.new_tokens)
    end
    return made
  end
  local fullest = lists.largest(looks, "use")
  made.use, made.fullest, made.looks = level(looks, "use"), fullest, thinned(looks, fullest)
  if fullest.use > 0 and fullest.running and fullest.running > 0 then
    local fitting = fullest.running / fullest.use + ROUNDING
    made.more_requests = math.max(fitting // 1 - fullest.running // 1, 0)
  end
  return made
end


function served.run(state)
  local log = log_of(state)
  local looks = lists.filtered(log or {}, "running")
  if state.engine_log and not log then
    table.insert(state.missing, { what = "the server's log", why = "it lies next to the trace of a "
      .. "program that is no serving engine", how = "an engine's kernels or ranges in the trace" })
  end
  state.load = served.load(state.metrics)
  state.engine_metrics = served.engine(state.metrics)
    or served.engine { engine_metrics = looks[1] and { samples = looks } }
  state.first_token, state.kv_cache = served.first_token(state), served.kv_cache(state)
end


return served
