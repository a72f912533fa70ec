-- What a load client writes, of made-up requests.
local analysis = require "llmprof.analysis"

local load_client = {}


-- metrics.json of `count` requests at a rate, all alike; changes go before.
function load_client.metrics(rate, changes)
  local given, requests = changes or {}, {}
  local count, ttft = given.count or 100, given.ttft_ms or 20
  for i = 1, count do
    requests[i] = { ttft_ms = ttft + i / count, tpot_ms = 5, ms = ttft + 45, tokens = 10,
      prompt_tokens = 100 }
  end
  local seconds = given.seconds or count / rate
  return { schema_version = 1,
    load = { kind = "rate", arrivals = "poisson", rate_per_s = rate, planned_per_s = rate,
      held_per_s = given.held or rate, requests = count + (given.failed or 0), completed = count,
      failed = given.failed or 0, duration_s = seconds,
      errors = given.failed and { { text = "too busy", count = given.failed } } or {},
      slo = { ttft_ms = 30, tpot_ms = 6, met = given.met or count } },
    engine_metrics = given.page,
    repeats = { { index = 1, requests = requests, stages = {} } } }
end


-- A page that was looked at three times, and once could not be.
load_client.page = { path = "/metrics", failed = 1, complaint = "/metrics does not end", samples = {
  { utc_ns = 1, running = 2, waiting = 0, kv_use = 0.1, preemptions = 4, prefix_queries = 100,
    prefix_hits = 10, verifications = 10, drafted = 50, accepted = 20 },
  { utc_ns = 2, running = 8, waiting = 6, kv_use = 0.4, preemptions = 5, prefix_queries = 150,
    prefix_hits = 30, verifications = 14, drafted = 70, accepted = 30 },
  { utc_ns = 3, running = 5, waiting = 3, kv_use = 0.3, preemptions = 7, prefix_queries = 200,
    prefix_hits = 60, verifications = 18, drafted = 90, accepted = 40 } } }


-- Results of such a run without a capture.
function load_client.results(rate, changes)
  return analysis.results { run_id = "load", recipe = "r", source = {}, missing = {},
    metrics = load_client.metrics(rate, changes) }
end


return load_client
