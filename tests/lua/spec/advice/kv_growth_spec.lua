local support = require "tests.lua.support.advice"


describe("advice kv_growth", function()
  local function said(slope, given, trend)
    return support.said("kv_growth", support.results { stages = { support.decode(given) },
      latency = { tpot = { count = 10, mean_ns = 10e6, source = "ranges",
        slope_ns_per_token = slope, slope_error_ns = 2000, trend = trend } } })
  end

  it("finds steps that get longer", function()
    assert.equal([[
decode slows down as the context grows (decode, confidence low)
- each step takes 100.00 µs ± 2.00 µs longer than the one before, 1.00 ms over 10 steps of 10.00 ms (timeline)
- a step would take 110.50 ms after 1,000 more tokens (extrapolated)
try: a KV cache of 8 bits, grouped-query or latent attention, paged attention with split-K; a cache that is concatenated at each step copies itself: preallocate it
]], said(100000))
  end)

  it("is silent about a flat line, a falling one, and too few steps", function()
    assert.equal("", said(49000))
    assert.equal("", said(-100000))
    assert.equal("", said(100000, { steps = 7 }))
    assert.equal("", said(100000, nil, "none"))
  end)

  it("says why it is silent: a slope that is chance is no growth below a limit", function()
    local function why(slope, trend)
      return support.reasons("kv_growth", support.results { stages = { support.decode() },
        latency = { tpot = { count = 10, mean_ns = 10e6, source = "ranges",
          slope_ns_per_token = slope, trend = trend } } })[1]
    end
    assert.equal("no trend over the steps: their slope may be chance",
      why(100000, "none"))
    assert.equal("steps do not get longer", why(-100000, "shorter"))
    assert.equal("steps get 490.00 µs longer over the decode, less than 5.0 % of one",
      why(49000, "longer"))
  end)

  it("says of an engine that its steps follow the batch", function()
    local results = support.results { stages = { support.decode() }, engine = { name = "vllm" },
      latency = { tpot = { count = 10, mean_ns = 10e6, source = "ranges",
        slope_ns_per_token = 100000 } } }
    assert.equal("", support.said("kv_growth", results))
  end)

  it("abstains without timed steps", function()
    assert.equal(
      "abstains: single steps were not timed (step of a stage in the recipe, or steps_ms)",
      said(nil))
  end)
end)
