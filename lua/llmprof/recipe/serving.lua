-- What recipes of serving engines share: recipes/workloads/serve.py starts the
-- engine's server and sends it a load. docs/serving.md is about them.
--
-- An engine is a table: name; engine, which one of llmprof.engines it is; server(cfg), the
-- argv that starts it; also(cfg), a list of argv that are started before it (optional);
-- peers(cfg), the URLs of these where they are servers behind it that have the window, the
-- page and the model, and peer_health (both optional); awaited(cfg), the URLs of programs whose
-- /health answers 200 before the load is sent (optional); port (what it listens on by default);
-- health, the path that answers 200 once it is
-- ready; env(cfg), its environment (optional); options, its own (optional); and how its
-- profiling window is opened and closed, where it can be: window = { start =
-- path, body = JSON, stop = path } for POSTs, or window = true where the engine
-- opens it by itself; and eager = { path, body }, a POST from which on it leaves its CUDA
-- graphs out (optional).
local engines = require "llmprof.engines"
local json = require "llmprof.json"
local merged = require("llmprof.tables.keys").merged
local recipe = require "llmprof.recipe"
local sorted_keys = require("llmprof.tables.keys").sorted
local lists = require "llmprof.tables.lists"

local serving = {}


local function server_options(engine)
  return {
    ["model.path"] = { "What the server loads: a folder, a file, or a name it knows", "" },
    ["server.program"] = { "The program that serves", engine.program, runs = true },
    ["server.port"] = { "Where it listens, on 127.0.0.1", engine.port, min = 1, max = 65535 },
    ["server.url"] = { "http://HOST:PORT of one that runs already, and is left running", "" },
    ["server.session"] = { "Of that one, the session of nsys launch --session-new=NAME in which "
      .. "it was started", "" },
    ["server.spools"] = { "Of that one, the folder of its collector, with capture=builtin", "" },
    ["server.args"] = { "More arguments for the server, word by word", {}, runs = true },
    ["server.ready_timeout_s"] = { "Seconds to wait until it is ready", 900, min = 1 },
    ["server.stop_timeout_s"] = { "From SIGTERM to SIGKILL, for its workers to end", 60, min = 0 },
    ["server.metrics"] = { "Look at its Prometheus page before, in and after the window", "on",
      choices = { "on", "off" } },
  }
end


local load_options = {
  ["load.rounds"] = { "Rounds of requests inside the window", 3, min = 1 },
  ["load.warmup"] = { "Rounds before that", 2, min = 0 },
  ["load.concurrency"] = { "Requests of a round, sent at once", 1, min = 1 },
  ["load.rate"] = { "Requests per second, each at a time of its own, in place of rounds; 0: "
    .. "rounds", 0.0, min = 0 },
  ["load.arrivals"] = { "Pauses between them", "poisson", choices = { "poisson", "constant" } },
  ["load.requests"] = { "How many of them", 64, min = 1 },
  ["load.prompt_lengths"] = { "Tokens of prompts, in place of infer.prompt_tokens: "
    .. "uniform:N-M, normal:MEAN,DEVIATION, lognormal:MEDIAN,SIGMA or exponential:MEAN", "" },
  ["load.answer_lengths"] = { "The same of answers", "" },
  ["load.prefix_tokens"] = { "At the beginning of prompts, the same in several", 0, min = 0 },
  ["load.prefixes"] = { "How many such beginnings there are", 1, min = 1 },
  ["load.file"] = { "Requests from a file: JSON a line, or conversations as in ShareGPT", "" },
  ["load.slo.ttft_ms"] = { "A good request has its first token by then; 0: any", 0.0, min = 0 },
  ["load.slo.tpot_ms"] = { "And each token after it; 0: any", 0.0, min = 0 },
  ["load.command"] = { "Another load generator instead, word by word, with {url}, {host}, "
    .. "{port}, {model} and {result}", {}, runs = true },
  ["load.timeout_s"] = { "Seconds after which that is ended", 3600, min = 1 },
  ["load.vocabulary"] = { "Prompts are drawn from the token ids below it", 32000, min = 257 },
  ["infer.prompt_tokens"] = { "Tokens of each prompt", 512, min = 1 },
  ["infer.max_new_tokens"] = { "Tokens of each answer", 64, min = 1 },
}


