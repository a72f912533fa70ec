local ncu_cost = require "llmprof.run.capture.ncu_cost"

describe("llmprof.run.capture.ncu_cost", function()
  it("goes with the memory that is saved and restored", function()
    assert.near(0.038, ncu_cost.figures().pass_s, 1e-9)
    assert.near(0.023, ncu_cost.figures(0).pass_s, 1e-9)
    assert.near(0.028, ncu_cost.figures(1e9).pass_s, 1e-9)
    assert.near(0.038, ncu_cost.figures(16e9).pass_s, 1e-9)
  end)
end)
