local rank_record = require "tests.lua.support.rank_record"

local engine, said = rank_record.engine, rank_record.said

describe("advice expert_imbalance", function()
  it("names the busiest rank", function()
    local ranks = { { rank = 0, expert_ns = 1e6 }, { rank = 1, expert_ns = 3e6 } }
    assert.truthy(said("expert_imbalance", engine { ranks = ranks, expert_imbalance = 1.5 }):find(
      "^rank 1 has more work"))
    assert.equal("", said("expert_imbalance", engine { ranks = ranks, expert_imbalance = 1.1 }))
  end)
end)
