local rank_record = require "tests.lua.support.rank_record"

local engine, said = rank_record.engine, rank_record.said

describe("advice pipeline_bubbles", function()
  local function pipeline(busy, share)
    return engine { ranks = { { rank = 0 }, { rank = 1 } }, pipeline = { text = "pipeline: idle",
      told_by = "names", active_ns = 10e6, stages = {
        { stage = 0, ranks = { 0 }, busy_ns = busy, bubble_ns = share * 10e6, in_p2p_ns = 0,
          share = share },
        { stage = 1, ranks = { 1 }, busy_ns = 6e6, bubble_ns = 0, in_p2p_ns = 0, share = 0 } } } }
  end

  it("tells a slow stage from too few batches", function()
    assert.truthy(said("pipeline_bubbles", pipeline(3e6, 0.6)):find "fewer layers for stage 1")
    assert.truthy(said("pipeline_bubbles", pipeline(6e6, 0.4)):find "more batches under way")
  end)

  it("is silent of small ones, and where there is no pipeline", function()
    assert.equal("", said("pipeline_bubbles", pipeline(6e6, 0.05)))
    assert.equal("", said("pipeline_bubbles", engine { ranks = { { rank = 0 }, { rank = 1 } } }))
  end)
end)
