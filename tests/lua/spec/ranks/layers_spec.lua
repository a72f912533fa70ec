local collectives = require "llmprof.ranks.collectives"

local layers_of, layer_at = collectives.layers_of, collectives.layer_at

describe("layers", function()
  local function of(text)
    local list = {}
    for word in text:gmatch "%S" do list[#list + 1] = word end
    return layers_of(list, {})
  end

  it("are the period of a step", function()
    assert.same({ period = 2, first = 0, count = 4 }, of "abababab")
    assert.same({ period = 1, first = 0, count = 6 }, of "aaaaaa")
    assert.same({ period = 3, first = 0, count = 3 }, of "abcabcabc")
  end)

  it("leave out what is before and behind them", function()
    assert.same({ period = 2, first = 1, count = 4 }, of "xababababz")
  end)

  it("begin with one that is not like the rest", function()
    assert.same({ period = 2, first = 0, count = 4 }, of "xbababab")
    assert.same({ period = 2, first = 1, count = 4 }, of "exbabababg")
  end)

  it("begin with one that is not like the rest but ends as they do", function()
    local what, gemm, table_lookup = { "x", "a", "a", "a", "a" }, 7, 8
    assert.same({ period = 1, first = 0, count = 5 },
      layers_of(what, { gemm, gemm, gemm, gemm, gemm }))
    assert.same({ period = 1, first = 1, count = 4 },
      layers_of(what, { table_lookup, gemm, gemm, gemm, gemm }))
    assert.same({ period = 1, first = 1, count = 4 }, layers_of(what, { false, false }))
    assert.same({ period = 2, first = 0, count = 4 },
      layers_of({ "x", "y", "a", "b", "a", "b", "a", "b" }, { 1, 2, 1, 2, 1, 2, 1, 2 }))
  end)

  it("are none where nothing repeats", function()
    assert.is_nil(of "abcdefgh")
    assert.is_nil(of "aa")
    assert.is_nil(of "")
  end)

  it("count from 0", function()
    local division = of "xababababz"
    assert.same({ [0] = false, false, 0, 0, 1 }, { [0] = layer_at(division, 0) or false,
      layer_at(division, 0) or false, layer_at(division, 1), layer_at(division, 2),
      layer_at(division, 3) })
    assert.is_nil(layer_at(division, 9))
    assert.is_nil(layer_at(nil, 1))
  end)
end)

describe("a rise", function()
  it("is where values go up for good", function()
    assert.equal(3, collectives.rise({ [0] = 1, 1, 1, 9, 9, 9 }, 5))
  end)

  it("is none where they are even, fall, or come and go", function()
    assert.is_nil(collectives.rise({ [0] = 5, 5, 5, 5 }, 3))
    assert.is_nil(collectives.rise({ [0] = 9, 9, 1, 1 }, 3))
    assert.is_nil(collectives.rise({ [0] = 9, 1, 9, 1, 9, 1 }, 5))
    assert.is_nil(collectives.rise({}, -1))
  end)
end)
