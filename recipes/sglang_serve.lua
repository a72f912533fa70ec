-- SGLang's server, as 0.5 documents it. With the activity CUDA_PROFILER /start_profile calls
-- cudaProfilerStart in the scheduler, and /stop_profile cudaProfilerStop.
return require("llmprof.serving").recipe {
  name = "sglang_serve",
  engine = "sglang",
  program = "python3",
  port = 30000,
  health = "/health",
  window = { start = "/start_profile", body = '{"activities": ["CUDA_PROFILER"]}',
    stop = "/stop_profile" },

  server = function(cfg)
    return { cfg.server.program, "-m", "sglang.launch_server", "--model-path", cfg.model.path,
      "--host", "127.0.0.1", "--port", cfg.server.port, "--enable-metrics" }
  end,

  -- what makes the scheduler mark its steps; wants the Python package nvtx
  env = function() return { SGLANG_ENABLE_NVTX_SCHEDULER = "1" } end,
}
