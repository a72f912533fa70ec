local rank_record = require "tests.lua.support.rank_record"

local engine, said, steps = rank_record.engine, rank_record.said, rank_record.steps

describe("advice prefill_stalls", function()
  local function of(ns)
    return said("prefill_stalls", engine { stages = { steps(), { phase = "mixed", count = 5,
      interval_ns = ns, ranks = {} } }, requests = { stall_ns = 3e5 } })
  end

  it("compares mixed steps with decode steps", function()
    assert.truthy(of(30e6):find "5 steps that prefill, too, take 30.00 ms each")
    assert.equal("", of(6e6))
  end)
end)
