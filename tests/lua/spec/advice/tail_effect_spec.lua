local support = require "tests.lua.support.advice"


describe("advice tail_effect", function()
  local function said(launch, mean_ns)
    return support.said("tail_effect", support.results { stages = { support.decode() },
      kernels = { support.kernel { id = 6, name = "gemm", mean_ns = mean_ns or 40000,
        launch = launch } } })
  end

  local short_tail = { occupancy_percent = 50, waves = 1.1, tail_share = 0.45 }

  it("finds kernels whose last wave is nearly empty", function()
    assert.equal([[
the last wave of blocks in kernels of decode is nearly empty (decode, confidence low)
- 4.00 ms in kernels whose grid is a little more than whole waves (timeline)
- kernel 6, gemm: 100 calls, 4.00 ms, 1.1 waves, 45 % of all places for blocks stay empty (timeline)
try: a grid that fills its waves: other tiles, fewer registers so that more blocks fit, or a persistent kernel that hands out tiles (stream-K)
change: scale(kernels:where { stage = "decode", label = "gemm" }, 0.55)
if blocks take equally long and fill the empty places
kernels: 6
]], said(short_tail))
  end)

  it("is silent about fuller waves and short kernels, and abstains without waves", function()
    assert.equal("", said { occupancy_percent = 50, waves = 3.5, tail_share = 0.125 })
    assert.equal("", said({ occupancy_percent = 50, waves = 0.5 }))
    assert.equal("", said(short_tail, 4000))
    assert.matches("^abstains: waves are not known", said(nil))
  end)
end)
