local limits = require "llmprof.analysis.kernels.limits"

-- A kernel that issues this many FLOP per byte of L2.
local function kernel(stage, category, intensity, part)
  return { stage = stage, part = part, category = category, counters = { tensor_format = "bf16",
    tensor_flop_per_launch = 1000 * intensity, l2_bytes_per_launch = 1000 } }
end


local function part(name, flops_per_byte)
  return { name = name, flops = 100 * flops_per_byte, weight_bytes = 100 }
end


-- The padding of these kernels.
local function padded(stages, run, ...)
  local kernels, list = { ... }, {}
  limits.add_padding(stages, kernels, run)
  for i, made in ipairs(kernels) do list[i] = made.counters.padding or false end
  return list
end


describe("llmprof.analysis.kernels.limits", function()
  it("holds FLOP per byte against the tokens of a pass", function()
    assert.same({ 64, false, false, false }, padded({ { name = "decode" } }, { batch = 1 },
      kernel("decode", "gemm", 64), kernel("decode", "gemm", 3.9),
      kernel("decode", "attention", 64), kernel("other", "gemm", 64)))
    assert.same({ 8 }, padded({ { name = "LLM:decode" } }, { batch = 8 },
      kernel("LLM:decode", "gemm", 64)))
  end)

  it("knows the tokens of a part by its description", function()
    local prefill = { name = "prefill", cost = { parts = { part("decoder: mlp", 256),
      part("sam: mlp", 4096) } } }
    local sam = { name = "sam", parent = "prefill", cost = { parts = { part("sam: mlp", 16),
      part("sam: patches", 4) } } }
    assert.same({ false, 4, 8, false }, padded({ prefill, sam }, { batch = 1, prompt_tokens = 1 },
      kernel("prefill", "gemm", 256), kernel("prefill", "gemm", 1024),
      kernel("prefill", "gemm", 128, "sam"), kernel("prefill", "gemm", 1024, "clip")))
  end)

  it("gives fused experts the tokens that are routed to each", function()
    local prefill = { name = "prefill", cost = { parts = { part("decoder: mlp", 256),
      part("decoder: experts", 16) } } }
    assert.same({ 8, false }, padded({ prefill }, nil, kernel("prefill", "moe", 128),
      kernel("prefill", "gemm", 128)))
    assert.same({ false }, padded({ { name = "decode" } }, { batch = 1 },
      kernel("decode", "moe", 128)))
  end)
end)
