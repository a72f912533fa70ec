-- What recipes of serving engines share: recipes/workloads/serve.py starts the
-- engine's server and sends it a fixed load. docs/serving.md is about them.
--
-- An engine is a table: name; server(cfg), the argv that starts it; port (what it
-- listens on by default); health, the path that answers 200 once it is ready;
-- env(cfg), its environment (optional); options, its own (optional); and how its
-- profiling window is opened and closed, where it can be: window = { start =
-- path, body = JSON, stop = path } for POSTs, or window = true where the engine
-- opens it by itself.
local recipe = require "llmprof.recipe"

local serving = {}


local function common_options(engine)
  return {
    ["model.path"] = { "What the server loads: a folder, a file, or a name it knows", "" },
    ["server.program"] = { "The program that serves", engine.program, runs = true },
    ["server.port"] = { "Where it listens, on 127.0.0.1", engine.port, min = 1, max = 65535 },
    ["server.args"] = { "More arguments for the server, word by word", {}, runs = true },
    ["server.ready_timeout_s"] = { "Give up when it is not ready after so many seconds", 900,
      min = 1 },
    ["server.stop_timeout_s"] = { "From SIGTERM to SIGKILL, for its workers to end", 60, min = 0 },
    ["load.rounds"] = { "Rounds of requests inside the window", 3, min = 1 },
    ["load.warmup"] = { "Rounds before that", 2, min = 0 },
    ["load.concurrency"] = { "Requests of a round, sent at once", 1, min = 1 },
    ["load.vocabulary"] = { "Prompts are drawn from the token ids below it", 32000, min = 257 },
    ["infer.prompt_tokens"] = { "Tokens of each prompt", 512, min = 1 },
    ["infer.max_new_tokens"] = { "Tokens of each answer", 64, min = 1 },
  }
end


local function options_of(engine)
  local options = common_options(engine)
  for key, declaration in pairs(engine.options or {}) do options[key] = declaration end
  return options
end


-- The window is the capture range: without one the whole process is captured.
local function window_options(engine, cfg)
  if cfg.nsys.capture_range == "none" or engine.window == true then return {} end
  if not engine.window then
    recipe.fail(("%s opens no profiling window"):format(engine.name),
      "nsys.capture_range=none captures the whole process")
  end
  local window = engine.window
  local argv = { "--start-path", window.start, "--stop-path", window.stop }
  if window.body then table.move({ "--start-body", window.body }, 1, 2, #argv + 1, argv) end
  return argv
end


local function append(argv, words)
  return table.move(words, 1, #words, #argv + 1, argv)
end


-- The workload: serve.py, its options, and behind "--" the server.
local function workload_of(engine, driver)
  return function(cfg)
    if cfg.model.path == "" then
      recipe.fail("model.path is not set", "model.path=DIR names what the server loads")
    end
    local argv = { cfg.python, driver,
      "--url", ("http://127.0.0.1:%d"):format(cfg.server.port), "--health", engine.health,
      "--ready-timeout", cfg.server.ready_timeout_s, "--stop-timeout", cfg.server.stop_timeout_s,
      "--rounds", cfg.load.rounds, "--warmup", cfg.load.warmup,
      "--concurrency", cfg.load.concurrency, "--vocabulary", cfg.load.vocabulary,
      "--prompt-tokens", cfg.infer.prompt_tokens, "--new-tokens", cfg.infer.max_new_tokens }
    append(argv, window_options(engine, cfg))
    append(argv, { "--" })
    append(argv, engine.server(cfg))
    append(argv, cfg.server.args)
    return { argv = argv, env = engine.env and engine.env(cfg) or nil }
  end
end


-- What is served, by its name or the name of its folder or file.
local function identify(cfg)
  return { name = cfg.model.path:match "([^/]+)/*$" }
end


-- The recipe of an engine. Its workers are forked or spawned processes; the
-- driver ends them all, so that waiting for it is enough. The stages are inferred:
-- no engine marks prefill and decode by these names.
function serving.recipe(engine)
  return recipe.recipe {
    name = engine.name,
    identify = identify,
    options = options_of(engine),
    workload = workload_of(engine, recipe.path "workloads/serve.py"),
    stages = { { "prefill" }, { "decode" } },
    overhead = "off", -- a server takes long to start
    nsys = {
      capture_range = engine.window and "cudaProfilerApi" or "none",
      trace_fork_before_exec = true,
      wait = "primary",
    },
  }
end


return serving
