-- What a program is written with, and that advice speaks its language.
local advice = require "llmprof.advice"
local analysis = require "llmprof.analysis"
local breakdown = require "llmprof.analysis.stages.breakdown"
local framework = require "llmprof.analysis.kernels.framework"
local kernels = require "llmprof.analysis.kernels.table"
local recorded = require "tests.lua.support.recorded"
local recipe = require "llmprof.recipe"
local stages = require "llmprof.analysis.stages.find"
local support = require "tests.lua.support.advice"
local trace_file = require "llmprof.trace.file"


describe("llmprof.analysis.kernels.framework", function()
  local function named(given)
    given.names, given.tags = given.names or {}, given.tags or {}
    local made = framework.of(given)
    return made and made.name
  end

  it("is the engine's", function()
    assert.equal("ggml", named { engine = { name = "llama_cpp" }, names = { "void at::x" } })
    assert.equal("pytorch", named { engine = { name = "vllm" } })
    assert.is_nil(named { engine = { name = "dynamo" } })
  end)

  it("is told by kernels, ranges, operators, or by the program", function()
    assert.equal("pytorch", named { names = { "axpy", "void at::native::reduce_kernel<512>(t)" } })
    assert.equal("pytorch", named { names = { "triton_poi_fused_add_0" } })
    assert.equal("pytorch", named { tags = { "prefill", "aten::mm" } })
    assert.equal("pytorch", named { operators = {} })
    assert.equal("pytorch", named { metrics = { environment = { torch = "2.11.0" } } })
    assert.equal("jax", named { names = { "triton_softmax_5" }, tags = {
      "TSL:XlaModule:#hlo_module=jit_step,program_id=7#" } })
    assert.is_nil(named { names = { "void cat::native(int)", "void flash_fwd_kernel<1>(p)" },
      tags = { "prefill" }, metrics = { environment = { cuda = "13.0" } } })
  end)

  it("stands in the results", function()
    assert.same({ name = "pytorch", title = "PyTorch" }, recorded().framework)
  end)
end)


describe("advice", function()
  -- What nobody says to the author of a C++ program.
  local FOREIGN = { "torch", "Python", "interpreter", "%.item", "transformers", "autocast",
    "TORCH", "out=" }

  local function tried(results)
    local list = {}
    for i, finding in ipairs(advice.examine(results).findings) do
      list[i] = finding.rule .. ": " .. finding.try
    end
    return list
  end

  it("speaks of no other framework to a program in CUDA C", function()
    local made = recipe.load "recipes/toy_llm.lua"
    local trace = trace_file.open "tests/fixtures/tiny_h200/run.sqlite"
    local found = stages.find(trace, made.stages, "auto")
    local list = kernels.list(trace, found)
    breakdown.categorize(list)
    local results = analysis.results { run_id = "test", recipe = made.name,
      source = { timeline = {} }, trace = trace, found = found, kernels = list, missing = {},
      workload = { batch = 1, stages = { decode = { tokens = 20000 } } } }
    assert.is_nil(results.framework)
    local list_of = tried(results)
    assert.is_true(#list_of > 0)
    for _, text in ipairs(list_of) do
      for _, word in ipairs(FOREIGN) do assert.is_nil(text:find(word), text) end
    end
  end)

  it("tells an engine in C++ what it can be set to", function()
    local results = support.results { stages = { support.slow_decode() },
      engine = { name = "llama_cpp", title = "llama.cpp" },
      framework = { name = "ggml", title = "ggml" } }
    assert.same({ "launch_bound: CUDA graphs, which its build has to have and "
      .. "GGML_CUDA_DISABLE_GRAPHS turns off; more work per step, by more requests at once; a "
      .. "faster core for its process" }, tried(results))
  end)
end)
