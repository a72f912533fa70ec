-- TensorRT-LLM's server, PyTorch backend, as 1.2 documents it. It calls cudaProfilerStart and
-- cudaProfilerStop itself, at the iterations that TLLM_PROFILE_START_STOP names:
-- a round takes one for prefill and one for each further token.
local recipe = require "llmprof.recipe"

local function window(cfg)
  if cfg.server.iterations ~= "" then return cfg.server.iterations end
  if cfg.load.rate > 0 or #cfg.load.command > 0 then
    recipe.fail("which iterations the window is cannot be told of requests that come by themselves",
      "server.iterations=FIRST-LAST, or nsys.capture_range=none for the whole process")
  end
  local first = cfg.load.warmup * cfg.infer.max_new_tokens
  return ("%d-%d"):format(first, first + cfg.load.rounds * cfg.infer.max_new_tokens - 1)
end


return require("llmprof.serving").recipe {
  name = "trtllm",
  engine = "trtllm",
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
    if cfg.nsys.capture_range == "none" or cfg.capture == "none" then return {} end
    return { TLLM_PROFILE_START_STOP = window(cfg) }
  end,
}
