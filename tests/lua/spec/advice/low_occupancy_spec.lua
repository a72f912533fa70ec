local support = require "tests.lua.support.advice"


describe("advice low_occupancy", function()
  local function said(mean_ns, counters)
    return support.said("low_occupancy", support.results { stages = { support.decode() },
      kernels = { support.kernel { id = 6, name = "decode_attention", mean_ns = mean_ns,
        counters = counters } } })
  end

  local few_warps = { bound = "latency", occupancy_percent = 6.2, sm_percent = 10,
    memory_percent = 25, occupancy_limiter = "the grid's size" }

  it("finds kernels that wait for latency, and their limiter", function()
    assert.equal([[
kernels of decode leave most of each SM empty (decode, confidence low)
- 4.00 ms in kernels with less than 25 % of the warps, neither compute nor memory busy (counters)
- kernel 6, decode_attention: 100 calls, 4.00 ms, 6 % of the warps, limited by the grid's size (timeline, counters)
try: for a small grid, more parallel work: split-K, flash decoding, a larger batch. For registers or shared memory, smaller tiles, or another kernel of the library
change: scale(kernels:where { stage = "decode", label = "decode_attention" }, 0.3)
if they reach the peak of the unit that they use most, apart from the 2 µs that a launch takes to fill and drain the GPU
kernels: 6
]], said(40000, few_warps))
  end)

  it("promises no launch shorter than one that fills and drains the GPU", function()
    local function factor(mean_ns)
      return support.examined("low_occupancy", support.results { stages = {
        support.decode { gpu_time_ns = 1e6 } }, kernels = { support.kernel { mean_ns = mean_ns,
          counters = few_warps } } }).findings[1].changes[1]:match ", ([%d.]+)%)$"
    end
    assert.equal("1", factor(2000))
    assert.equal("0.65", factor(5000))
  end)

  it("is silent about busy ones and about few", function()
    assert.equal("", said(4999, few_warps))
    assert.equal("", said(40000, { bound = "tensor", occupancy_percent = 6.2 }))
    assert.equal("", said(40000, { bound = "latency", occupancy_percent = 25 }))
  end)

  it("looks at kernels of few blocks where nothing was measured", function()
    local function of(blocks, mean_ns, category)
      return support.said("low_occupancy", support.results { stages = { support.decode() },
        hardware = { sm_count = 132 }, kernels = { support.kernel { id = 6, name = "row_norms",
          category = category, mean_ns = mean_ns,
          shapes = { { grid = { blocks, 1, 1 }, calls = 100 } } } } })
    end
    assert.equal([[
kernels of decode run on few SMs (decode, confidence low)
- 4.00 ms in kernels with fewer blocks than a quarter of the GPU's 132 SMs (timeline)
- kernel 6, row_norms: 100 calls, 4.00 ms, 8 blocks (timeline)
try: more blocks: split what one block loops over, flash decoding, split-K, a larger batch
change: scale(kernels:where { stage = "decode", label = "row_norms" }, 0.1106)
if their work is divided among all SMs, and no unit is at its peak
kernels: 6
]], of(8, 40000))
    assert.equal("", of(33, 40000))
    assert.equal("", of(8, 19999))
    assert.equal("", of(8, 40000, "communication"))
  end)

  it("abstains without counters on a GPU that is not known", function()
    assert.equal("abstains: neither occupancy (counters by ncu, section Occupancy) nor the GPU is "
      .. "known", said(40000, nil))
  end)
end)
