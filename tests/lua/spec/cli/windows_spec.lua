local windows = require "llmprof.cli.windows"

-- { { 1, 2 }, ... } as windows.
local function of(bounds)
  local list = {}
  for i, pair in ipairs(bounds) do list[i] = { first = pair[1], last = pair[2] } end
  return list
end


describe("llmprof.cli.windows", function()
  it("merges what overlaps or touches", function()
    assert.same(of { { 1, 6 }, { 8, 9 } },
      windows.merge(of { { 8, 9 }, { 3, 4 }, { 1, 5 }, { 5, 6 } }))
    assert.same({}, windows.merge {})
  end)

  it("leaves its arguments alone", function()
    local given = of { { 1, 3 }, { 2, 5 } }
    windows.merge(given)
    assert.same(of { { 1, 3 }, { 2, 5 } }, given)
  end)

  it("clips", function()
    local given = of { { 1, 4 }, { 6, 9 } }
    assert.same(of { { 2, 4 }, { 6, 7 } }, windows.clip(given, 2, 7))
    assert.same({}, windows.clip(given, 4, 6))
    assert.same(given, windows.clip(given, math.mininteger, math.maxinteger))
  end)
end)
