local command = require "llmprof.cli.commands.export"

-- { { 1, 2 }, ... } as windows.
local function of(bounds)
  local list = {}
  for i, pair in ipairs(bounds) do list[i] = { first = pair[1], last = pair[2] } end
  return list
end


describe("llmprof.cli.commands.export", function()
  it("merges what overlaps or touches", function()
    assert.same(of { { 1, 6 }, { 8, 9 } },
      command.merge_windows(of { { 8, 9 }, { 3, 4 }, { 1, 5 }, { 5, 6 } }))
    assert.same({}, command.merge_windows {})
  end)

  it("leaves its arguments alone", function()
    local given = of { { 1, 3 }, { 2, 5 } }
    command.merge_windows(given)
    assert.same(of { { 1, 3 }, { 2, 5 } }, given)
  end)

  it("clips", function()
    local given = of { { 1, 4 }, { 6, 9 } }
    assert.same(of { { 2, 4 }, { 6, 7 } }, command.clip_windows(given, 2, 7))
    assert.same({}, command.clip_windows(given, 4, 6))
    assert.same(given, command.clip_windows(given, math.mininteger, math.maxinteger))
  end)
end)
