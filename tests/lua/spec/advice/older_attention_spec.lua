local support = require "tests.lua.support.advice"


describe("advice older_attention", function()
  local function of(name, capability)
    local stage = support.decode { name = "prefill" }
    stage.steps = nil
    return support.said("older_attention", support.results {
      environment = { devices = { { id = 0, compute_capability = capability } } },
      stages = { stage },
      kernels = { support.kernel { name = name, category = "attention",
        stage = "prefill", mean_ns = 1e5 } } })
  end

  it("knows FlashAttention 2 and PyTorch's own on Hopper", function()
    local text = of("void flash::flash_fwd_splitkv_kernel<...>", "9.0")
    assert.truthy(text:find "10.00 ms in kernels of FlashAttention 2, ")
    assert.truthy(text:find(" }, 0.6)", 1, true))
    text = of("fmha_cutlassF_bf16_aligned_64x128_rf_sm80(...)", "9.0")
    assert.truthy(text:find "memory%-efficient attention")
    assert.truthy(text:find(" }, 0.33)", 1, true))
    assert.equal("", of("void cutlass::device_kernel<flash::FlashAttnFwdSm90>", "9.0"))
    assert.equal("", of("void flash::flash_fwd_splitkv_kernel<...>", "8.0"))
    assert.truthy(of("x", nil):find "abstains")
  end)
end)
