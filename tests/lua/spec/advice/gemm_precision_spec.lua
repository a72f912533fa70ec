local support = require "tests.lua.support.advice"


describe("advice gemm_precision", function()
  local function said(kernel)
    kernel.category = kernel.category or "gemm"
    return support.said("gemm_precision", support.results { stages = { support.decode() },
      kernels = { support.kernel(kernel) } })
  end

  it("finds fp32 products off the tensor cores", function()
    assert.equal([[
decode multiplies matrices in fp32 or tf32 (decode, confidence medium)
- 1.3 % of the stage's GPU time (timeline)
- kernel 9, cutlass_80_simt_sgemm_128x32: 100 calls, 1.00 ms, fp32 without the tensor cores (kernel name)
try: bf16 or fp16 inputs with dimensions that are multiples of 8; for what must stay fp32, torch.set_float32_matmul_precision("high"); for a convolution, channels_last
change: scale(kernels:where { stage = "decode", label = "cutlass_80_simt_sgemm_128x32" }, 0.25)
if bf16 on the tensor cores takes half the time of tf32, a quarter of fp32 without them
kernels: 9
]], said { id = 9, name = "cutlass_80_simt_sgemm_128x32" })
  end)

  it("names tf32 and fp64", function()
    local expected = "- kernel 1, %s: 100 calls, 1.00 ms, %s (kernel name)"
    for name, kind in pairs {
      ["ampere_sgemm_tf32_128"] = "tf32 on the tensor cores",
      ["cutlass_tensorop_s1688gemm"] = "tf32 on the tensor cores",
      ["volta_dgemm_64"] = "fp64",
    } do
      assert.equal(expected:format(name, kind), said({ name = name }):match "\n(%- kernel[^\n]*)")
    end
  end)

  it("finds matmuls that compute without tensor cores, whatever they are called", function()
    local function counted(bound, percent)
      return said { name = "kernel2", counters = { bound = bound, tensor_percent = percent } }
    end
    assert.matches("kernel2: 100 calls, 1.00 ms, without the tensor cores (counters)",
      counted("fp32", 0), 1, true)
    assert.equal("", counted("fp32", 1))
    assert.equal("", counted("DRAM", 0))
  end)

  it("is silent about bf16, about what counters saw on the tensor cores, about little", function()
    assert.equal("", said { name = "nvjet_sm90_tst_128x8" })
    assert.equal("", said { name = "my_sgemm", counters = { tensor_percent = 40 } })
    assert.equal("", said { name = "simt_sgemm", calls = 79 })
    assert.equal("", said { name = "sgemm_copy", category = "copy/cast" })
  end)
end)
