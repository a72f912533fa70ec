local support = require "tests.lua.support.advice"


describe("advice layout_copies", function()
  local function said(kernel)
    kernel.category = "copy/cast"
    return support.said("layout_copies", support.results { stages = { support.decode() },
      kernels = { support.kernel(kernel) } })
  end

  it("finds a tenth of the GPU time in moves", function()
    assert.equal([[
decode spends its GPU time on moving data (decode, confidence low)
- 100 copies, joins, gathers and permutations take 8.00 ms, 10 % of the stage's GPU time (timeline)
- kernel 4, elementwise_kernel: 100 calls, 8.00 ms (timeline)
try: write to where the data is needed (preallocated caches, out=), choose a layout that the next kernel reads as it is, let attention take strided inputs and beams a table of cache blocks
change: remove(kernels:where { stage = "decode", label = "elementwise_kernel" })
if none of the moves is needed
kernels: 4
]], said { id = 4, name = "direct_copy_kernel_cuda", short_name = "elementwise_kernel",
      calls = 100, mean_ns = 80000 })
  end)

  it("counts copies within the GPU's memory, and knows JAX's remedy", function()
    local results = support.results { stages = { support.decode() }, kernels = {},
      framework = { name = "jax", title = "JAX" }, transfers = {
        { stage = "decode", direction = "device to device", calls = 10, bytes = 10 << 20,
          gpu_time_ns = 20e6 } } }
    local found = support.said("layout_copies", results)
    assert.matches("10 copies within the GPU's memory take 20.00 ms, 25 % of the stage's GPU time",
      found, 1, true)
    assert.matches("donate_argnums", found, 1, true)
    results.transfers[1].direction = "host to device"
    assert.equal("", support.said("layout_copies", results))
  end)

  it("begins with the sum of what kernels and copies move", function()
    assert.matches("\n%- 110 moves take 28.00 ms, 35 %% of the stage's GPU time [^\n]+\n"
      .. "%- 100 copies",
      support.said("layout_copies", support.results { stages = { support.decode() },
        kernels = { support.kernel { name = "direct_copy_kernel_cuda", category = "copy/cast",
          calls = 100, mean_ns = 80000 } },
        transfers = { { stage = "decode", direction = "device to device", calls = 10,
          gpu_time_ns = 20e6 } } }))
  end)

  it("is silent about less, about casts and about gathers of embeddings", function()
    assert.equal("", said { name = "CatArrayBatchedCopy", calls = 100, mean_ns = 79000 })
    assert.equal("", said { name = "direct_copy_kernel<LoadWithCast>", mean_ns = 200000 })
    assert.equal("", said { name = "vectorized_gather_kernel", calls = 10, mean_ns = 2e6 })
    assert.matches("25 %% of the stage", said { name = "vectorized_gather_kernel", mean_ns = 2e5 })
  end)
end)
