-- Kernel categories: kernels of engines and libraries by name, and a recipe's rules.
local categories = require "llmprof.analysis.kernels.categories"
local failure = require "tests.lua.support.failure"
local files = require "llmprof.io.files"
local yaml = require "llmprof.yaml"

local FEWEST = 128


-- Every { name, category, source } of tests/fixtures/kernel_names.yaml.
local function known_kernels()
  local list = {}
  for source, by_category in pairs(yaml.load "tests/fixtures/kernel_names.yaml") do
    for category, names in pairs(by_category) do
      for _, name in ipairs(names) do
        list[#list + 1] = { name = name, category = category, source = source }
      end
    end
  end
  return list
end


describe("kernel categories", function()
  it("are those of the kernels of engines and libraries", function()
    local classify, list = categories.classifier(), known_kernels()
    assert.is_true(#list >= FEWEST, #list .. " kernels")
    for _, kernel in ipairs(list) do
      assert.equal(kernel.category, classify(kernel.name), kernel.source .. ": " .. kernel.name)
    end
  end)

  it("have rules that some kernel needs", function()
    local contents = files.read "conf/categories.yaml"
    local used, classify = {}, categories.classifier()
    for _, kernel in ipairs(known_kernels()) do used[classify(kernel.name)] = true end
    for _, rule in ipairs(yaml.decode(contents)) do
      assert.is_true(used[rule.category], rule.category)
    end
  end)

  it("are other where nothing tells", function()
    assert.equal("other", categories.classifier() "my_kernel")
  end)

  it("look at the mangled name where the full one does not tell", function()
    local classify = categories.classifier()
    assert.equal("other", classify "device_kernel")
    assert.equal("attention", classify("device_kernel", "_ZN7cutlass13device_kernelIN5flash20x"))
  end)

  it("look at no parameter and at no return type", function()
    local classify = categories.classifier()
    assert.equal("other", classify "void mine<int>(flash::Params, RmsNorm *)")
    assert.equal("other", classify "std::enable_if<(bool)1, layer_norm>::type mine<int>(int)")
    assert.equal("norm", classify "rms_norm_kernel<(A)1")
  end)

  it("know what stands in no brackets, closed or not", function()
    local classify = categories.classifier { { category = "mine", ["function"] = { "^mine$" } } }
    for _, name in ipairs { "mine", "mine<a>", "a<b> mine<c<d>>  ", "a > mine",
      "a<b mine", "mine<a<b>>(int)", "mi<a>ne" } do
      assert.equal("mine", classify(name), name)
    end
    for _, name in ipairs { "mine<a", "mine<a mine>b", "my mine x", "", " ", "<", "<mine>" } do
      assert.equal("other", classify(name), name)
    end
  end)

  it("look at a kernel's name as a whole or at its function's", function()
    local name = "void At::(anonymous namespace)::Fill<float, std::pair<A, B>>::run<3>(Copy<int>)"
    for key, wanted in pairs { match = "at::fill<float, std::pair<a, b>>::run<3>",
      ["function"] = "at::fill::run" } do
      local classify = categories.classifier { { category = "mine",
        [key] = { "^" .. wanted:gsub("%p", "%%%0") .. "$" } } }
      assert.equal("mine", classify(name), key)
      assert.equal("other", classify(("<"):rep(5000) .. wanted), key) -- 4,096 bytes are read
    end
  end)

  it("look for whole words of the function's own name", function()
    local classify = categories.classifier { { category = "mine", ["function"] = { "fill",
      "abc%w*", "%w*xyz", "kv_?cache", "^one", "[ab]roll" } } }
    for _, name in ipairs { "fill", "my_fill_kernel", "FillKernel", "myFill2", "ABCDefg", "x1abcd",
      "qxyz", "KVCacheCopy", "a_kv_cache<x>", "_ZN5one4fillE", "OneRoll", "mine::fill" } do
      assert.equal("mine", classify(name), name)
    end
    for _, name in ipairs { "prefill", "Prefilling", "filled", "zabc", "xyza", "skvcache", "none",
      "ones", "x_one", "unbrolled" } do
      assert.not_equal("mine", classify(name), name)
    end
  end)

  it("take the constants that Triton writes for no words", function()
    assert.equal("elementwise", categories.classifier()
      "_fused_silu_mul_kernel_BLOCK_SIZE_N_4096_QUANT")
  end)

  it("take a recipe's rules first", function()
    local classify = categories.classifier { { category = "ours", match = { "my_", "nvjet" } },
      { category = "theirs", ["function"] = { "^their_" } } }
    assert.same({ "ours", "ours", "norm", "theirs", "other" }, { classify "my_kernel",
      classify "nvjet_sm90", classify "rms_norm", classify "their_x<1>", classify "x<their_>" })
  end)

  it("refuse broken rules", function()
    local form = "recipe categories: rule 1: { category, match = { pattern, ... }, "
      .. "function = { pattern, ... } } is expected"
    assert.same({ "usage", form }, failure(categories.classifier, { { category = "x" } }))
    assert.same({ "usage", form }, failure(categories.classifier,
      { { category = "x", match = "y" } }))
    assert.same({ "usage", (form:gsub("rule 1", "rule 2")) }, failure(categories.classifier,
      { { category = "x", match = {} }, "y" }))
    for pattern, why in pairs { ["[a"] = "malformed pattern (missing ']')",
      ["gemm%"] = "malformed pattern (ends with '%')", ["(gemm"] = "unfinished capture" } do
      assert.same({ "usage", ("recipe categories: pattern '%s': %s"):format(pattern, why) },
        failure(categories.classifier, { { category = "x", match = { pattern } } }))
    end
    local late = "gemm1: pattern '%d[a': malformed pattern (missing ']')" -- read where a digit is
    assert.same({ "usage", late }, failure(categories.classifier { { category = "x",
      match = { "%d[a" } } }, "gemm1"))
  end)
end)
