-- Dynamo 1.1 with vLLM as its worker: a frontend, and a worker that it finds through files.
-- The worker's window is on a port of its own, so that the whole process is captured.
return require("llmprof.serving").recipe {
  name = "dynamo",
  engine = "dynamo",
  program = "python3",
  port = 8000,
  health = "/health",

  options = {
    ["server.worker"] = { "Its engine", "vllm", choices = { "vllm", "sglang", "trtllm" } },
  },

  also = function(cfg)
    return { { cfg.server.program, "-m", "dynamo.frontend", "--discovery-backend", "file",
      "--http-port", tostring(cfg.server.port) } }
  end,

  server = function(cfg)
    local worker = cfg.server.worker
    return { cfg.server.program, "-m", "dynamo." .. worker,
      worker == "vllm" and "--model" or "--model-path", cfg.model.path,
      "--discovery-backend", "file" }
  end,

  -- requests are marked; steps are its engine's
  env = function() return { DYN_NVTX = "1", DYN_ENABLE_RUST_NVTX = "1" } end,
}
