-- Ranks in groups of their own, more of them than GPUs if need be: pairs.py under launch.ranks.
local llm = require "llmprof.recipe"

return llm.recipe {
  name = "pairs",
  model = { name = "pairs", dtype = "bf16" },
  options = {
    ["infer.repeats"] = { "Times it is run inside the ranges", 3, min = 1 },
    ["pairs.program"] = { "Where pairs.py lies", "tests/gpu/pairs.py" },
    ["pairs.args"] = { "More arguments for it, word by word", {} },
  },
  workload = function(cfg)
    local argv = { cfg.python, cfg.pairs.program, "--repeats", cfg.infer.repeats }
    return { argv = table.move(cfg.pairs.args, 1, #cfg.pairs.args, #argv + 1, argv) }
  end,
  stages = { { "prefill" }, { "decode", step = "decode_step" } },
}
