-- vLLM's server, run with 0.24. Its profiler "cuda" makes /start_profile and /stop_profile call
-- cudaProfilerStart and cudaProfilerStop in the workers (vLLM 0.13 or newer).
return require("llmprof.serving").recipe {
  name = "vllm_serve",
  engine = "vllm",
  program = "vllm",
  port = 8000,
  health = "/health",
  window = { start = "/start_profile", stop = "/stop_profile" },

  -- its endpoint is one for development, and calls what workload_vllm.py has
  eager = { path = "/collective_rpc", body = '{"method": "llmprof_eager"}' },

  server = function(cfg)
    local argv = { cfg.server.program, "serve", cfg.model.path, "--host", "127.0.0.1",
      "--port", cfg.server.port, "--profiler-config.profiler", "cuda" }
    if cfg.counters.eager_round == "on" then
      table.move({ "--worker-extension-cls", "workload_vllm.Eager" }, 1, 2, #argv + 1, argv)
    end
    return argv
  end,

  -- workers that are forked leave empty captures
  env = function(cfg)
    return { VLLM_WORKER_MULTIPROC_METHOD = "spawn",
      VLLM_SERVER_DEV_MODE = cfg.counters.eager_round == "on" and "1" or nil }
  end,
}
