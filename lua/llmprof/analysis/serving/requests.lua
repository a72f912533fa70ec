-- What requests of a server wait for until their first token, and how full the KV cache was
-- meanwhile: from what clients saw, the engine's own numbers and its steps.
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"
local model = require "llmprof.model"
local own_times = require "llmprof.analysis.latency.own_times"
local served = require "llmprof.analysis.serving.load"
local statistics = require "llmprof.statistics"

local requests = { reads = { "metrics", "engine_log", "trace", "engine", "load", "ranks", "arch",
    "run" },
  gives = { first_token = "where the time to the first token goes",
    kv_cache = "how full it was, and what a token takes of it" } }


local function is_number(value) return type(value) == "number" end


-- ---- the first token ----

-- A figure's mean from the first look to the last, of a histogram's sum and count; nil where the
-- page lacks one or nothing was counted.
local function page_mean_ns(samples, figure)
  local first, last = samples[1], samples[#samples]
  local sum, count = figure .. "_s", figure .. "_count"
  for _, name in ipairs { sum, count } do
    if not first or not is_number(first[name]) or not is_number(last[name]) then return nil end
  end
  local counted = last[count] - first[count]
  if counted <= 0 or last[sum] < first[sum] then return nil end
  return (last[sum] - first[sum]) / counted * 1e9, counted
end


-- Means of requests that have a prefill step of their own: { count, ttft, queue, prefill,
-- before (its prefill, while no step ran), after }; nil without any.
local function by_steps(ranks)
  local sums, count = { ttft = 0, queue = 0, prefill = 0, before = 0, after = 0 }, 0
  for _, one in ipairs(ranks and ranks.requests and ranks.requests.single or {}) do
    if one.prefill_ns then
      local before = one.prefill_start_ns - one.sent_ns - one.queue_ns
      count = count + 1
      for name, ns in pairs { ttft = one.ttft_ns, queue = one.queue_ns, prefill = one.prefill_ns,
          before = before, after = one.ttft_ns - one.queue_ns - before - one.prefill_ns } do
        sums[name] = sums[name] + ns
      end
    end
  end
  if count == 0 then return nil end
  for name, sum in pairs(sums) do sums[name] = sum / count end
  sums.count = count
  return sums
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
local function first_token(state)
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
  for _, sample in ipairs(page and page.samples or served.log_of(state) or {}) do
    if is_number(sample.kv_use) and sample.running == 0 then
      idle = true
    elseif is_number(sample.kv_use) then
      first = first or sample.utc_ns
      list[#list + 1] = { number = #list + 1, use = sample.kv_use,
        at_ns = first and sample.utc_ns and sample.utc_ns - first or nil,
        running = is_number(sample.running) and sample.running or nil,
        waiting = is_number(sample.waiting) and sample.waiting or nil }
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
local function kv_cache(state)
  local looks, idle = looks_of(state)
  local bytes, run = bytes_per_token(state.arch), state.run or {}
  local made = { bytes_per_token = bytes,
    tokens = lists.map(served.log_of(state) or {}, "kv_tokens")[1] }
  if #looks == 0 then
    if not bytes and not idle then return nil end
    made.unknown = idle and IDLE or NO_LOOKS
    if run.batch and run.prompt_tokens and run.new_tokens then
      made.run_tokens = run.batch * (run.prompt_tokens + run.new_tokens)
    end
    return made
  end
  local use, fullest = statistics.describe(lists.map(looks, "use")), lists.largest(looks, "use")
  made.use = { mean = use.mean, min = use.min, max = use.max }
  made.fullest, made.looks = fullest, thinned(looks, fullest)
  if fullest.use > 0 and fullest.running and fullest.running > 0 then
    local fitting = fullest.running / fullest.use + ROUNDING
    made.more_requests = math.max(fitting // 1 - fullest.running // 1, 0)
  end
  return made
end


function requests.run(state)
  state.first_token, state.kv_cache = first_token(state), kv_cache(state)
end


return requests
