local rank_record = require "tests.lua.support.rank_record"

local engine, said, steps = rank_record.engine, rank_record.said, rank_record.steps

describe("advice prefill_stalls", function()
  local function of(ns)
    return said("prefill_stalls", engine { stages = { steps(), { phase = "mixed", count = 5,
      interval_ns = ns, ranks = {} } }, requests = { stall_ns = 3e5 } })
  end

  it("compares mixed steps with decode steps", function()
    assert.truthy(of(30e6):find "5 steps also prefill and take 30.00 ms each")
    assert.equal("", of(6e6))
  end)

  it("finds steps in a row that prefill the same few tokens", function()
    local function chunks(count, tokens, more)
      local rows = {}
      for i = 1, count do
        rows[i] = { rank = 0, phase = "mixed", tokens = 16 + (tokens or i), generation = 16 }
      end
      return said("prefill_stalls", engine { stages = {}, step_rows = rows }, more or {
        hardware = { format = "bf16", peaks = { bf16 = { per_s = 1000e12 } },
          memory = { per_s = 4e12 } } })
    end
    local text = chunks(16, 32)
    assert.truthy(text:find "steps prefill no more than 32 tokens each")
    assert.truthy(text:find "16 steps in a row prefill 32 tokens each")
    assert.truthy(text:find "up to about 250 tokens a step takes as long as reading the weights")
    assert.equal("", chunks(15, 32))
    assert.equal("", chunks(16, 48))
    assert.equal("", chunks(32, nil))
    assert.equal("", chunks(16, 32, {}))
  end)
end)
