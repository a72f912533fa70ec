local under_ncu = require "llmprof.run.capture.under_ncu"

describe("a pass of ncu", function()
  it("goes with the memory that is saved and restored", function()
    assert.near(0.038, under_ncu.pass_s(), 1e-9)
    assert.near(0.023, under_ncu.pass_s(0), 1e-9)
    assert.near(0.028, under_ncu.pass_s(1e9), 1e-9)
    assert.near(0.038, under_ncu.pass_s(16e9), 1e-9)
  end)
end)
