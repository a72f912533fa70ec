local rank_record = require "tests.lua.support.rank_record"
local support = require "tests.lua.support.advice"

local engine, said = rank_record.engine, rank_record.said

describe("advice rank_late", function()
  local verdict = { kind = "waiting", rank = 1, phase = "decode", text = "waiting for rank 1",
    instead = "its GPU had nothing to do for 5 ms longer before it: the CPU launched later" }

  -- By how much rank 1 comes after the next to last, in two layers; what is elsewhere.
  local function places(late)
    return { { phase = "decode", layer = 0, rank = 1, late_ns = late / 2 },
      { phase = "decode", layer = 1, rank = 1, late_ns = late / 2 },
      { phase = "decode", layer = 1, rank = 0, late_ns = 5e6 },
      { phase = "prefill", layer = 1, rank = 1, late_ns = 7e6 } }
  end

  it("names the rank, what it did and what to look at, before anything else", function()
    local text = said("rank_late", engine { verdict = verdict, places = places(180e6) })
    assert.truthy(text:find "^the other ranks wait for rank 1 %(decode, confidence high%)")
    assert.truthy(text:find("the CPU launched later", 1, true))
    assert.truthy(text:find("NUMA", 1, true))
    assert.truthy(text:find("gain: 2000000 of 100000000 ns, gpu", 1, true))
    assert.truthy(text:find "blocking")
  end)

  it("names the one that waits where there are two", function()
    local record = engine { verdict = verdict, places = places(180e6) }
    record.ranks = { { rank = 0 }, { rank = 1 } }
    assert.equal("rank 0 waits for rank 1", said("rank_late", record):match "^(.-) %(decode")
  end)

  it("comes back at once, also where the GPU waits for the CPU", function()
    local text = said("rank_late", engine { verdict = verdict, places = places(180e6) },
      { stages = { support.slow_decode { steps = 1 } } })
    assert.truthy(text:find("gain: 2000000 of 100000000 ns, gpu, if", 1, true))
  end)

  it("counts the wait of each step in an instance of the stage", function()
    local record = engine { verdict = verdict, places = places(72e6), stages = {
      rank_record.steps { count = 72 } } }
    record.ranks[1].file, record.ranks[2] = "rank0.sqlite", { rank = 1, file = "rank1.sqlite" }
    local text = said("rank_late", record, { stages = { support.decode { steps = 24,
      instances = { {}, {}, {} } } } })
    assert.truthy(text:find("gain: 24000000 of 100000000 ns, gpu", 1, true))
  end)

  it("is silent about balanced ranks, and about one", function()
    assert.equal("", said("rank_late", engine { verdict = { kind = "balanced", text = "b" } }))
    assert.equal("", said("rank_late", engine()))
    assert.equal("abstains: no steps and no second rank were found\n",
      said("rank_late", nil) .. "\n")
  end)
end)
