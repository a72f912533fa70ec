local advice = require "llmprof.advice"
local rank_record = require "tests.lua.support.rank_record"
local support = require "tests.lua.support.advice"

local engine, said = rank_record.engine, rank_record.said

describe("advice collective_bound", function()
  it("tells transfers from waiting", function()
    local totals = { collective_ns = 9e6, hidden_ns = 1e6 }
    assert.truthy(said("collective_bound", engine { totals = totals,
      verdict = { kind = "transfer", text = "transfer-bound" } }):find "1.00 ms of 9.00 ms are")
    assert.equal("", said("collective_bound", engine { totals = totals,
      verdict = { kind = "waiting", rank = 1, text = "w" } }))
  end)

  it("puts before all other moves that one rank alone does not tell what it waits for", function()
    local function first(ms)
      local stage = support.decode { steps = 1,
        categories = { { category = "communication", gpu_time_ns = ms * 1e6, calls = 9 } } }
      local results = support.results { stages = { stage }, ranks = engine { verdict =
        { kind = "unknown", text = "one rank alone was captured" } } }
      return advice.examine(results).findings[1], stage.wall.mean_ns / 1e6
    end
    local _, time = first(0)
    local found = first(0.6 * time)
    assert.same({ "collective_bound", true, "60 % of the time is in collectives, and what they "
      .. "wait for is not in the capture" }, { found.rule, found.blocking, found.title })
    assert.not_equal("collective_bound", (first(0.4 * time) or {}).rule)
  end)

  it("holds them against the time of all ranks in an inferred stage", function()
    local stage = support.decode { steps = 1,
      categories = { { category = "communication", gpu_time_ns = 0, calls = 9 } } }
    stage.categories[1].gpu_time_ns = 1.2 * stage.wall.mean_ns
    local record = engine { verdict = { kind = "unknown", text = "of two" } }
    record.ranks = { { rank = 0, file = "a" }, { rank = 1, file = "a" } }
    local results = support.results { stages = { stage }, ranks = record,
      inferred = { confidence = 1 } }
    assert.matches("^60 %% of the time", advice.examine(results).findings[1].title)
  end)
end)
