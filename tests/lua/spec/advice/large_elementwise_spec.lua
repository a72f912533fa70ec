local support = require "tests.lua.support.advice"


describe("advice large_elementwise", function()
  -- a kernel with short and long launches: `long` of 2 ms each
  local function mixed(id, category, long)
    return support.kernel { id = id, name = category, category = category, calls = 40,
      shapes = { { calls = 40 - long, total_ns = 100e3 },
        { calls = long, total_ns = long * 2e6 } } }
  end

  local function results_of(kernels) return support.results { stages = { support.decode() },
    kernels = kernels } end

  it("finds the long launches of kernels that only move or add", function()
    assert.equal([[
25 % of the GPU time of decode goes into large additions and copies (decode, confidence medium)
- 10 long kernels, 20.00 ms together (timeline)
- kernel 3, elementwise: 40 calls, 400.00 µs (timeline)
- kernel 4, copy/cast: 40 calls, 400.00 µs (timeline)
try: fuse them into the kernel before or after: attention that takes the bias (or computes it inside: FlexAttention), an epilogue of the matmul, torch.compile
change: remove(kernels:where { stage = "decode", label = { "elementwise", "copy/cast" }, duration = { ">=", 400000 } })
if all of them become part of the kernels before or after them
kernels: 3 4
]], support.said("large_elementwise", results_of { mixed(3, "elementwise", 4),
      mixed(4, "copy/cast", 6) }))
  end)

  it("is silent about fewer, and about products", function()
    assert.same({ "long additions and copies take 18 % of the GPU time" },
      support.reasons("large_elementwise", results_of { mixed(3, "elementwise", 7) }))
    assert.same({ "long additions and copies take 0.0 % of the GPU time" },
      support.reasons("large_elementwise", results_of { mixed(3, "gemm", 20) }))
  end)
end)
