-- The recipes that come with llmprof: what they run.
local bundle = require "tests.lua.support.bundle"
local config = require "llmprof.recipe.config"
local files = require "llmprof.io.files"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local recipe = require "llmprof.recipe"


local function workload_of(name, ...)
  local made = recipe.load(name)
  return made.workload(config.of_recipe(made, nil, { ... }).tree)
end


local function argv_of(...)
  local words = workload_of(...).argv
  for i, word in ipairs(words) do
    words[i] = type(word) == "table" and word.compile .. ", compiled" or tostring(word)
  end
  return words
end


describe("recipes/deepseek_ocr.lua", function()
  local top = bundle.scratch(before_each, after_each)

  it("hands on what is set", function()
    assert.same({ "py", "recipes/workloads/deepseek_ocr.py", "--device", "cuda:1",
      "--dtype", "fp16", "--batch", "4", "--max-new-tokens", "8", "--repeats", "3", "--warmup", "0",
      "--compile", "default", "--cuda-graph", "on", "--kv-cache", "auto", "--attention", "sdpa",
      "--experts", "loop", "--sync-per-token", "on", "--trust-remote-code",
      "--model-path", "/m", "--loader", "native",
      "--dataset-root", "/d", "--subset-filelist", "list.txt", "--fallback-patterns", "**/*.png",
      "--num-epochs", "2", "--num-samples-per-epoch", "5", "--randomize",
    }, argv_of("recipes/deepseek_ocr.lua", "python=py", "device=cuda:1", "infer.max_new_tokens=8",
      "model.dtype=fp16",
      "infer.batch=4", "infer.repeats=3", "infer.warmup=0", "infer.compile=default",
      "infer.cuda_graph=on", "model.path=/m", "model.loader=native",
      "model.trust_remote_code=true", "dataset.root=/d", "dataset.subset_filelist=list.txt",
      "dataset.fallback_patterns=[\"**/*.png\"]", "dataset.sampling.num_epochs=2",
      "dataset.sampling.num_samples_per_epoch=5", "dataset.sampling.randomize=true"))
  end)

  it("takes lists as --help prints them, and 0 or null samples for all", function()
    local help = require("llmprof.cli.commands.run").help { "recipes/deepseek_ocr.lua" }
    local shown = help:match "dataset.fallback_patterns +Images[^\n]*%((.-)%)\n"
    for _, all in ipairs { "0", "null" } do
      local words = table.concat(argv_of("recipes/deepseek_ocr.lua",
        "dataset.fallback_patterns=" .. shown,
        "dataset.sampling.num_samples_per_epoch=" .. all), " ")
      assert.matches("%-%-fallback%-patterns %*%.png,%*%.jpg ", words)
      assert.matches("%-%-num%-samples%-per%-epoch 0 ", words)
    end
  end)

  it("names every input that a list has", function()
    local list, digest = top() .. "/inputs.yaml", ("0a"):rep(32)
    assert(fs.write(list, ("files: [{ name: a.png, sha256: %s }, b.png]\n"):format(digest)))
    local words = table.concat(argv_of("recipes/deepseek_ocr.lua", "inputs.manifest=" .. list), " ")
    assert.equal((" --input sha256:%s:a.png --input b.png"):format(digest),
      words:match " %-%-input .*")
  end)
end)


