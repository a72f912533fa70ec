-- TensorRT-LLM's server, PyTorch backend. It calls cudaProfilerStart and
-- cudaProfilerStop itself, at the iterations that TLLM_PROFILE_START_STOP names:
-- a round takes one for prefill and one for each further token.
local function window(cfg)
  if cfg.server.iterations ~= "" then return cfg.server.iterations end
  local first = cfg.load.warmup * cfg.infer.max_new_tokens
  return ("%d-%d"):format(first, first + cfg.load.rounds * cfg.infer.max_new_tokens - 1)
end


return require("llmprof.serving").recipe {
  name = "trtllm",
  program = "trtllm-serve",
  port = 8000,
  health = "/health",
  window = true,

  options = {
    ["server.iterations"] = { "The window, FIRST-LAST; that of the rounds unless set", "" },
  },

  server = function(cfg)
    return { cfg.server.program, cfg.model.path, "--host", "127.0.0.1", "--port", cfg.server.port,
      "--backend", "pytorch" }
  end,

  env = function(cfg)
    if cfg.nsys.capture_range == "none" then return {} end
    return { TLLM_PROFILE_START_STOP = window(cfg) }
  end,
}
