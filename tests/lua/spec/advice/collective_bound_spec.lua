local rank_record = require "tests.lua.support.rank_record"

local engine, said = rank_record.engine, rank_record.said

describe("advice collective_bound", function()
  it("tells transfers from waiting", function()
    local totals = { collective_ns = 9e6, hidden_ns = 1e6 }
    assert.truthy(said("collective_bound", engine { totals = totals,
      verdict = { kind = "transfer", text = "transfer-bound" } }):find "1.00 ms of 9.00 ms are")
    assert.equal("", said("collective_bound", engine { totals = totals,
      verdict = { kind = "waiting", rank = 1, text = "w" } }))
  end)
end)
