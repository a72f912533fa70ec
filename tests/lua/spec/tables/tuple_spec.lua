local tuple = require("llmprof.tables.keys").tuple

describe("llmprof.tables.tuple", function()
  it("gives the same object for equal values, of any type", function()
    local key = tuple("decode", nil, 1)
    assert.equal(key, tuple("decode", nil, 1))
    assert.equal(key, tuple("decode", nil, 1.0))
    for _, other in ipairs { tuple("decode", "", 1), tuple("decode", nil, "1"),
      tuple("decode", nil), tuple("decode", nil, 1, nil), tuple("decode\0", 1), tuple() } do
      assert.not_equal(key, other)
    end
    assert.equal(tuple(), tuple())
    assert.not_equal(tuple(nil), tuple())
  end)

  it("keeps what is held, and forgets the rest", function()
    local held = setmetatable({ tuple("a", "b") }, {})
    local dropped = setmetatable({ tuple("c", {}) }, { __mode = "v" })
    collectgarbage()
    collectgarbage()
    assert.equal(held[1], tuple("a", "b"))
    assert.is_nil(dropped[1])
  end)
end)
