local support = require "tests.lua.support.advice"


describe("advice many_registers", function()
  local function said(limiter, percent, counters)
    return support.said("many_registers", support.results { stages = { support.decode() },
      kernels = { support.kernel { id = 6, name = "fused", mean_ns = 40000,
        shapes = { { grid = { 1, 1, 1 }, block = { 128, 1, 1 }, registers = 255, calls = 100,
          total_ns = 4e6 } },
        launch = { occupancy_percent = percent, limiter = limiter }, counters = counters } } })
  end

  local waits = { bound = "latency", stalls = { { reason = "long_scoreboard",
    waits_for = "memory loads (L1 miss, L2, DRAM)", share = 0.61 } } }

  it("finds kernels that wait with room for few warps", function()
    assert.equal([[
registers limit the occupancy of kernels of decode (decode, confidence low)
- 4.00 ms in kernels that wait for latency, with room for 50 % of the warps or less (counters)
- kernel 6, fused: 100 calls, 4.00 ms, 255 registers a thread, 12 % of the warps fit, 61 % of the waiting is for memory loads (L1 miss, L2, DRAM) (timeline, counters)
try: smaller tiles, __launch_bounds__ or fewer warps a block (num_warps in Triton); where registers then spill, it is no gain
kernels: 6
]], said("registers", 12.4, waits))
  end)

  it("is silent about other limits and bounds, and abstains without counters", function()
    assert.equal("", said("shared memory", 12.5, waits))
    assert.equal("", said("registers", 75, waits))
    assert.equal("", said("registers", 12.5, { bound = "tensor" }))
    assert.matches("^abstains: no kernel was measured", said("registers", 12.5, nil))
  end)
end)
