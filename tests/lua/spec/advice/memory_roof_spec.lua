local support = require "tests.lua.support.advice"


describe("advice memory_roof", function()
  local function said(mean_ns, counters)
    return support.said("memory_roof", support.results { stages = { support.decode() },
      kernels = { support.kernel { id = 8, name = "gemv", mean_ns = mean_ns,
        counters = counters } } })
  end

  it("finds kernels at the memory's speed", function()
    assert.equal([[
decode spends 50 % of its GPU time at the memory's speed (decode, confidence medium)
- 40.00 ms in kernels at 80 % or more of the DRAM bandwidth (counters)
- kernel 8, gemv: 100 calls, 40.00 ms, 91 % of the DRAM bandwidth (timeline, counters)
try: only fewer bytes or more work per byte help: weights (and KV cache) of 8 or 4 bits, a larger batch
change: scale(kernels:where { stage = "decode", label = "gemv" }, 0.5)
if their bytes are halved, as by 8-bit instead of 16-bit weights
kernels: 8
]], said(400000, { bound = "memory", dram_percent = 91.3 }))
  end)

  it("is silent below the roof, and about little time", function()
    assert.equal("", said(400000, { bound = "memory", dram_percent = 79.9 }))
    assert.equal("", said(79000, { bound = "memory", dram_percent = 91.3 }))
  end)

  it("abstains without counters", function()
    assert.equal("abstains: DRAM throughput was not measured (counters by ncu)",
      said(400000, nil))
  end)
end)
