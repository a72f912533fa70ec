local rank_record = require "tests.lua.support.rank_record"

local engine, said = rank_record.engine, rank_record.said

describe("advice rank_late", function()
  local verdict = { kind = "waiting", rank = 1, phase = "decode", text = "waiting for rank 1",
    instead = "its GPU had nothing to do for 5 ms longer before it: the CPU launched later" }

  it("names the rank, what it did and what to look at, before anything else", function()
    local text = said("rank_late", engine { verdict = verdict })
    assert.truthy(text:find("^all ranks wait for rank 1 %(decode, confidence high%)"))
    assert.truthy(text:find("the CPU launched later", 1, true))
    assert.truthy(text:find("NUMA", 1, true))
    assert.truthy(text:find("gain: 2000000 of 100000000 ns, gpu", 1, true))
    assert.truthy(text:find "blocking")
  end)

  it("is silent about balanced ranks, and about one", function()
    assert.equal("", said("rank_late", engine { verdict = { kind = "balanced", text = "b" } }))
    assert.equal("", said("rank_late", engine()))
    assert.equal("abstains: no steps and no second rank were found\n",
      said("rank_late", nil) .. "\n")
  end)
end)
