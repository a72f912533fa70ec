-- Where the time of a stage goes: categories of kernels, and the CPU's side.
local categories = require "llmprof.analysis.categories"
local failure = require "tests.lua.support.failure"
local recorded = require "tests.lua.support.recorded"


describe("kernel categories", function()
  it("go by the name of the kernel", function()
    local classify = categories.classifier()
    for name, category in pairs {
      ["ncclDevKernel_AllReduce_Sum_bf16"] = "communication",
      ["flash_fwd_splitkv_kernel"] = "attention",
      ["fused_moe_kernel"] = "moe",
      ["ArgMaxOps"] = "sampling",
      ["vectorized_layer_norm_kernel"] = "norm",
      ["nvjet_sm90_tst_128x8"] = "gemm",
      ["radixSortKVInPlace"] = "sort",
      ["CatArrayBatchedCopy"] = "copy/cast",
      ["softmax_warp_forward"] = "reduce",
      ["vectorized_elementwise_kernel<silu>"] = "elementwise",
      ["my_kernel"] = "other",
    } do
      assert.equal(category, classify(name), name)
    end
  end)

  it("take a recipe's rules first", function()
    local classify = categories.classifier { { category = "ours", match = { "my_", "nvjet" } } }
    assert.same({ "ours", "ours", "norm" }, { classify "my_kernel", classify "nvjet_sm90",
      classify "rms_norm" })
  end)

  it("refuse broken rules", function()
    local form = "recipe categories: rule 1: { category, match = { pattern, ... } } is expected"
    assert.same({ "usage", form }, failure(categories.classifier, { { category = "x" } }))
    assert.same({ "usage", form }, failure(categories.classifier, { "x" }))
    assert.same({ "usage", "recipe categories: pattern '[a': malformed pattern (missing ']')" },
      failure(categories.classifier, { { category = "x", match = { "[a" } } }))
  end)
end)


describe("the breakdown of the recorded capture", function()
  local function stage(results, name)
    for _, entry in ipairs(results.stages) do
      if entry.name == name then return entry end
    end
  end

  local function category(results, name, wanted)
    for _, row in ipairs(stage(results, name).categories) do
      if row.category == wanted then return row end
    end
  end

  it("has the driver's calls, launch delays and kernels per token", function()
    local decode = stage(recorded(), "decode")
    assert.same({ launch = { calls = 16185, ns = 96296200 }, sync = { calls = 1, ns = 19410 },
      memory = { calls = 0, ns = 0 }, other = { calls = 18360, ns = 3115437 } }, decode.api)
    assert.same({ launch_ns = 94790042, sync_ns = 19410, memory_ns = 0, other_ns = 2875744,
      host_ns = 217167049 }, decode.waiting)
    assert.same({ 2107, 2302, 1018, 15 }, { decode.launch_delay.median_ns,
      decode.launch_delay.p90_ns, decode.kernels_per_token, decode.steps })
    assert.is_nil(decode.between_steps)
  end)

  it("counts copies as memory, and all categories to the stage's GPU time", function()
    local results, sum, shares = recorded(), 0, 0
    for _, row in ipairs(stage(results, "decode").categories) do
      sum, shares = sum + row.gpu_time_ns, shares + row.share
    end
    assert.equal(stage(results, "decode").gpu_time_ns, sum)
    assert.near(1, shares, 1e-12)
    assert.same({ 766528, 915 }, { category(results, "decode", "memory").gpu_time_ns,
      category(results, "decode", "memory").calls })
  end)

  it("takes a recipe's own category", function()
    local results = recorded { { category = "router", match = { "gathertopk" } } }
    assert.same({ 865632, 180 }, { category(results, "decode", "router").gpu_time_ns,
      category(results, "decode", "router").calls })
  end)
end)
