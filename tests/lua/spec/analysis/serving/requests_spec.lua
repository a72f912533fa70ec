-- Where the time to the first token goes, and how full the KV cache was, of what is known.
local load = require "llmprof.analysis.serving.load"
local model = require "llmprof.model"
local sections = require "llmprof.report.sections"
local support = require "tests.lua.support.load_client"

local MS = 1e6


local function of(fields)
  fields.first_token, fields.kv_cache = load.first_token(fields), load.kv_cache(fields)
  return fields
end


local function looks(more)
  local first = { utc_ns = 1, ttft_s = 10, ttft_count = 100, queue_s = 3, queue_count = 50,
    prefill_s = 5, prefill_count = 50 }
  local last = { utc_ns = 2, ttft_s = 11.8, ttft_count = 200, queue_s = 3.4, queue_count = 150,
    prefill_s = 6, prefill_count = 150 }
  for key, value in pairs(more or {}) do last[key] = value end
  return { path = "/metrics", samples = { first, last } }
end


-- Parts in ms, by name.
local function parts(made)
  local list = {}
  for _, part in ipairs(made.first_token.parts) do
    list[part.part] = math.floor(part.ns / MS * 10 + 0.5) / 10
  end
  return list
end


describe("the first token", function()
  local single = {
    { sent_ns = 0, ttft_ns = 20 * MS, queue_ns = 6 * MS, prefill_start_ns = 8 * MS,
      prefill_ns = 5 * MS },
    { sent_ns = 10 * MS, ttft_ns = 30 * MS, queue_ns = 8 * MS, prefill_start_ns = 22 * MS,
      prefill_ns = 7 * MS },
    { sent_ns = 10 * MS, ttft_ns = 90 * MS } }
  local ranks = { requests = { single = single, attributable = "2 of 3" } }

  it("goes to what the engine's page tells, and a rest", function()
    local metrics = support.metrics(10, { page = looks() }) -- 20.5 ms at the clients
    assert.same({ network = 2.5, queue = 4, prefill = 10, unexplained = 4 },
      parts(of { metrics = metrics }))
  end)

  it("goes to steps of the timeline, with what is before and behind them", function()
    local made = of { metrics = support.metrics(10), ranks = ranks }
    assert.same({ queue = 7, prefill = 6, before = 3, after = 9 }, parts(made))
    assert.same({ 25 * MS, 2 }, { made.first_token.ttft_ns, made.first_token.count })
  end)

  it("goes to both, where both are there", function()
    assert.same({ network = 2.5, queue = 4, prefill = 6, scheduler = 4, unexplained = 4 },
      parts(of { metrics = support.metrics(10, { page = looks() }), ranks = ranks }))
  end)

  it("is unexplained where nothing tells, and the reason is said", function()
    local made = of { metrics = support.metrics(10, { page = looks { ttft_count = 100,
      queue_count = 50, prefill_s = 1 } }) } -- nothing counted, and an engine that began again
    assert.same({ unexplained = 20.5 }, parts(made))
    assert.truthy(made.first_token.unknown)
    assert.is_nil(of { metrics = { repeats = {} } }.first_token)
    assert.is_nil(of {}.first_token)
  end)
end)


describe("the KV cache", function()
  local arch = assert(model.load "llama3_8b")

  it("takes what the model's description says of a token", function()
    local made = of { arch = arch, run = { batch = 2, prompt_tokens = 100, new_tokens = 28 } }
    assert.equal(2 * 32 * 8 * 128 * 2, made.kv_cache.bytes_per_token)
    assert.equal(256, made.kv_cache.run_tokens)
    assert.truthy(made.kv_cache.unknown)
    assert.is_nil(of {}.kv_cache)
  end)

  it("is as full as the engine says, and has room for more like those that run", function()
    local made = of { metrics = support.metrics(10, { page = support.page }) }.kv_cache
    assert.same({ 0.1, 0.4, 3 }, { made.use.min, made.use.max, #made.looks })
    assert.same({ 2, 0.4, 8 }, { made.fullest.number, made.fullest.use, made.fullest.running })
    assert.equal(12, made.more_requests) -- 8 take 40 %, so 20 take all
    assert.is_nil(made.bytes_per_token)
  end)

  it("is not known from looks while no request ran", function()
    local page = { path = "/metrics", samples = { { utc_ns = 1, running = 0, kv_use = 0 } } }
    local made = of { arch = arch, metrics = support.metrics(10, { page = page }) }.kv_cache
    assert.is_nil(made.use)
    assert.equal("no request ran when the engine's page was read", made.unknown)
  end)

  it("is as full as lines of a log say, which also tell what it holds", function()
    local log = { { kv_tokens = 5000 }, { running = 4, kv_use = 1 } }
    local made = of { engine_log = log }.kv_cache
    log.place = "found"
    assert.same(made, of({ engine_log = log, engine = {} }).kv_cache)
    assert.is_nil(of({ engine_log = log }).kv_cache)
    assert.same({ 5000, 0, 1 }, { made.tokens, made.more_requests, #made.looks })
    made.bytes_per_token = 10 -- in use then, as bytes
    assert.equal(50000, sections.find("kv_cache").rows({ kv_cache = made })[1].bytes)
  end)

  it("keeps the fullest of many looks", function()
    local samples = {}
    for i = 1, 5000 do samples[i] = { utc_ns = i, kv_use = i == 777 and 0.9 or 0.1 } end
    local made = of { metrics = { repeats = {}, engine_metrics = { samples = samples } } }.kv_cache
    local most = 0
    for _, look in ipairs(made.looks) do most = math.max(most, look.use) end
    assert.same({ 512, 0.9 }, { #made.looks, most })
    assert.is_nil(made.more_requests)
  end)
end)
