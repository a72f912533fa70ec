local support = require "tests.lua.support.advice"


describe("advice uncoalesced", function()
  local function said(counters)
    return support.said("uncoalesced", support.results { stages = { support.decode() },
      kernels = { support.kernel { id = 6, name = "transpose", mean_ns = 40000,
        counters = counters } } })
  end

  it("finds requests of many sectors where memory decides", function()
    assert.equal([[
kernels of decode access global memory uncoalesced (decode, confidence medium)
- 4.00 ms in kernels with more than 16 sectors of 32 bytes for a warp's request (counters)
- kernel 6, transpose: 100 calls, 4.00 ms, 32 sectors a request, bound by L1 (timeline, counters)
try: neighbouring threads on neighbouring addresses: another layout of the tensor, or a transpose through shared memory
change: scale(kernels:where { stage = "decode", label = "transpose" }, 0.5)
if their time falls with the sectors, to 16 a request
kernels: 6
]], said { bound = "L1", sectors_per_load = 4, sectors_per_store = 32 })
  end)

  it("is silent about wide requests and busy units, and abstains without sectors", function()
    assert.equal("", said { bound = "L1", sectors_per_load = 16, sectors_per_store = 16 })
    assert.equal("", said { bound = "tensor", sectors_per_load = 32 })
    assert.matches("^abstains: sectors of requests were not measured", said { bound = "L1" })
  end)
end)
