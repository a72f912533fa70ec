-- Products of a decode step in bf16, or in fp8: fp8.py as a recipe.
local llm = require "llmprof.recipe"

return llm.recipe {
  name = "fp8",
  model = { name = "products", dtype = "bf16" },
  options = {
    ["infer.repeats"] = { "Times it is run inside the ranges", 3, min = 1 },
    ["fp8.program"] = { "Where fp8.py lies", "tests/gpu/fp8.py" },
    ["fp8.on"] = { "Matrices in fp8", "off", choices = { "off", "on" } },
    ["fp8.graph"] = { "Steps as CUDA graphs", "on", choices = { "off", "on" } },
    ["fp8.casts"] = { "Convert to fp32 and back in each layer", "off", choices = { "off", "on" } },
    ["fp8.batch"] = { "Sequences side by side", 64, min = 1 },
  },
  workload = function(cfg)
    return { argv = { cfg.python, cfg.fp8.program, "--repeats", cfg.infer.repeats,
      "--fp8", cfg.fp8.on, "--graph", cfg.fp8.graph, "--casts", cfg.fp8.casts,
      "--batch", cfg.fp8.batch } }
  end,
  stages = { { "decode", step = "decode_step" } },
}
