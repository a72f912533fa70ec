-- The toy decoder of workloads/toy_llm.cu: a second of prefill and decode steps
-- in CUDA C, for trying llmprof and a machine out without Python or a model.
local llm = require "llmprof.recipe"

return llm.recipe {
  name = "toy_llm",
  model = { name = "toy", dtype = "fp32" },

  options = {
    ["toy.binary"] = { "The program; without one workloads/toy_llm.cu is compiled, with nvcc", "",
      runs = true },
    ["toy.domain"] = { "Make its ranges in the NVTX domain LLM", false },
    ["toy.graph"] = { "Replay decode steps from a CUDA graph", false },
    ["toy.layers"] = { "Layers", 4, min = 1 },
    ["toy.hidden"] = { "Width, a multiple of 64", 512, min = 64 },
    ["toy.workers"] = { "Forked processes that run it, which nsys.trace_fork_before_exec=true "
      .. "traces; 0 forks none", 0, min = 0 },
    ["infer.prompt_tokens"] = { "Tokens of the prompt", 128, min = 1 },
    ["infer.max_new_tokens"] = { "Tokens generated, the first by prefill", 33, min = 2 },
    ["infer.repeats"] = { "Times it is run inside the ranges", 2, min = 1 },
  },

  workload = function(cfg)
    local argv = {
      cfg.toy.binary ~= "" and cfg.toy.binary or llm.compiled "workloads/toy_llm.cu",
      "--layers", cfg.toy.layers,
      "--hidden", cfg.toy.hidden,
      "--fork", cfg.toy.workers,
      "--prompt", cfg.infer.prompt_tokens,
      "--steps", cfg.infer.max_new_tokens - 1,
      "--repeats", cfg.infer.repeats,
    }
    if cfg.toy.graph then argv[#argv + 1] = "--graph" end
    if cfg.toy.domain then argv[#argv + 1] = "--domain" end
    return { argv = argv }
  end,

  stages = { { "prefill" }, { "decode" } },
  nsys = { capture_range = "nvtx", nvtx_capture = "measured" },
  ncu = { preset = "light", nvtx_include = "decode/" },
  top_n = { kernels = 10 },
}
