local support = require "tests.lua.support.advice"


describe("advice casts", function()
  local function said(kernel)
    kernel.category = kernel.category or "copy/cast"
    return support.said("casts", support.results { stages = { support.decode() },
      kernels = { support.kernel(kernel) } })
  end

  it("finds casts by share of the GPU time", function()
    assert.equal([[
decode converts between types 20 times (decode, confidence medium)
- 20 casts, 5.0 % of the stage's GPU time and 2.0 % of its kernels (timeline)
- kernel 2, vectorized: 20 calls, 4.00 ms (timeline)
try: keep one type through the layer: convert weights and constants once when loading, use fused norms that compute in fp32 inside, look for autocast in the loop
change: remove(kernels:where { stage = "decode", label = "vectorized" })
if no cast is left, or each is fused into its neighbour
kernels: 2
]], said { id = 2, name = "at::native::bfloat16_copy_kernel_cuda", short_name = "vectorized",
      calls = 20, mean_ns = 200000 })
  end)

  it("counts arithmetic in the type that they convert to", function()
    local text = support.said("casts", support.results { stages = { support.decode() },
      kernels = { support.kernel { id = 1, name = "bfloat16_copy_kernel", label = "cast",
        category = "copy/cast", mean_ns = 50000 },
        support.kernel { id = 2, label = "mean<fp64>", category = "reduce" },
        support.kernel { id = 3, label = "mul<bf16>", category = "elementwise" },
        support.kernel { id = 4, label = "splitK reduce<fp32>", category = "gemm" } } })
    assert.truthy(text:find('change: fuse(kernels:where { stage = "decode", label = { "cast", '
      .. '"mean<fp64>" } })', 1, true))
    assert.truthy(text:find "kernels: 1 2\n")
  end)

  it("names the lines that launched them", function()
    local function from(line, calls, gpu_ns)
      return { line = "m/layers/" .. line, ["function"] = "forward", calls = calls,
        gpu_ns = gpu_ns }
    end
    assert.matches("\n- launched in norm.py:97 forward: 1.2 a step, 2.40 ms; mlp.py:7 forward: "
      .. "0.1 a step, 200.00 µs %(timeline%)\n", said { id = 2, name = "bfloat16_copy_kernel",
      calls = 20, mean_ns = 200000,
      lines = { from("norm.py:97", 12, 2400000), from("mlp.py:7", 1, 200000) } })
  end)

  it("finds casts by how many they are, where launches take the time", function()
    local function counted(make, calls)
      return support.said("casts", support.results { stages = { make() }, kernels = {
        support.kernel { name = "direct_copy_kernel, LoadWithCast<1>", calls = calls,
          category = "copy/cast", mean_ns = 1000 } } }):match "^[^\n]*"
    end
    assert.equal("decode converts between types 100 times (decode, confidence medium)",
      counted(support.slow_decode, 100))
    assert.equal("", counted(support.slow_decode, 99))
    assert.equal("", counted(support.decode, 100))
  end)

  it("is silent about copies within a type, and about arithmetic that converts", function()
    assert.equal("", said { name = "direct_copy_kernel_cuda", calls = 500 })
    assert.equal("", said { name = "mul<LoadWithCast>", category = "elementwise", calls = 500 })
  end)

  it("is silent about a few", function()
    assert.equal("", said { name = "float16_copy_kernel", calls = 29, mean_ns = 1000 })
  end)
end)
