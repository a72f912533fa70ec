-- llama.cpp's server, as of llama-cpp-python 0.3.36. It has no profiling window and no NVTX:
-- the whole process is captured, warm-up included.
return require("llmprof.serving").recipe {
  name = "llama_cpp",
  engine = "llama_cpp",
  program = "llama-server",
  port = 8080,
  health = "/health",

  options = {
    ["server.gpu_layers"] = { "Layers on the GPU", 999, min = 0 },
    ["server.slot_tokens"] = { "Context of a slot; that of a request unless set", 0, min = 0 },
  },

  -- each slot has its share of the context
  server = function(cfg)
    local slots = cfg.load.concurrency
    local tokens = cfg.server.slot_tokens > 0 and cfg.server.slot_tokens
      or cfg.infer.prompt_tokens + cfg.infer.max_new_tokens
    return { cfg.server.program, "--model", cfg.model.path, "--host", "127.0.0.1",
      "--port", cfg.server.port, "--n-gpu-layers", cfg.server.gpu_layers, "--parallel", slots,
      "--ctx-size", slots * tokens, "--metrics" }
  end,
}
