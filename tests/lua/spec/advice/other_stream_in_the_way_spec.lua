local support = require "tests.lua.support.advice"


describe("advice other_stream_in_the_way", function()
  local function said(other)
    return support.said("other_stream_in_the_way", support.results {
      stages = { support.decode { other_stream = other } },
      kernels = { support.kernel { id = 7, name = "large", label = "gemm large" } } })
  end

  it("finds work of another stream that steps wait for", function()
    local text = said { ns = 18e6, calls = 16, kernel = "large" }
    assert.truthy(text:find "kernels of another stream hold the steps of decode up")
    assert.truthy(text:find "for 18.00 ms of 100.00 ms kernels of steps are launched and wait")
    assert.truthy(text:find "16 kernels a decode, mostly gemm large")
  end)

  it("is silent about little, and without", function()
    assert.equal("", said { ns = 4.9e6, calls = 16, kernel = "large" })
    assert.equal("", said(nil))
  end)
end)
