-- SGLang's server twice, one that prefills and one that decodes, and its router before them,
-- as its page on PD disaggregation has them with NIXL. One capture of both.
local serving = require "llmprof.serving"


local function engine(cfg, role)
  local server = cfg.server
  local argv = { "env", "CUDA_VISIBLE_DEVICES=" .. server[role .. "_gpus"], server.program, "-m",
    "sglang.launch_server", "--model-path", cfg.model.path, "--disaggregation-mode", role,
    "--disaggregation-transfer-backend", "nixl", "--host", "127.0.0.1",
    "--port", tostring(server[role .. "_port"]), "--enable-metrics" }
  return table.move(server.args, 1, #server.args, #argv + 1, argv)
end


return serving.recipe {
  name = "sglang_pd",
  engine = "sglang",
  program = "python3",
  port = 8000,
  health = "/health",
  peers = serving.pair,
  peer_health = "/health",
  window = { start = "/start_profile", body = '{"activities": ["CUDA_PROFILER"]}',
    stop = "/stop_profile" },

  options = serving.pair_options(),

  also = function(cfg) return { engine(cfg, "prefill"), engine(cfg, "decode") } end,

  server = function(cfg)
    local both = serving.pair(cfg)
    return { cfg.server.program, "-m", "sglang_router.launch_router", "--pd-disaggregation",
      "--prefill", both[1], "--decode", both[2], "--host", "127.0.0.1",
      "--port", cfg.server.port }
  end,

  -- what makes the scheduler mark its steps; wants the Python package nvtx
  env = function() return { SGLANG_ENABLE_NVTX_SCHEDULER = "1" } end,
}