-- Can its window be opened when we like, and again?
local function has_window(engine) return type(engine.window) == "table" end


local window_load = {
  ["load.counter_rounds"] = { "How often the load comes again in each further window, for "
    .. "counters with capture=builtin", 1, min = 0 },
}

local eager_load = {
  ["counters.eager_round"] = { "Leave CUDA graphs out in these windows, so that their kernels "
    .. "have counters; the engine starts with an endpoint for that", "off",
    choices = { "on", "off" } },
}


local function options_of(engine)
  return merged(server_options(engine), load_options, has_window(engine) and window_load or {},
    engine.eager and eager_load or {}, engine.options or {})
end


-- A session, or a folder of spools, is of a server that somebody else started.
local function check_attached(cfg)
  for _, key in ipairs { "session", "spools" } do
    if cfg.server[key] ~= "" and cfg.server.url == "" then
      recipe.fail(("server.%s names how a server was started that runs already"):format(key),
        "server.url=http://HOST:PORT says where it is")
    end
  end
  if cfg.server.spools ~= "" and cfg.capture ~= "builtin" then
    recipe.fail("server.spools are of llmprof's own collector", "capture=builtin reads them")
  elseif cfg.server.session ~= "" and cfg.capture ~= "auto" and cfg.capture ~= "nsys" then
    recipe.fail(("server.session is a session of nsys, and capture=%s takes none"):format(
      cfg.capture), "leave one of the two out")
  end
end


-- Add options: { "--name", value } each, true where it has no value; without those whose value is
-- false or empty.
local function add_options(argv, options)
  for _, option in ipairs(options) do
    local name, value = table.unpack(option)
    if value == true then value = nil end
    if value ~= false and value ~= "" then lists.add(argv, { name, value }) end
  end
end


-- The same option with each value of a list.
local function add_each(argv, name, values)
  for _, value in ipairs(values) do lists.add(argv, { name, value }) end
end


-- The window is the capture range: without one the whole process is captured. In a session,
-- or with our collector's socket, it makes the engine mark its steps.
local function add_window(argv, engine, cfg)
  local others = cfg.server.session ~= "" or cfg.server.spools ~= ""
  if others and not has_window(engine) then return end
  if cfg.nsys.capture_range == "none" or cfg.capture == "none" or engine.window == true then
    return
  end
  if not engine.window then
    recipe.fail(("%s opens no profiling window"):format(engine.name),
      "nsys.capture_range=none captures the whole process")
  end
  local window, eager = engine.window, cfg.counters.eager_round == "on" and engine.eager or {}
  add_options(argv, { { "--start-path", window.start }, { "--stop-path", window.stop },
    { "--counter-rounds", cfg.load.counter_rounds }, { "--start-body", window.body or false },
    { "--eager-path", eager.path or false }, { "--eager-body", eager.body or false } })
end


-- What the engine's page calls the figures that we take from it.
local function add_page(argv, engine, cfg)
  local known = engines.find(engine.engine)
  if cfg.server.metrics == "off" or not known.figures then return end
  lists.add(argv, { "--metrics-path", known.page })
  for _, figure in ipairs(sorted_keys(known.figures)) do
    add_each(argv, "--metric", lists.map(known.figures[figure], function(name)
      return ("%s=%s"):format(figure, name)
    end))
  end
end


