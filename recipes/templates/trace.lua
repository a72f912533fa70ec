-- @NAME@: what to profile, and how. docs/recipes.md is the whole contract
-- (`llmprof help recipes`); `llmprof check @NAME@.lua` says what is wrong.
local llm = require "llmprof.recipe"

return llm.recipe {
  name = "@NAME@",

  -- The model, as reports call it. With `arch` (a file in conf/model) or the key
  -- model.config (a Hugging Face config.json) MFU and MBU are known too.
  model = { name = "@NAME@" },

  -- Keys of this recipe's own: text for --help and default.
  options = {
    ["program"] = { "The program that the trace is of", "program.py" },
  },

  -- The program to run: a list of words, never a shell line. cfg has every key.
  workload = function(cfg)
    return { argv = { cfg.python, cfg.program } }
  end,

  -- NVTX ranges of the program; what was found in the trace may stem from its kernels alone.
  stages = { "@STAGES@" },
}
