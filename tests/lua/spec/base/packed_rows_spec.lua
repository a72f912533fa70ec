local packed_rows = require "llmprof.base.packed_rows"

describe("llmprof.base.packed_rows", function()
  local keys = { "a", "b" }

  local function round_trip(rows)
    return packed_rows.unpack(packed_rows.pack(rows, keys), keys)
  end

  it("gives rows back as they were", function()
    local rows = { { a = 1, b = 0.1 }, { a = "x\0y", b = "" }, { a = true, b = false }, {},
      { a = math.mininteger, b = -0.0 }, { b = 1 / 0 } }
    local same = round_trip(rows)
    assert.same(rows, same)
    assert.equal("integer", math.type(same[1].a))
    assert.equal("float", math.type(same[5].b))
    assert.equal(-1 / 0, 1 / same[5].b)
    assert.same({}, round_trip {})
  end)

  it("keeps the fields that are named", function()
    assert.same({ { a = 1 } }, round_trip { { a = 1, c = 2 } })
  end)

  it("takes nothing that it did not write", function()
    local packed = packed_rows.pack({ { a = 1, b = "text" } }, keys)
    for size = 0, #packed - 1 do assert.is_nil(packed_rows.unpack(packed:sub(1, size), keys)) end
    assert.is_nil(packed_rows.unpack(packed .. "n", keys))
    assert.is_nil(packed_rows.unpack(packed, { "a" }))
    assert.is_nil(packed_rows.unpack(packed:gsub("i", "?"), keys))
    assert.is_nil(packed_rows.unpack("\255\255\255\255", keys))
  end)
end)
