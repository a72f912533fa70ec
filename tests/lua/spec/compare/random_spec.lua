local random = require "tests.lua.support.random"

describe("tests.lua.support.random", function()
  it("gives the bits of SplitMix64", function()
    local draw = random.new(0)
    assert.equal("e220a8397b1dcdaf 6e789e6aa1b965f4 06c45d188009454f",
      ("%016x %016x %016x"):format(draw(), draw(), draw()))
  end)

  it("draws whole numbers from 1 to n", function()
    local draw, seen = random.new(7), {}
    for _ = 1, 300 do
      local n = draw(3)
      seen[n] = (seen[n] or 0) + 1
    end
    assert.same({ 99, 107, 94 }, seen)
  end)

  it("keeps a state for each generator", function()
    local one, other = random.new(5), random.new(5)
    one()
    assert.equal(one(), (function() other() return other() end)())
  end)
end)
