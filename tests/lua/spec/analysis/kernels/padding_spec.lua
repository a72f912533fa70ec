local limits = require "llmprof.analysis.kernels.limits"

-- A kernel that issues this many FLOP per byte of L2.
local function kernel(stage, category, intensity, part)
  return { stage = stage, part = part, category = category, counters = { tensor_format = "bf16",
    tensor_flop_per_launch = 1000 * intensity, l2_bytes_per_launch = 1000 } }
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
end)
