local support = require "tests.lua.support.advice"


describe("advice collectives_in_a_row", function()
  local function said(collectives, more)
    local stage = support.decode { collectives = collectives }
    for key, value in pairs(more or {}) do stage[key] = value end
    return support.said("collectives_in_a_row", support.results { stages = { stage },
      kernels = { support.kernel { id = 7, category = "communication", label = "all-reduce" } } })
  end

  it("finds short ones with nothing between them", function()
    local text = said { calls = 1600, in_row = 1500, p50_ns = 5000 }
    assert.truthy(text:find "decode divides what its ranks exchange into 16 collectives in a row")
    assert.truthy(text:find("change: fuse(kernels:where", 1, true))
    assert.falsy(text:find "scale")
  end)

  it("has graphs of fewer kernels launched in less time", function()
    local text = said({ calls = 1600, in_row = 1500, p50_ns = 5000 }, { kernels = 2000,
      launches = 10 })
    assert.truthy(text:find('change: scale(cpu "decode", 0.25)', 1, true))
  end)

  it("is silent of long ones, of few in a row, of little, and without", function()
    assert.equal("", said { calls = 1600, in_row = 1500, p50_ns = 25000 })
    assert.equal("", said { calls = 1600, in_row = 800, p50_ns = 5000 })
    assert.equal("", said { calls = 160, in_row = 150, p50_ns = 5000 })
    assert.equal("", said(nil))
  end)
end)