describe("recipes/alt_llm.lua", function()
  it("runs a preset with random weights", function()
    assert.same({ "python3", "recipes/workloads/causal_lm.py", "--device", "cuda:0",
      "--dtype", "bf16", "--batch", "1", "--max-new-tokens", "64", "--repeats", "3",
      "--warmup", "1", "--compile", "off", "--cuda-graph", "off", "--kv-cache", "auto",
      "--attention", "sdpa", "--experts", "loop", "--sync-per-token", "on",
      "--prompt-tokens", "512", "--preset", "llama3_8b" }, argv_of "recipes/alt_llm.lua")
  end)

  local function tail_of(...)
    local words = argv_of("recipes/alt_llm.lua", ...)
    return table.move(words, 29, #words, 1, {})
  end

  it("prefers a checkpoint, then a config.json, to the preset", function()
    assert.same({ "--model-path", "/m" }, tail_of "model.path=/m")
    assert.same({ "--model-config", "/c.json" }, tail_of "model.config=/c.json")
    assert.same({ "--preset", "mixtral_8x7b" }, tail_of "model.preset=mixtral_8x7b")
  end)

  -- Name, variant and arch of the model that these words choose.
  local function model_of(...)
    local model = config.of_recipe(recipe.load "recipes/alt_llm.lua", nil, { ... }).tree.model
    return { model.name, model.variant, model.arch }
  end

  it("says which model it is", function()
    assert.same({ "Llama-3", "8B", "llama3_8b" }, model_of())
    for _, preset in ipairs(recipe.load "recipes/alt_llm.lua".options["model.preset"].choices) do
      assert.equal(preset, model_of("model.preset=" .. preset)[3])
    end
    assert.same({ "checkpoint" }, model_of "model.path=/models/checkpoint/")
    assert.same({ "Phi" }, model_of "model.config=models/Phi/config.json")
    assert.same({ "mine", "8B", "llama3_8b" }, model_of "model.name=mine")
  end)

  it("refuses a checkpoint and a config.json together", function()
    local ok, err = pcall(tail_of, "model.path=/m", "model.config=/c.json")
    assert.is_false(ok)
    assert.equal("model.path and model.config are both set", err.message)
  end)
end)


describe("recipes/toy_llm.lua", function()
  it("compiles the program from its source", function()
    assert.same({ "recipes/workloads/toy_llm.cu, compiled", "--layers", "4", "--hidden", "512",
      "--fork", "0", "--prompt", "128", "--steps", "32", "--repeats", "2" },
      argv_of "recipes/toy_llm.lua")
  end)

  it("hands on what is set", function()
    assert.same({ "/t", "--layers", "2", "--hidden", "128", "--fork", "3", "--prompt", "16",
      "--steps", "4", "--repeats", "5", "--graph",
    }, argv_of("recipes/toy_llm.lua", "toy.binary=/t", "toy.layers=2", "toy.hidden=128",
      "toy.workers=3", "toy.graph=true", "infer.prompt_tokens=16", "infer.max_new_tokens=5",
      "infer.repeats=5"))
  end)
end)


describe("recipes of serving engines", function()
  -- What stands before and behind the "--" of the driver's command line.
  local function halves(...)
    local words, before, behind = argv_of(...), {}, {}
    local list = before
    for _, word in ipairs(words) do
      if word == "--" and list == before then
        list = behind
      else
        list[#list + 1] = word
      end
    end
    return before, behind
  end

  local function environment(name, ...)
    return workload_of(name, "model.path=/m", ...).env
  end

  it("send a fixed load to the server that they start", function()
    local before, behind = halves("recipes/vllm_serve.lua", "model.path=/m", "python=py",
      "server.port=9", "server.ready_timeout_s=1", "server.stop_timeout_s=2", "load.rounds=3",
      "load.warmup=4", "load.concurrency=5", "load.vocabulary=600", "infer.prompt_tokens=7",
      "infer.max_new_tokens=8", "server.program=/v", "server.args=[--seed, '1']",
      "server.metrics=off")
    assert.same({ "py", "recipes/workloads/serve.py", "--url", "http://127.0.0.1:9", "--health",
      "/health", "--ready-timeout", "1", "--stop-timeout", "2", "--rounds", "3", "--warmup", "4",
      "--concurrency", "5", "--vocabulary", "600", "--prompt-tokens", "7", "--new-tokens", "8",
      "--start-path", "/start_profile", "--stop-path", "/stop_profile", "--counter-rounds", "1" },
      before)
    assert.same({ "/v", "serve", "/m", "--host", "127.0.0.1", "--port", "9",
      "--profiler-config.profiler", "cuda", "--seed", "1" }, behind)
  end)

  it("open no window where the whole process is captured", function()
    local before = halves("recipes/sglang_serve.lua", "model.path=/m", "server.metrics=off",
      "nsys.capture_range=none")
    assert.equal("--new-tokens", before[#before - 1])
    before = halves("recipes/sglang_serve.lua", "model.path=/m", "server.metrics=off")
    assert.same({ "--start-path", "/start_profile", "--stop-path", "/stop_profile",
      "--counter-rounds", "1", "--start-body", '{"activities": ["CUDA_PROFILER"]}' },
      table.move(before, #before - 7, #before, 1, {}))
  end)

  it("give each slot of llama.cpp its share of the context", function()
    local _, behind = halves("recipes/llama_cpp.lua", "model.path=/m", "load.concurrency=3",
      "infer.prompt_tokens=10", "infer.max_new_tokens=5")
    assert.same({ "--parallel", "3", "--ctx-size", "45", "--metrics" },
      table.move(behind, #behind - 4, #behind, 1, {}))
    _, behind = halves("recipes/llama_cpp.lua", "model.path=/m", "server.slot_tokens=70")
    assert.equal("70", behind[#behind - 1])
  end)

  -- The words of a command line from one on.
  local function from(word, words)
    for i, each in ipairs(words) do
      if each == word then return table.move(words, i, #words, 1, {}) end
    end
    return {}
  end

  it("send requests at a rate, of lengths that are drawn, with limits", function()
    local before = halves("recipes/vllm_serve.lua", "model.path=/m", "load.rate=2.5",
      "load.requests=9", "load.arrivals=constant", "load.prompt_lengths=uniform:5-9",
      "load.answer_lengths=exponential:30", "load.prefix_tokens=4", "load.prefixes=2",
      "load.file=r.jsonl", "load.slo.ttft_ms=200", "load.slo.tpot_ms=10", "capture=none",
      "server.metrics=off")
    assert.same({ "--rate", "2.5", "--arrivals", "constant", "--requests", "9", "--warmup", "2",
      "--concurrency", "1", "--vocabulary", "32000", "--prompt-tokens", "uniform:5-9",
      "--new-tokens", "exponential:30", "--prefix-tokens", "4", "--prefixes", "2", "--file",
      "r.jsonl", "--slo-ttft", "200", "--slo-tpot", "10" }, from("--rate", before))
  end)

  it("run another generator, which brings its own requests", function()
    local before = halves("recipes/vllm_serve.lua", "model.path=/m",
      "load.command=[bench, --url, '{url}']", "load.timeout_s=9")
    assert.same({ "--command", '["bench","--url","{url}"]', "--timeout", "9" },
      table.move(from("--command", before), 1, 4, 1, {}))
    local _, wrong = pcall(argv_of, "recipes/vllm_serve.lua", "model.path=/m",
      "load.command=[bench]", "load.rate=3")
    assert.equal("load.command brings its own requests", wrong.message)
  end)

  it("attach to a server that runs already", function()
    local before, behind = halves("recipes/vllm_serve.lua", "server.url=http://10.0.0.1:80")
    assert.same({}, behind)
    assert.equal("http://10.0.0.1:80", from("--url", before)[2])
    assert.equal("--attach", from("--attach", before)[1])
  end)

  it("start prefill and decode as servers of their own", function()
    local before, behind = halves("recipes/vllm_pd.lua", "model.path=/m", "server.proxy=p.py",
      "server.args=[--seed, '1']", "python=py")
    assert.same({ "py", "p.py", "--port", "8000", "--prefiller-hosts", "127.0.0.1",
      "--prefiller-ports", "8100", "--decoder-hosts", "127.0.0.1", "--decoder-ports", "8200" },
      behind)
    local also = from("--also", before)
    assert.same({ "env", "CUDA_VISIBLE_DEVICES=0", "VLLM_NIXL_SIDE_CHANNEL_PORT=5600", "vllm",
      "serve", "/m", "--host", "127.0.0.1", "--port", "8100", "--profiler-config.profiler", "cuda",
      "--kv-transfer-config", '{"kv_connector":"NixlConnector","kv_role":"kv_both"}', "--seed",
      "1" }, json.decode(also[2]))
    assert.matches('"CUDA_VISIBLE_DEVICES=1"', also[4], nil, true)
    local peers = from("--peer", before)
    assert.same({ "http://127.0.0.1:8100", "--peer", "http://127.0.0.1:8200" },
      { peers[2], peers[3], peers[4] })
    before = halves("recipes/vllm_pd.lua", "model.path=/m", "server.proxy=p.py",
      "server.kv_transfer=", "server.decode_gpus=0", "server.decode_args=[--seed, '2']")
    assert.same({ "--profiler-config.profiler", "cuda", "--seed", "2" },
      from("--profiler-config.profiler", json.decode(from("--also", before)[4])))
    assert.matches('"CUDA_VISIBLE_DEVICES=0"', from("--also", before)[4], nil, true)
    before, behind = halves("recipes/sglang_pd.lua", "model.path=/m")
    assert.same({ "python3", "-m", "sglang_router.launch_router", "--pd-disaggregation",
      "--prefill", "http://127.0.0.1:8100", "--decode", "http://127.0.0.1:8200", "--host",
      "127.0.0.1", "--port", "8000" }, behind)
    assert.same({ "--disaggregation-mode", "decode" }, { table.unpack(from(
      "--disaggregation-mode", json.decode(from("--also", before)[4])), 1, 2) })
  end)

  it("attach to prefill and decode that run already", function()
    local URL, A, B = "server.url=http://h:1", "server.prefill=http://h:2",
      "server.decode=http://h:3"
    local before, behind = halves("recipes/vllm_pd.lua", URL, A, B)
    assert.same({}, behind)
    assert.equal("http://h:2", from("--peer", before)[2])
    for _, words in ipairs { { URL, A }, { URL }, { A, B, "model.path=/m" } } do
      local _, wrong = pcall(argv_of, "recipes/vllm_pd.lua", table.unpack(words))
      assert.equal("server.url, server.prefill and server.decode go together", wrong.message)
    end
    local _, wrong = pcall(argv_of, "recipes/vllm_pd.lua", "model.path=/m")
    assert.equal("server.proxy is not set", wrong.message)
  end)

  it("attach to a session in which a server runs already", function()
    local URL, NAME = "server.url=http://10.0.0.1:80", "server.session=eng"
    assert.equal("/start_profile", from("--start-path", (halves("recipes/vllm_serve.lua", URL,
      NAME)))[2])
    assert.same({}, from("--start-path", (halves("recipes/llama_cpp.lua", URL, NAME))))
    for message, words in pairs {
      ["server.session names how a server was started that runs already"] = { NAME,
        "model.path=/m" },
      ["server.session is a session of nsys, and capture=none takes none"] = { NAME, URL,
        "capture=none" },
      ["server.spools names how a server was started that runs already"] = { "server.spools=/s",
        "model.path=/m" },
      ["server.spools are of llmprof's own collector"] = { "server.spools=/s", URL } } do
      local _, wrong = pcall(argv_of, "recipes/vllm_serve.lua", table.unpack(words))
      assert.equal(message, wrong.message)
    end
  end)

  it("start Dynamo's frontend before its worker", function()
    local before, behind = halves("recipes/dynamo.lua", "model.path=/m", "server.worker=sglang",
      "server.port=81")
    assert.equal('["python3","-m","dynamo.frontend","--discovery-backend","file",'
      .. '"--http-port","81"]', from("--also", before)[2])
    assert.same({ "python3", "-m", "dynamo.sglang", "--model-path", "/m", "--discovery-backend",
      "file" }, behind)
  end)

  it("start Dynamo's prefill and decode apart, and wait for both", function()
    local before, behind = halves("recipes/dynamo.lua", "model.path=/m",
      "server.disaggregated=on", "server.args=[--max-model-len, \"9\"]")
    local line = table.concat(before, " ")
    assert.matches("--await http://127.0.0.1:8081 --await http://127.0.0.1:8082", line, nil, true)
    assert.matches('"DYN_SYSTEM_PORT=8081","VLLM_NIXL_SIDE_CHANNEL_PORT=20097","python3"', line,
      nil, true)
    assert.matches('"--disaggregation-mode","prefill"', line, nil, true)
    assert.matches('"--max-model-len","9"]', line, nil, true)
    assert.same({ "env", "CUDA_VISIBLE_DEVICES=1", "DYN_SYSTEM_PORT=8082", "python3", "-m",
      "dynamo.vllm", "--model", "/m", "--discovery-backend", "file", "--disaggregation-mode",
      "decode", "--kv-transfer-config", '{"kv_connector":"NixlConnector","kv_role":"kv_both"}',
      "--max-model-len", "9" }, behind)
    local _, wrong = pcall(argv_of, "recipes/dynamo.lua", "model.path=/m",
      "server.disaggregated=on", "server.worker=trtllm")
    assert.equal("server.disaggregated=on is not written down for trtllm", wrong.message)
  end)

  it("say what the engine's page calls its figures", function()
    local words = from("--metrics-path", (halves("recipes/sglang_serve.lua", "model.path=/m")))
    assert.same({ "--metrics-path", "/metrics", "--metric",
      "accept_length=sglang:spec_accept_length" },
      table.move(words, 1, 4, 1, {}))
  end)

  it("name the iterations of the rounds to TensorRT-LLM", function()
    local name = "recipes/trtllm.lua"
    assert.same({ TLLM_PROFILE_START_STOP = "20-49" },
      environment(name, "load.warmup=2", "load.rounds=3", "infer.max_new_tokens=10"))
    assert.same({ TLLM_PROFILE_START_STOP = "5-9" }, environment(name, "server.iterations=5-9"))
    assert.same({}, environment(name, "nsys.capture_range=none"))
    local _, wrong = pcall(environment, name, "load.rate=2")
    assert.equal("which iterations the window is cannot be told of requests that come by "
      .. "themselves", wrong.message)
  end)

  it("need a model, and an engine that has a window where one is asked for", function()
    assert.has_error(function() argv_of "recipes/llama_cpp.lua" end)
    local _, wrong = pcall(argv_of, "recipes/llama_cpp.lua", "model.path=/m",
      "nsys.capture_range=cudaProfilerApi")
    assert.equal("llama_cpp opens no profiling window", wrong.message)
    assert.equal("nsys.capture_range=none captures the whole process", wrong.hint)
  end)
end)


describe("every recipe that ships", function()
  it("loads, with settings that fit", function()
    local names = files.names("recipes", ".lua")
    assert.is_true(#names > 0)
    for _, name in ipairs(names) do
      local path = ("recipes/%s.lua"):format(name)
      local made = recipe.load(path)
      assert.equal(path, made.file)
      assert.is_table(config.of_recipe(made, nil, {}).tree)
    end
  end)
end)
