local support = require "tests.lua.support.advice"


describe("advice older_attention", function()
  local function of(name, capability)
    return support.said("older_attention", support.results {
      environment = { devices = { { id = 0, compute_capability = capability } } },
      kernels = { support.kernel { name = name, category = "attention", share = 0.2 } } })
  end

  it("knows FlashAttention 2 on Hopper", function()
    assert.truthy(of("void flash::flash_fwd_splitkv_kernel<...>", "9.0"):find "FlashAttention 2")
    assert.equal("", of("void cutlass::device_kernel<flash::FlashAttnFwdSm90>", "9.0"))
    assert.equal("", of("void flash::flash_fwd_splitkv_kernel<...>", "8.0"))
    assert.truthy(of("x", nil):find "abstains")
  end)
end)
