local support = require "tests.lua.support.advice"


describe("advice exposed_collectives", function()
  local function said(own, calls)
    return support.said("exposed_collectives", support.results {
      hardware = { sm_count = 100 },
      stages = { support.decode { collectives = { calls = calls or 200, in_row = 0, p50_ns = 1e5,
        own = own } } },
      kernels = { support.kernel { id = 7, category = "communication", label = "all-reduce",
        mean_ns = 2e5 } } })
  end

  it("finds those that could run beside kernels, and leaves the SMs that they take", function()
    local text = said { calls = 100, ns = 10e6, alone_ns = 10e6, blocks = 20 }
    assert.truthy(text:find "decode computes nothing during its collectives")
    assert.truthy(text:find('label = { "all-reduce" } }, 0.6)', 1, true)
      or text:find('label = "all-reduce" }, 0.6)', 1, true)) -- 20 ms less 0.8 of 10 ms
  end)

  it("is silent where they are hidden, of little, and without a stream of their own", function()
    -- all have one
    assert.equal("", said({ calls = 100, ns = 10e6, alone_ns = 10e6, blocks = 20 }, 100))
    assert.equal("", said { calls = 100, ns = 10e6, alone_ns = 7e6, blocks = 20 })
    assert.equal("", said { calls = 100, ns = 4e6, alone_ns = 4e6, blocks = 20 })
    assert.equal("", said(nil))
  end)
end)
