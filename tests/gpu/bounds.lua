-- Kernels that are each bound by one thing: bounds.cu.
local llm = require "llmprof.recipe"

return llm.recipe {
  name = "bounds",
  model = { name = "bounds", dtype = "fp32" },
  options = {
    ["infer.repeats"] = { "Times it is run inside the ranges", 3, min = 1 },
    ["bounds.program"] = { "The compiled bounds.cu", "bounds", runs = true },
  },
  workload = function(cfg) return { argv = { cfg.bounds.program, cfg.infer.repeats } } end,
  stages = { { "measured" } },
  top_n = { kernels = 20, coverage = 1 },
}
