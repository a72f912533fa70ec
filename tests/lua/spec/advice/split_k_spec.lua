local support = require "tests.lua.support.advice"


describe("advice split_k", function()
  local function said(waves, counters, mean_ns)
    return support.said("split_k", support.results { stages = { support.decode() },
      kernels = { support.kernel { id = 6, name = "nvjet_tst_64x8", category = "gemm",
        mean_ns = mean_ns or 40000, launch = { occupancy_percent = 25, waves = waves },
        counters = counters } } })
  end

  it("finds products of few blocks that keep nothing busy", function()
    assert.equal([[
matmuls of decode have too few blocks for the GPU (decode, confidence low)
- 4.00 ms in matmuls of less than half a wave, with no unit at 60 % (counters)
- kernel 6, nvjet_tst_64x8: 100 calls, 4.00 ms, 0.20 waves, its busiest unit at 25 % (timeline, counters)
try: split-K or stream-K (cuBLASLt's heuristics with a larger workspace, Triton's SPLIT_K), smaller tiles, or a larger batch
change: scale(kernels:where { stage = "decode", label = "nvjet_tst_64x8" }, 0.25)
if blocks on all SMs do the same work, and a launch takes 5 µs at least
kernels: 6
]], said(0.2, { dram_percent = 25 }))
  end)

  it("is silent about full grids, busy units and short kernels", function()
    assert.equal("", said(0.5, { dram_percent = 25 }))
    assert.equal("", said(0.2, { dram_percent = 60 }))
    assert.equal("", said(0.2, { dram_percent = 25 }, 4999))
    assert.matches("^abstains: no matmul was measured", said(0.2, nil))
  end)
end)
