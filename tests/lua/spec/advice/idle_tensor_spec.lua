local support = require "tests.lua.support.advice"


describe("advice idle_tensor", function()
  local function said(counters, category)
    return support.said("idle_tensor", support.results { stages = { support.decode() },
      kernels = { support.kernel { id = 6, name = "kernel2", category = category or "gemm",
        mean_ns = 40000, counters = counters } } })
  end

  it("finds products that compute without tensor cores", function()
    assert.equal([[
matmuls of decode leave the tensor cores idle (decode, confidence medium)
- 4.00 ms in matmuls that compute with less than 1 % of the tensor cores (counters)
- kernel 6, kernel2: 100 calls, 4.00 ms, tensor cores 0.0 %, bound by fp32 (timeline, counters)
try: bf16, fp16 or tf32 inputs, dimensions that are multiples of 8 and pointers aligned to 16 bytes; in own kernels the mma instructions
gain: 2000000 of 100000000 ns, gpu, if the tensor cores do it in half the time
kernels: 6
]], said { bound = "fp32", tensor_percent = 0 })
  end)

  it("is silent about others, and abstains without the tensor cores", function()
    assert.equal("", said { bound = "fp32", tensor_percent = 1 })
    assert.equal("", said { bound = "DRAM", tensor_percent = 0 })
    assert.equal("", said({ bound = "fp32", tensor_percent = 0 }, "elementwise"))
    assert.matches("^abstains: the tensor cores were not measured", said { bound = "fp32" })
  end)
end)
