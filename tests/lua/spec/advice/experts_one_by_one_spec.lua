local support = require "tests.lua.support.advice"


describe("advice experts_one_by_one", function()
  local shape = { n_routed_experts = 64, num_experts_per_tok = 6, num_hidden_layers = 12,
    first_k_dense_replace = 2 }

  -- 10 steps of 10 layers of 6 experts of 3 products: 1800 of them are experts'
  local function said(architecture, given)
    local stage = support.slow_decode { kernels = 4000, launches = 4000 }
    local kernel = support.kernel { id = 5, name = "nvjet", category = "gemm", calls = 2000 }
    for key, value in pairs(given or {}) do kernel[key] = value end
    return support.said("experts_one_by_one", support.results { stages = { stage },
      kernels = { kernel }, model = { architecture = architecture } })
  end

  it("finds as many products as there are active experts", function()
    assert.equal([[
decode computes its experts one by one (decode, confidence medium)
- 200 matmuls per step, none grouped (timeline)
- 60 experts run per step in 10 layers, 3 operations each (timeline, model.architecture)
try: a grouped matmul over all experts (torch._grouped_mm, a fused MoE kernel), with the choice of experts left on the GPU
change: grouped(experts "decode")
if in each layer the operations of one expert do the work of all
kernels: 5
]], said(shape))
  end)

  it("counts all operations of the loop, and experts that other tokens choose", function()
    local stage = support.slow_decode { kernels = 10000, launches = 10000 }
    local kernels = { support.kernel { name = "nvjet", category = "gemm", calls = 4400 },
      -- 122 of a step: 120 experts and 2 dense networks
      support.kernel { name = "silu_kernel", category = "elementwise", calls = 1220 } }
    local said_now = support.said("experts_one_by_one", support.results { stages = { stage },
      kernels = kernels, model = { architecture = shape },
      layers = { networks = { count = 12, operations = 7 } } })
    assert.matches("120 experts run per step in 10 layers, 7 operations each", said_now, 1, true)
  end)

  it("is not led astray by names: joins and strided batches are no grouped products", function()
    local stage = support.slow_decode { kernels = 4000, launches = 4000 }
    local function kernel(name, category)
      return support.kernel { name = name, category = category, calls = 100 }
    end
    local kernels = { kernel("CatArrayBatchedCopy", "copy/cast"),
      kernel("cublasGemvTensorStridedBatched", "gemm"),
      support.kernel { name = "nvjet", category = "gemm", calls = 1800 } }
    assert.matches("190 matmuls per step, none grouped",
      support.said("experts_one_by_one", support.results { stages = { stage }, kernels = kernels,
        model = { architecture = shape } }), 1, true)
    kernels[2].name = "fused_moe_kernel"
    assert.same({ "experts are grouped: 10 of 190 matmuls per step" },
      support.reasons("experts_one_by_one", support.results { stages = { stage },
        kernels = kernels, model = { architecture = shape } }))
  end)

  it("is silent about grouped products, fewer products and dense models", function()
    assert.equal("", said(shape, { name = "GroupProblemShape" }))
    assert.equal("", said(shape, { calls = 1799 }))
    assert.equal("", said { num_hidden_layers = 12 })
  end)

  it("gains the waits for each expert's tokens, too", function()
    local stage = support.slow_decode { kernels = 4000, launches = 4000 }
    stage.waits = { { before = "copy", after = "gather", calls = 600, ns = 6e6 } }
    assert.matches('change: grouped(experts "decode")\nchange: remove(syncs("decode", "inner"))',
      support.said("experts_one_by_one", support.results { stages = { stage },
        kernels = { support.kernel { name = "nvjet", category = "gemm", calls = 2000 } },
        model = { architecture = shape } }), 1, true)
  end)

  it("abstains without the model's dimensions", function()
    assert.equal(
      "abstains: the model's architecture is not known (model.architecture in metrics.json)",
      said(nil))
    assert.equal(
      "abstains: num_experts_per_tok is not in model.architecture",
      said { n_routed_experts = 64, num_hidden_layers = 12 })
  end)
end)
