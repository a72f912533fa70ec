-- The recipes that come with llmprof: what they run.
local config = require "llmprof.config"
local recipe = require "llmprof.recipe"


local function argv_of(name, ...)
  local made = recipe.load(name)
  local composed = config.of_recipe(made, nil, { ... })
  local words = made.workload(composed.tree).argv
  for i, word in ipairs(words) do words[i] = tostring(word) end
  return words
end


describe("recipes/deepseek_ocr.lua", function()
  it("runs the workload with every setting", function()
    assert.same({ "python3", "recipes/workloads/deepseek_ocr.py", "--device", "cuda:0",
      "--dtype", "bf16", "--max-new-tokens", "64", "--batch", "1", "--repeats", "2",
      "--warmup", "1",
      "--compile", "off", "--cuda-graph", "off", "--model-path", "", "--loader", "transformers",
      "--dataset-root", "", "--subset-filelist", "", "--fallback-patterns", "*.png,*.jpg",
      "--num-epochs", "1", "--num-samples-per-epoch", "1", "--no-randomize",
    }, argv_of "recipes/deepseek_ocr.lua")
  end)

  it("hands on what is set", function()
    assert.same({ "py", "recipes/workloads/deepseek_ocr.py", "--device", "cuda:1",
      "--dtype", "fp16", "--max-new-tokens", "8", "--batch", "4", "--repeats", "3", "--warmup", "0",
      "--compile", "default", "--cuda-graph", "on", "--model-path", "/m", "--loader", "native",
      "--dataset-root", "/d", "--subset-filelist", "list.txt", "--fallback-patterns", "**/*.png",
      "--num-epochs", "2", "--num-samples-per-epoch", "5", "--randomize", "--trust-remote-code",
    }, argv_of("recipes/deepseek_ocr.lua", "python=py", "device=cuda:1", "infer.max_new_tokens=8",
      "model.dtype=fp16",
      "infer.batch=4", "infer.repeats=3", "infer.warmup=0", "infer.compile=default",
      "infer.cuda_graph=on", "model.path=/m", "model.loader=native",
      "model.trust_remote_code=true", "dataset.root=/d", "dataset.subset_filelist=list.txt",
      "dataset.fallback_patterns=[\"**/*.png\"]", "dataset.sampling.num_epochs=2",
      "dataset.sampling.num_samples_per_epoch=5", "dataset.sampling.randomize=true"))
  end)
end)


describe("recipes/alt_llm.lua", function()
  it("runs a preset with random weights", function()
    assert.same({ "python3", "recipes/workloads/causal_lm.py", "--device", "cuda:0",
      "--dtype", "bf16", "--batch", "1", "--prompt-tokens", "512", "--max-new-tokens", "64",
      "--repeats", "3", "--warmup", "1", "--attention", "sdpa", "--experts", "loop",
      "--compile", "off", "--cuda-graph", "off", "--sync-per-token", "on",
      "--preset", "llama3_8b" }, argv_of "recipes/alt_llm.lua")
  end)

  local function tail_of(...)
    local words = argv_of("recipes/alt_llm.lua", ...)
    return table.move(words, 27, #words, 1, {})
  end

  it("prefers a checkpoint, then a config.json, to the preset", function()
    assert.same({ "--model-path", "/m", "--trust-remote-code" },
      tail_of("model.path=/m", "model.trust_remote_code=true"))
    assert.same({ "--model-config", "/c.json" }, tail_of "model.config=/c.json")
    assert.same({ "--preset", "mixtral_8x7b" }, tail_of "model.preset=mixtral_8x7b")
  end)

  it("refuses a checkpoint and a config.json together", function()
    local ok, err = pcall(tail_of, "model.path=/m", "model.config=/c.json")
    assert.is_false(ok)
    assert.equal("model.path and model.config are both set", err.message)
  end)
end)


describe("recipes/toy_llm.lua", function()
  it("runs the program as built", function()
    assert.same({ "build/dev/bin/toy_llm", "--layers", "4", "--hidden", "512", "--fork", "0",
      "--prompt", "128", "--steps", "32", "--repeats", "2" }, argv_of "recipes/toy_llm.lua")
  end)

  it("hands on what is set", function()
    assert.same({ "/t", "--layers", "2", "--hidden", "128", "--fork", "3", "--prompt", "16",
      "--steps", "4", "--repeats", "5", "--graph",
    }, argv_of("recipes/toy_llm.lua", "toy.binary=/t", "toy.layers=2", "toy.hidden=128",
      "toy.workers=3", "toy.graph=true", "infer.prompt_tokens=16", "infer.max_new_tokens=5",
      "infer.repeats=5"))
  end)
end)
