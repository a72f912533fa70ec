local stage_summary = require "llmprof.analysis.stages.summary"

describe("llmprof.analysis.stages.summary", function()
  -- 100 ns, of which the GPU is idle for idle and waits for other ranks for waiting
  local function bound(idle, waiting, launch, exposed)
    local stage = { name = "decode", idle_share = idle / 100,
      bound = idle >= 50 and "host" or "gpu",
      waiting = { launch_ns = launch, host_ns = idle - launch } }
    stage_summary.refine_by_ranks(stage, { ranks = {}, stages = { { phase = "prefill", mean_ns = 10,
      waiting_ns = 10, exposed_ns = 10 }, { phase = "decode", mean_ns = 100,
      waiting_ns = waiting, exposed_ns = exposed or waiting } } })
    return stage.bound, stage.bound_reason
  end

  it("counts what collectives wait as time in which a GPU does not work", function()
    assert.same({ "ranks", "the GPU waits for other ranks 40 % of the time, is idle 10 % of it" },
      { bound(10, 40, 0) })
    assert.same({ "host", "the GPU waits for other ranks 20 % of the time, is idle 30 % of it, "
      .. "20 % of it while a call launches" }, { bound(30, 20, 6) })
    assert.equal("launch", (bound(30, 20, 24)))
  end)

  it("leaves a stage to the GPU that works for more than half of the time", function()
    assert.equal("gpu", (bound(10, 39, 0)))
    assert.equal("gpu", (bound(10, 80, 0, 39)))
  end)

  it("is bound by communication where collectives fill half of the time, or one rank is alone",
    function()
      assert.same({ "communication", "the GPU is in collectives 80 % of the time, and computes "
        .. "nothing meanwhile, 20 % waiting for other ranks" }, { bound(10, 20, 0, 80) })
      local reason = select(2, bound(10, nil, 0, 80))
      assert.truthy(reason:find("how much of that is waiting cannot be told", 1, true))
    end)

  it("asks the first of several files alone, which the timeline is of", function()
    local function of_first(waiting)
      local stage = { name = "decode", idle_share = 0.1, bound = "gpu" }
      stage_summary.refine_by_ranks(stage, { files = { {}, {} }, ranks = { { rank = 3 } },
        stages = { { phase = "decode", mean_ns = 100, waiting_ns = 50, exposed_ns = 50, ranks = {
          { rank = 1, mean_ns = 100, waiting_ns = 90, exposed_ns = 90 },
          { rank = 3, mean_ns = 100, waiting_ns = waiting, exposed_ns = waiting } } } } })
      return stage.bound
    end
    assert.equal("ranks", of_first(40))
    assert.equal("gpu", of_first(10))
  end)

  it("changes no stage of one rank", function()
    local stage = { name = "decode", idle_share = 0.1, bound = "gpu" }
    stage_summary.refine_by_ranks(stage, nil)
    stage_summary.refine_by_ranks(stage, { ranks = {} })
    assert.equal("gpu", stage.bound)
  end)

  it("counts what was accepted of speculated tokens, or nothing", function()
    local function counts(metrics, ...)
      local made = stage_summary.counts({ found = { by_engine = {} }, metrics = metrics }, "decode",
        { ... })
      return { made.tokens, made.per_step, made.is_speculated }
    end
    local known = { engine_metrics = { samples = {
      { utc_ns = 1, accepted = 0, verifications = 0, drafted = 0 },
      { utc_ns = 2, accepted = 15, verifications = 10, drafted = 30 } } } }
    local plain = { stage = "decode", requests = 4, scheduled = 4 }
    local verifies = { stage = "decode", requests = 4, scheduled = 16 }
    local unsaid = { stage = "decode", requests = 4 }
    assert.same({ 4, 1 }, counts(nil, plain))
    assert.same({ nil, nil, true }, counts(nil, plain, verifies))
    assert.same({ 10, 2.5 }, counts(known, verifies))
    assert.same({ 7, 1.75 }, counts(known, plain, verifies))
    assert.same({ 10, 2.5 }, counts(known, unsaid))
    assert.same({ 4, 1 }, counts(nil, unsaid))
    assert.same({ 0 }, counts(nil, { stage = "draft", requests = 4 }))
  end)
end)
