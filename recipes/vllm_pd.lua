-- vLLM's server twice, one that prefills and one that decodes, as the guide of its
-- NixlConnector has them, with the proxy of that guide before them: a file of vLLM's
-- repository, tests/v1/kv_connector/nixl_integration/toy_proxy_server.py. One capture of both.
-- Both may be on one GPU, and another connector may carry the cache.
local json = require "llmprof.json"
local recipe = require "llmprof.recipe"
local serving = require "llmprof.serving"

local KV = json.encode { kv_connector = "NixlConnector", kv_role = "kv_both" }


local function append(argv, words)
  return table.move(words, 1, #words, #argv + 1, argv)
end


-- One of the two; side: where their connectors meet.
local function engine(cfg, role, side)
  local server = cfg.server
  local argv = { "env", "CUDA_VISIBLE_DEVICES=" .. server[role .. "_gpus"],
    "VLLM_NIXL_SIDE_CHANNEL_PORT=" .. side, server.program, "serve", cfg.model.path,
    "--host", "127.0.0.1", "--port", tostring(server[role .. "_port"]),
    "--profiler-config.profiler", "cuda" }
  if server.kv_transfer ~= "" then append(argv, { "--kv-transfer-config", server.kv_transfer }) end
  return append(append(argv, server.args), server[role .. "_args"])
end


return serving.recipe {
  name = "vllm_pd",
  engine = "vllm",
  program = "vllm",
  port = 8000,
  health = "/healthcheck",
  peers = serving.pair,
  peer_health = "/health",
  window = { start = "/start_profile", stop = "/stop_profile" },

  options = serving.pair_options {
    ["server.proxy"] = { "Path of toy_proxy_server.py", "", runs = true },
    ["server.kv_transfer"] = { "--kv-transfer-config of both; empty where their arguments say it",
      KV },
    ["server.prefill_args"] = { "More arguments for the one that prefills", {}, runs = true },
    ["server.decode_args"] = { "The same for the one that decodes", {}, runs = true },
  },

  also = function(cfg) return { engine(cfg, "prefill", 5600), engine(cfg, "decode", 5601) } end,

  server = function(cfg)
    if cfg.server.proxy == "" then
      recipe.fail("server.proxy is not set", "vLLM's repository has it: "
        .. "tests/v1/kv_connector/nixl_integration/toy_proxy_server.py")
    end
    return { cfg.python, cfg.server.proxy, "--port", cfg.server.port,
      "--prefiller-hosts", "127.0.0.1", "--prefiller-ports", cfg.server.prefill_port,
      "--decoder-hosts", "127.0.0.1", "--decoder-ports", cfg.server.decode_port }
  end,

  -- workers that are forked leave empty captures
  env = function() return { VLLM_WORKER_MULTIPROC_METHOD = "spawn", UCX_NET_DEVICES = "all" } end,
}
