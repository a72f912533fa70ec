-- toy_llm with its ranges in the NVTX domain LLM.
local llm = require "llmprof.recipe"

return llm.recipe {
  name = "toy_domain",
  model = { name = "toy", dtype = "fp32" },
  options = { ["toy.binary"] = { "The program; it is compiled unless given", "" } },

  workload = function(cfg)
    return { argv = {
      cfg.toy.binary ~= "" and cfg.toy.binary
        or llm.compiled "../../recipes/workloads/toy_llm.cu",
      "--domain",
    } }
  end,

  stages = { { "LLM@prefill" }, { "LLM@decode" } },
  nsys = { capture_range = "nvtx", nvtx_capture = "LLM:measured", capture_range_end = "stop" },
  ncu = { preset = "light" },
  top_n = { kernels = 10, launches_per_kernel = 1 },
}
