local statistics = require "llmprof.statistics"

describe("bisection", function()
  it("finds the first of a list above a limit", function()
    local list = { 1, 3, 3, 7 }
    for limit, place in pairs { [0] = 1, [1] = 2, [2] = 2, [3] = 4, [6] = 4, [7] = 5, [9] = 5 } do
      assert.equal(place, statistics.first_above(list, limit))
    end
    assert.equal(1, statistics.first_above({}, 5))
  end)

  it("asks as often as the list can be halved", function()
    local asked = 0
    assert.equal(700, statistics.first_place(1000, function(place)
      asked = asked + 1
      return place >= 700
    end))
    assert.is_true(asked <= 10)
    assert.equal(1, statistics.first_place(0, error))
  end)
end)
