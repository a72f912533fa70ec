-- Dynamo 1.1 with vLLM as its worker: a frontend, and a worker that it finds through files; or
-- two workers, one that prefills and one that decodes, as its scripts launch/disagg.sh have
-- them. A worker's window is on a port of its own, so that the whole process is captured.
local json = require "llmprof.json"
local recipe = require "llmprof.recipe"

local NIXL = json.encode { kv_connector = "NixlConnector", kv_role = "kv_both" }

-- What a worker of a pair wants beside its mode.
local transfer = {
  vllm = { "--kv-transfer-config", NIXL },
  sglang = { "--disaggregation-transfer-backend", "nixl", "--disaggregation-bootstrap-port",
    "12345", "--host", "0.0.0.0", "--page-size", "16" },
}


local function append(argv, words)
  return table.move(words, 1, #words, #argv + 1, argv)
end


local function is_pair(cfg) return cfg.server.disaggregated == "on" end


local function worker(cfg)
  local server = cfg.server
  return { server.program, "-m", "dynamo." .. server.worker,
    server.worker == "vllm" and "--model" or "--model-path", cfg.model.path,
    "--discovery-backend", "file" }
end


-- One of two workers; port: where it says how it is.
local function worker_of_pair(cfg, role, port, more)
  local server = cfg.server
  if not transfer[server.worker] then
    recipe.fail(("server.disaggregated=on is not written down for %s"):format(server.worker),
      "its workers want a file for each; server.worker=vllm, or sglang")
  end
  local argv = { "env", "CUDA_VISIBLE_DEVICES=" .. server[role .. "_gpus"],
    "DYN_SYSTEM_PORT=" .. port }
  append(append(argv, more), worker(cfg))
  return append(append(argv, { "--disaggregation-mode", role }), transfer[server.worker])
end


return require("llmprof.serving").recipe {
  name = "dynamo",
  engine = "dynamo",
  program = "python3",
  port = 8000,
  health = "/health",

  options = {
    ["server.worker"] = { "Its engine", "vllm", choices = { "vllm", "sglang", "trtllm" } },
    ["server.disaggregated"] = { "Prefill and decode in a worker each", "off",
      choices = { "off", "on" } },
    ["server.prefill_gpus"] = { "CUDA_VISIBLE_DEVICES of the one that prefills", "0" },
    ["server.decode_gpus"] = { "The same of the one that decodes", "1" },
    ["server.prefill_port"] = { "Where the one says how it is, on 127.0.0.1", 8081, min = 1,
      max = 65535 },
    ["server.decode_port"] = { "Where the other does", 8082, min = 1, max = 65535 },
  },

  also = function(cfg)
    local made = { { cfg.server.program, "-m", "dynamo.frontend", "--discovery-backend", "file",
      "--http-port", tostring(cfg.server.port) } }
    if is_pair(cfg) then
      made[2] = append(worker_of_pair(cfg, "prefill", cfg.server.prefill_port,
        { "VLLM_NIXL_SIDE_CHANNEL_PORT=20097" }), cfg.server.args)
    end
    return made
  end,

  -- until the one that prefills is there the other does it, too
  awaited = function(cfg)
    return is_pair(cfg) and { ("http://127.0.0.1:%d"):format(cfg.server.prefill_port),
      ("http://127.0.0.1:%d"):format(cfg.server.decode_port) } or {}
  end,

  server = function(cfg)
    return is_pair(cfg) and worker_of_pair(cfg, "decode", cfg.server.decode_port, {})
      or worker(cfg)
  end,

  -- requests are marked; steps are its engine's
  env = function() return { DYN_NVTX = "1", DYN_ENABLE_RUST_NVTX = "1" } end,
}
