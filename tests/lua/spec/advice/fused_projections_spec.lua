local support = require "tests.lua.support.advice"


describe("advice fused_projections", function()
  local dense = { num_hidden_layers = 10 }

  local function results_of(make, per_step, shape, more)
    return support.results { stages = { make { kernels = 2000, launches = 2000 } },
      model = { architecture = shape }, kernels = { support.kernel { id = 4, name = "nvjet",
        category = "gemm", calls = per_step * 10 }, more } }
  end

  it("finds seven products in each layer", function()
    assert.equal([[
decode computes query, key and value, and gate and up, as matmuls of their own (decode, confidence medium)
- 71 matmuls per step (timeline)
- 10 layers make 71 without fused projections, 41 with them (model.architecture)
try: join the weights when loading: one matmul for query, key and value, one for gate and up
change: fuse(kernels:where { stage = "decode", label = "nvjet" })
if matmuls that follow each other become one that takes as long as all
kernels: 4
]], support.said("fused_projections", results_of(support.slow_decode, 71, dense)))
  end)

  it("promises nothing while the GPU is busy", function()
    assert.is_nil(support.examined("fused_projections",
      results_of(support.decode, 71, dense)).findings[1].gain_ns)
  end)

  it("counts experts, and is silent about fused ones", function()
    local sparse = { num_hidden_layers = 10, n_routed_experts = 8, num_experts_per_tok = 2,
      n_shared_experts = 1, first_k_dense_replace = 1 }
    -- 40 of attention, 3 of the dense layer, 9 layers of 3 networks of 3, the output
    assert.same({ "124 matmuls per step, 125 without fused projections" },
      support.reasons("fused_projections", results_of(support.decode, 124, sparse)))
    assert.equal(1, #support.examined("fused_projections",
      results_of(support.decode, 125, sparse)).findings)
    local none = { num_hidden_layers = 10, n_routed_experts = 0, num_experts_per_tok = 0,
      first_k_dense_replace = 0 }
    assert.same({ "41 matmuls per step, 71 without fused projections" },
      support.reasons("fused_projections", results_of(support.decode, 41, none)))
    assert.same({ "41 matmuls per step, 71 without fused projections" },
      support.reasons("fused_projections", results_of(support.decode, 41, dense,
        support.kernel { name = "splitKreduce_kernel", category = "gemm", calls = 1000 })))
  end)

  it("abstains without the number of layers", function()
    assert.equal(
      "abstains: the model's architecture is not known (model.architecture in metrics.json)",
      support.said("fused_projections", results_of(support.decode, 71, nil)))
  end)
end)
