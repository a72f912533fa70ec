local support = require "tests.lua.support.advice"


describe("advice bank_conflicts", function()
  local function said(counters)
    return support.said("bank_conflicts", support.results { stages = { support.decode() },
      kernels = { support.kernel { id = 6, name = "transpose", mean_ns = 40000,
        counters = counters } } })
  end

  it("finds conflicts where shared memory decides", function()
    assert.equal([[
kernels of decode have bank conflicts in shared memory (decode, confidence medium)
- 4.00 ms in kernels where 25 % of the wavefronts or more come from bank conflicts (counters)
- kernel 6, transpose: 100 calls, 4.00 ms, 75 % of the wavefronts, bound by L1 (timeline, counters)
try: rows of shared memory padded by one element, or a swizzled layout
change: scale(kernels:where { stage = "decode", label = "transpose" }, 0.25)
if their time falls with the wavefronts
kernels: 6
]], said { bound = "L1", bank_conflict_percent = 75 })
  end)

  it("is silent about few and about other bounds, and abstains without counters", function()
    assert.equal("", said { bound = "L1", bank_conflict_percent = 24 })
    assert.equal("", said { bound = "DRAM", bank_conflict_percent = 75 })
    assert.matches("^abstains: bank conflicts were not measured", said { bound = "L1" })
  end)
end)
