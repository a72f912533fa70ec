local support = require "tests.lua.support.advice"


describe("advice throttling", function()
  local function said(...)
    return support.said("throttling", support.results { integrity = { verdict = "fair",
      checks = { ... } } })
  end

  it("finds clocks that were held down", function()
    assert.equal([[
the GPU's clocks were held down (no stage, confidence high)
- clocks were held down in 40 % of 50 samples (sw_power_cap) (NVML)
try: raise the power limit, cool the GPU, or lock its clocks; until then compare runs at the same clocks only
]], said { name = "clocks", level = "warning",
      text = "clocks were held down in 40 % of 50 samples (sw_power_cap)" })
  end)

  it("is silent about free clocks", function()
    assert.equal("", said { name = "clocks", level = "ok", text = "0 % of 50 samples" })
  end)

  it("abstains without samples", function()
    assert.equal("abstains: clocks were not sampled (a capture made elsewhere, or no NVML)",
      said { name = "launches", level = "ok", text = "all" })
  end)
end)
