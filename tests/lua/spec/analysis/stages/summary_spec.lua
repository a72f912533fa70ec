local stage_summary = require "llmprof.analysis.stages.summary"

describe("llmprof.analysis.stages.summary", function()
  -- 100 ns, of which the GPU is idle for idle and waits for other ranks for waiting
  local function bound(idle, waiting, launch, exposed)
    local stage = { name = "decode", waiting = { launch_ns = launch, host_ns = idle - launch } }
    stage_summary.find_bound(stage, idle / 100, idle / 100)
    stage_summary.refine_by_ranks(stage, { ranks = {}, stages = { { phase = "prefill", mean_ns = 10,
      waiting_ns = 10, exposed_ns = 10 }, { phase = "decode", mean_ns = 100,
      waiting_ns = waiting, exposed_ns = exposed or waiting } } }, idle / 100)
    return stage.bound, stage.bound_reason
  end

  it("is bound by what takes half of the time, or by both", function()
    assert.equal("launch", (bound(50, 0, 25)))
    assert.equal("CPU", (bound(50, 0, 24)))
    assert.same({ "both", "the GPU is idle 49 % of the time" }, { bound(49, 0, 0) })
    assert.same({ "GPU", "the GPU is busy 71 % of the time" }, { bound(29, 0, 0) })
  end)

  it("counts what collectives wait as time in which a GPU does not work", function()
    assert.same({ "ranks", "the GPU waits for other ranks 40 % of the time, for the CPU 10 % of "
      .. "it" },
      { bound(10, 40, 0) })
    assert.same({ "CPU", "the GPU waits for other ranks 20 % of the time, for the CPU 30 % of "
      .. "it, 20 % of it while a call launches" }, { bound(30, 20, 6) })
    assert.equal("launch", (bound(30, 20, 24)))
  end)

  it("leaves a stage to the GPU that works for more than half of the time", function()
    assert.equal("GPU", (bound(10, 39, 0)))
    assert.equal("GPU", (bound(10, 80, 0, 39)))
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
      local stage = { name = "decode", bound = "GPU" }
      stage_summary.refine_by_ranks(stage, { files = { {}, {} }, ranks = { { rank = 3 } },
        stages = { { phase = "decode", mean_ns = 100, waiting_ns = 50, exposed_ns = 50, ranks = {
          { rank = 1, mean_ns = 100, waiting_ns = 90, exposed_ns = 90 },
          { rank = 3, mean_ns = 100, waiting_ns = waiting, exposed_ns = waiting } } } } }, 0.1)
      return stage.bound
    end
    assert.equal("ranks", of_first(40))
    assert.equal("GPU", of_first(10))
  end)

  it("changes no stage of one rank", function()
    local stage = { name = "decode", bound = "GPU" }
    stage_summary.refine_by_ranks(stage, nil, 0.1)
    stage_summary.refine_by_ranks(stage, { ranks = {} }, 0.1)
    assert.equal("GPU", stage.bound)
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
