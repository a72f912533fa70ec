local first_times = require "llmprof.analysis.latency.overhead"

describe("the first time of a stage", function()
  local stage = { name = "decode", wall = { count = 1, mean_ns = 180e6 }, gpu_busy_ns = 24e6,
    gpu_idle_ns = 155e6, idle_share = 155 / 180, repeats = 1 }

  local function plain(ms)
    return { overhead = { runs = 1, stages = { { name = "decode", plain_ms = ms } } } }
  end

  it("has the idle time that is its own, not the profiled one's", function()
    assert.same({ 96e6, 0.8 }, { first_times.idle_of(plain(120), stage) })
    assert.same({ 0, 0 }, { first_times.idle_of(plain(20), stage) })
  end)

  it("has what the timeline says without plain runs", function()
    assert.same({ 155e6, 155 / 180 }, { first_times.idle_of({}, stage) })
  end)
end)