-- What is sent: rounds, a rate or another generator.
local function add_load(argv, cfg)
  local load, command = cfg.load, #cfg.load.command > 0
  if command and (load.rate > 0 or load.file ~= "") then
    recipe.fail("load.command brings its own requests", "leave load.rate and load.file out")
  elseif command then
    lists.add(argv, { "--command", json.encode(json.list(load.command)), "--timeout",
      load.timeout_s })
  elseif load.rate > 0 then
    lists.add(argv, { "--rate", load.rate, "--arrivals", load.arrivals,
      "--requests", load.requests })
  else
    lists.add(argv, { "--rounds", load.rounds })
  end
  local function length(given, otherwise) return given ~= "" and given or otherwise end
  local function above_zero(value, of) return (of or value) > 0 and value end
  add_options(argv, { { "--warmup", load.warmup }, { "--concurrency", load.concurrency },
    { "--vocabulary", load.vocabulary },
    { "--prompt-tokens", length(load.prompt_lengths, cfg.infer.prompt_tokens) },
    { "--new-tokens", length(load.answer_lengths, cfg.infer.max_new_tokens) },
    { "--prefix-tokens", above_zero(load.prefix_tokens) },
    { "--prefixes", above_zero(load.prefixes, load.prefix_tokens) }, { "--file", load.file },
    { "--slo-ttft", above_zero(load.slo.ttft_ms) },
    { "--slo-tpot", above_zero(load.slo.tpot_ms) } })
end


-- The server behind "--"; of one that runs already only where it is.
local function add_server(argv, engine, cfg)
  if cfg.server.url ~= "" then return end
  if cfg.model.path == "" then
    recipe.fail("model.path is not set", "model.path=DIR names what the server loads")
  end
  add_each(argv, "--also", lists.map(engine.also and engine.also(cfg) or {}, function(words)
    return json.encode(json.list(words))
  end))
  lists.add(lists.add(argv, { "--" }), engine.server(cfg))
  if not engine.peers then lists.add(argv, cfg.server.args) end
end


-- The workload: serve.py, its options, and behind "--" the server.
local function workload_of(engine, driver)
  return function(cfg)
    check_attached(cfg)
    local url, argv = cfg.server.url, { cfg.python, driver }
    local is_ours = url == ""
    add_options(argv, {
      { "--url", is_ours and ("http://127.0.0.1:%d"):format(cfg.server.port) or url },
      { "--health", engine.health }, { "--ready-timeout", cfg.server.ready_timeout_s },
      { "--stop-timeout", cfg.server.stop_timeout_s }, { "--attach", not is_ours } })
    local peers = engine.peers and engine.peers(cfg) or {} -- the servers behind this one
    add_each(argv, "--peer", peers)
    add_options(argv, { { "--peer-health", #peers > 0 and engine.peer_health } })
    add_each(argv, "--await", is_ours and engine.awaited and engine.awaited(cfg) or {})
    add_load(argv, cfg)
    add_window(argv, engine, cfg)
    add_options(argv, { { "--spools", cfg.server.spools } })
    add_page(argv, engine, cfg)
    add_server(argv, engine, cfg)
    return { argv = argv, env = engine.env and engine.env(cfg) or nil }
  end
end


-- What is served, by its name or the name of its folder or file.
local function identify(cfg) return { name = cfg.model.path:match "([^/]+)/*$" } end


-- ---- prefill and decode apart ----

-- Options of an engine whose prefill and decode are servers of their own.
function serving.pair_options(more)
  return merged({
    ["server.prefill"] = { "http://HOST:PORT of the one that prefills, with server.url", "" },
    ["server.decode"] = { "The same of the one that decodes", "" },
    ["server.prefill_port"] = { "Where the one listens, on 127.0.0.1", 8100, min = 1, max = 65535 },
    ["server.decode_port"] = { "Where the other does", 8200, min = 1, max = 65535 },
    ["server.prefill_gpus"] = { "CUDA_VISIBLE_DEVICES of the one", "0" },
    ["server.decode_gpus"] = { "The same of the other", "1" },
  }, more or {})
end


-- Where both are: those that run already, or ours.
function serving.pair(cfg)
  local server = cfg.server
  if (server.url ~= "") ~= (server.prefill ~= "") or (server.url ~= "") ~= (server.decode ~= "")
  then
    recipe.fail("server.url, server.prefill and server.decode go together",
      "they are servers that run already: the one that is asked, and the two behind it")
  elseif server.url ~= "" then
    return { server.prefill, server.decode }
  end
  return { ("http://127.0.0.1:%d"):format(server.prefill_port),
    ("http://127.0.0.1:%d"):format(server.decode_port) }
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
