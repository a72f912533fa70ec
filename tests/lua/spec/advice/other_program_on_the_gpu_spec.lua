local support = require "tests.lua.support.advice"


describe("advice other_program_on_the_gpu", function()
  local function said(excess)
    return support.said("other_program_on_the_gpu", support.results {
      stages = { support.decode { other_program = excess and { calls = 6, kinds = 3,
        p50_ns = 2e6, excess_ns = excess, from_ns = 1500000, usual_ns = 1e5,
        names = { "k", "other" } } } },
      kernels = { support.kernel { id = 7 } } })
  end

  it("finds its turns, and what they take", function()
    local text = said(12e6)
    assert.truthy(text:find "another program works on the GPU during decode")
    assert.truthy(text:find "12.00 ms of 100.00 ms are that")
    assert.truthy(text:find('{ "duration", ">=", 1500000 } }, 0.00826)', 1, true))
    assert.truthy(text:find "kernels: 7")
  end)

  it("is silent of little, and without", function()
    assert.equal("", said(4e6))
    assert.equal("", said(nil))
  end)
end)
