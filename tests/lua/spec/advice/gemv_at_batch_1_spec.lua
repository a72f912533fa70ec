local support = require "tests.lua.support.advice"


describe("advice gemv_at_batch_1", function()
  local function said(batch, kernel)
    kernel.category = "gemm"
    return support.said("gemv_at_batch_1", support.results { stages = { support.decode() },
      kernels = { support.kernel(kernel) },
      latency = { tokens_per_s = { count = 1, mean = 100, batch = batch } } })
  end

  it("finds products of single vectors", function()
    assert.equal([[
decode multiplies matrices by single vectors (batch 1) (decode, confidence medium)
- 25 % of the GPU time is in 20 matmuls per step, of batch 1 (timeline)
- kernel 5, nvjet: 200 calls, 20.00 ms, 61 % of the DRAM bandwidth, 4 % of the tensor pipe (timeline, counters)
try: batch requests: a step costs about the same for several sequences. For one sequence, weights of 8 or 4 bits, or speculative decoding
kernels: 5
]], said(1, { id = 5, name = "nvjet", calls = 200, mean_ns = 100000,
      counters = { dram_percent = 61.2, tensor_percent = 4.4 } }))
  end)

  it("is silent about a larger batch, and where other work takes the time", function()
    assert.equal("", said(2, { calls = 200, mean_ns = 100000 }))
    assert.equal("", said(1, { calls = 100, mean_ns = 100000 }))
  end)

  it("abstains when the batch is not known", function()
    assert.equal("abstains: the batch is not known (batch in metrics.json)",
      said(nil, { calls = 200, mean_ns = 100000 }))
  end)
end)
