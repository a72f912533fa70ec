local served = require "llmprof.analysis.serving.load"
local support = require "tests.lua.support.load_client"


describe("llmprof.analysis.serving.load", function()
  it("says nothing of rounds", function()
    assert.is_nil(served.load { repeats = {} })
    assert.is_nil(served.load(nil))
    assert.is_nil(served.engine { repeats = {} })
  end)

  it("counts requests, tokens and good ones a second", function()
    local made = served.load(support.metrics(10, { count = 50, met = 40, failed = 2 }))
    assert.same({ 10, 10, 100, 1000 }, { made.completed_per_s, made.held_per_s,
      made.tokens_per_s, made.prompt_tokens_per_s })
    assert.same({ ttft_ns = 30e6, tpot_ns = 6e6, met = 40, share = 40 / 52, per_s = 8 }, made.slo)
    assert.same({ { text = "too busy", count = 2 } }, table.move(made.errors, 1, 1, 1, {}))
    assert.equal(50, made.ttft.count)
    assert.near(50 / (5.2 + 0.065), made.unqueued_per_s, 0.01)
    assert.equal(5e6, made.tpot.mean_ns)
  end)

  it("leaves out what is not known: null, no duration, no limits", function()
    local metrics = support.metrics(10)
    metrics.load.duration_s, metrics.load.slo = nil, nil
    metrics.repeats[1].requests[3].prompt_tokens = nil
    local made = served.load(metrics)
    assert.is_nil(made.completed_per_s)
    assert.is_nil(made.tokens_per_s)
    assert.is_nil(made.slo)
  end)

  it("knows no numbers of a generator whose result nobody could read", function()
    local made = served.load { repeats = { { index = 1, requests = {}, stages = {} } },
      load = { kind = "command", errors = {}, duration_s = 2, unread = "it wrote rubbish" } }
    assert.same({ kind = "command", duration_ns = 2e9, unread = "it wrote rubbish" }, made)
  end)

  it("takes levels over all looks, and counters from the first to the last", function()
    local made = served.engine(support.metrics(10, { page = support.page }))
    assert.same({ mean = 5, min = 2, max = 8 }, made.running)
    assert.equal(3, made.preemptions)
    assert.equal(0.5, made.prefix_hit_share)
    assert.equal(0.5, made.acceptance)
    assert.same({ 3, 1, "/metrics does not end" }, { made.looks, made.failed, made.complaint })
  end)

  it("tells the tokens of a verification from counters, else from what was last", function()
    local function read(...)
      local made = served.engine { engine_metrics = { path = "/m", samples = { ... } } }
      return made.acceptance, made.tokens_per_verification
    end
    assert.same({ 0.4, 2.2 }, { read({ utc_ns = 1, drafted = 5, accepted = 2, verifications = 1 },
      { utc_ns = 2, drafted = 35, accepted = 14, verifications = 11 }) })
    assert.same({ 0.5, 2 }, { read({ utc_ns = 1, acceptance = 0, accept_length = 0 },
      { utc_ns = 2, acceptance = 0.25, accept_length = 1.5 },
      { utc_ns = 3, acceptance = 0.75, accept_length = 2.5 }) })
    assert.same({}, { read({ utc_ns = 1, acceptance = 0, accept_length = 0 }) })
  end)

  it("has no growth of a counter that began again, and no figure that is not there", function()
    local page = { path = "/m", samples = { { utc_ns = 1, preemptions = 9 },
      { utc_ns = 2, preemptions = 1, prefix_hit_share = 0.25 } } }
    local made = served.engine { engine_metrics = page }
    assert.is_nil(made.preemptions)
    assert.is_nil(made.running)
    assert.equal(0.25, made.prefix_hit_share)
    assert.same({ looks = 0 }, served.engine { engine_metrics = { path = "/m", samples = {} } })
  end)
end)
