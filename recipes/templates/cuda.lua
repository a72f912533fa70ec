-- @NAME@: a program in CUDA C. docs/recipes.md is the whole contract
-- (`llmprof help recipes`); `llmprof check @NAME@.lua` says what is wrong.
local llm = require "llmprof.recipe"

return llm.recipe {
  name = "@NAME@",
  model = { name = "@NAME@", dtype = "fp32" },

  options = {
    ["infer.prompt_tokens"] = { "Tokens of the prompt", 128, min = 1 },
    ["infer.max_new_tokens"] = { "Tokens generated, the first by prefill", 32, min = 2 },
    ["infer.repeats"] = { "Times it is run inside the ranges", 3, min = 1 },
  },

  -- Compile it first, on the machine with the GPU; workloads/@NAME@.cu says how.
  workload = function(cfg)
    return { argv = { llm.path "workloads/@NAME@", cfg.infer.prompt_tokens,
      cfg.infer.max_new_tokens, cfg.infer.repeats } }
  end,

  -- NVTX ranges that the program makes.
  stages = { { "prefill" }, { "decode", step = "decode_step" } },

  ncu = { preset = "light" },
  top_n = { kernels = 10, launches_per_kernel = 2 },
}
