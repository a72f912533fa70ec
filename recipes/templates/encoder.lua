-- @NAME@: what to profile, and how. docs/recipes.md is the whole contract
-- (`llmprof help recipes`); `llmprof check @NAME@.lua` says what is wrong.
local llm = require "llmprof.recipe"

return llm.recipe {
  name = "@NAME@",

  -- The model, as reports call it. With `arch` (a file in conf/model) or the key
  -- model.config (a Hugging Face config.json) MFU and MBU are known too.
  model = { name = "@NAME@", dtype = "bf16" },

  -- Keys of this recipe's own: text for --help and default, whose type is the
  -- key's. On the command line: infer.batch=4
  options = {
    ["infer.batch"] = { "Sequences side by side", 32, min = 1 },
    ["infer.tokens"] = { "Tokens of each", 256, min = 1 },
    ["infer.repeats"] = { "Times it is run inside the ranges", 3, min = 1 },
  },

  -- The program to run: a list of words, never a shell line. cfg has every key.
  workload = function(cfg)
    return {
      argv = { cfg.python, llm.path "workloads/run_@NAME@.py",
        "--dtype", cfg.model.dtype,
        "--batch", cfg.infer.batch,
        "--tokens", cfg.infer.tokens,
        "--repeats", cfg.infer.repeats },
      -- env = { CUDA_VISIBLE_DEVICES = "0" },
    }
  end,

  -- NVTX ranges that the program makes.
  stages = { { "encode" } },

  -- What to measure with hardware counters: of each stage the largest kernels.
  top_n = { kernels = 20, coverage = 0.95, launches_per_kernel = 2 },
}
