local support = require "tests.lua.support.advice"


describe("advice attention_unfused", function()
  local function said(kernels)
    return support.said("attention_unfused", support.results { stages = { support.decode() },
      kernels = kernels })
  end

  local function softmax(given)
    given.name, given.category, given.mean_ns = "softmax_warp_forward", "reduce", 20000
    return support.kernel(given)
  end

  it("finds a softmax without a fused kernel", function()
    assert.equal([[
the attention of decode is not fused (decode, confidence medium)
- 100 softmax kernels, 2.5 % of the stage's GPU time, and no fused attention kernel (timeline)
- kernel 2, softmax_warp_forward: 100 calls, 2.00 ms (timeline)
try: torch.nn.functional.scaled_dot_product_attention or FlashAttention (attn_implementation="sdpa" or "flash_attention_2" in transformers); a mask that they cannot take forces the slow path
change: remove(kernels:where { stage = "decode", label = "softmax_warp_forward" })
if what works on the scores goes away; the matmuls around it gain too, which is not counted
kernels: 2
]], said { softmax { id = 2 } })
  end)

  it("counts what scales, masks and converts the scores, which other rules leave to it", function()
    local mask = support.kernel { id = 3, name = "masked_fill", category = "elementwise",
      calls = 200, mean_ns = 30000 }
    local gate = support.kernel { id = 4, name = "mul", category = "elementwise", calls = 150,
      mean_ns = 30000 }
    local cast = support.kernel { id = 5, name = "bfloat16_copy_kernel", category = "copy/cast",
      mean_ns = 50000 }
    local kernels = { softmax { id = 2 }, mask, gate, cast }
    local text = said(kernels)
    assert.matches("\n- 300 kernels that scale, mask or convert the scores take 11.00 ms", text)
    assert.matches("\nkernels: 2 3 5\n", text)
    assert.equal("", support.said("casts", support.results { stages = { support.decode() },
      kernels = kernels }))
  end)

  it("looks at each part by itself", function()
    local text = said { softmax { id = 2, part = "sam" },
      support.kernel { id = 3, name = "flash_fwd_kernel", category = "attention" } }
    assert.equal("the attention of decode/sam is not fused (decode, confidence medium)",
      text:match "^[^\n]*")
  end)

  it("is silent where attention is fused, and about a router's softmax", function()
    assert.equal("", said { softmax {}, support.kernel { name = "flash_fwd_kernel",
      category = "attention" } })
    assert.equal("", said { softmax { calls = 79 } })
  end)
end)
