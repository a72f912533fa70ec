-- vLLM's server, run with 0.24. Its profiler "cuda" makes /start_profile and /stop_profile call
-- cudaProfilerStart and cudaProfilerStop in the workers (vLLM 0.13 or newer).
return require("llmprof.serving").recipe {
  name = "vllm_serve",
  engine = "vllm",
  program = "vllm",
  port = 8000,
  health = "/health",
  window = { start = "/start_profile", stop = "/stop_profile" },

  server = function(cfg)
    return { cfg.server.program, "serve", cfg.model.path, "--host", "127.0.0.1",
      "--port", cfg.server.port, "--profiler-config.profiler", "cuda" }
  end,

  -- workers that are forked leave empty captures
  env = function() return { VLLM_WORKER_MULTIPROC_METHOD = "spawn" } end,
}
