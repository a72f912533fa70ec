local support = require "tests.lua.support.advice"


describe("advice capture_trust", function()
  local function said(verdict, checks, inflation, certain, tool)
    return support.said("capture_trust", support.results {
      source = tool and { timeline = { tool = tool } },
      integrity = { verdict = verdict, checks = checks },
      overhead = inflation and { runs = 2, stages = { { name = "decode", plain_ms = 100,
        profiled_ms = 100 * (1 + inflation), inflation = inflation, certain = certain } } },
    })
  end

  local lost = { name = "launches", level = "problem", text = "10 launches, 4 without a kernel",
    fix = "capture a shorter range" }

  it("comes before all others when records were lost", function()
    assert.equal([[
the capture cannot be taken at face value (no stage, confidence high)
- 10 launches, 4 without a kernel (integrity check launches)
try: capture a shorter range
blocking
]], said("poor", { lost, { name = "ranges", level = "ok", text = "fine" } }))
  end)

  it("finds stages that the profiler slowed down", function()
    assert.equal([[
some figures of the capture need a second look (no stage, confidence medium)
- decode is 45 % slower under the profiler (plain runs)
try: take times from the plain runs, as reports do; what the CPU did and how long the GPU was idle are the profiled run's: trace less (nsys=light) to see them as they are
]], said("good", {}, 0.45))
  end)

  it("says how to trace less with what recorded it", function()
    assert.matches("trace less (collector.sources=off) to see", said("good", {}, 0.45, nil,
      "llmprof's collector 0.1.0"), 1, true)
    assert.matches("trace less to see", said("good", {}, 0.45, nil, "torch.profiler"), 1, true)
  end)

  it("is silent about a good capture, and leaves clocks to another rule", function()
    assert.equal("", said("good", { { name = "ranges", level = "ok", text = "fine" } }, 0.19))
    assert.equal("", said("good", {}, 0.45, false))
    assert.equal("", said("fair", { { name = "clocks", level = "warning", text = "hot" } }))
  end)
end)
