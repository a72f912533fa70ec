local rank_record = require "tests.lua.support.rank_record"

local engine, said, steps = rank_record.engine, rank_record.said, rank_record.steps

describe("advice steps_idle", function()
  it("wants every rank to wait", function()
    local function ranks(first, second)
      return engine { stages = { steps { ranks = {
        { rank = 0, count = 9, idle_ns = first, interval_ns = 3e6, idle_host_ns = first },
        { rank = 1, count = 9, idle_ns = second, interval_ns = 3e6, idle_host_ns = second } } } } }
    end
    assert.truthy(said("steps_idle", ranks(0.6e6, 0.5e6)):find(
      "500.00 µs idle before each decode step", 1, true))
    assert.equal("", said("steps_idle", ranks(0.6e6, 0.1e6)))
  end)

  it("names the thread that ran meanwhile", function()
    local record = engine { stages = { steps { ranks = { { rank = 0, count = 9, idle_ns = 0.6e6,
      interval_ns = 3e6, idle_host_ns = 0.6e6 } } } }, idle_threads = { { rank = 0,
      phase = "decode", tid = 2210, thread = "EngineCore", idle_ns = 54e6, calls_ns = 2e6,
      waiting_ns = 0, ranges_ns = 40e6, range = "schedule", pid = 1 } } }
    assert.truthy(said("steps_idle", record):find(
      "thread 2210 (EngineCore) was in ranges for 40.00 ms, mostly schedule", 1, true))
  end)

  it("tells by the steps whether graphs are on, of results that were made of parts", function()
    local function try(graphed)
      local record = engine { stages = { steps { graphed = graphed, ranks = { { rank = 0, count = 9,
        idle_ns = 0.6e6, interval_ns = 3e6, idle_host_ns = 0.6e6 } } } } }
      return said("steps_idle", record, { engine = { name = "vllm", title = "vLLM" },
        stages = { { name = "decode", instances = {}, kernels = 200, wall = { count = 90,
          mean_ns = 3e6 } } } })
    end
    assert.truthy(try(190):find("--async-scheduling", 1, true))
    assert.truthy(try(10):find("--enforce-eager", 1, true))
  end)

  it("is silent where no engine marks its steps", function()
    assert.equal("", said("steps_idle", engine { source = "ranges" }))
  end)
end)
