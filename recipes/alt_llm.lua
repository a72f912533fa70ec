-- Any causal language model of Hugging Face: a checkpoint (model.path), or an
-- architecture with random weights (model.config, model.preset).
local llm = require "llmprof.recipe"

-- The one way the model is given, as options of the workload.
local function model_options(cfg)
  local model = cfg.model
  if model.path ~= "" and model.config then
    llm.fail("model.path and model.config are both set", "a checkpoint has its own config.json")
  end
  if model.path ~= "" then return { "--model-path", model.path } end
  if model.config then return { "--model-config", model.config } end
  return { "--preset", model.preset }
end


-- Which model that is, for the outputs of the run.
local function identify(cfg)
  local model = cfg.model
  if model.path ~= "" then return { name = model.path:match "([^/]+)/*$" } end
  if model.config then return { name = model.config:match "([^/]+)/+[^/]*$" } end
  return llm.described(model.preset)
end


return llm.recipe {
  name = "alt_llm",
  model = { dtype = "bf16" },
  identify = identify,

  options = llm.torch_options {
    ["model.path"] = { "Local checkpoint; else random weights of model.config or the preset", "" },
    ["model.preset"] = { "A known architecture with random weights", "llama3_8b",
      choices = { "llama3_8b", "qwen3_8b", "mixtral_8x7b", "tiny", "tiny_moe" } },
    ["infer.prompt_tokens"] = { "Tokens of the prompt", 512, min = 1 },
    ["infer.repeats"] = { "Times it is run inside the ranges", 3, min = 1 },
  },

  workload = function(cfg)
    local infer = cfg.infer
    return { argv = { cfg.python, llm.path "workloads/causal_lm.py",
      table.unpack(llm.torch_words(cfg, { "--prompt-tokens", infer.prompt_tokens,
        table.unpack(model_options(cfg)) })) } }
  end,

  stages = { { "prefill" }, { "decode", step = "decode_step" } },
  -- Loading and warm-up stay out of the timeline: the workload pushes this range
  -- around what is measured. nsys.capture_range=none captures the whole process.
  nsys = { capture_range = "nvtx", nvtx_capture = "measured" },
  -- What the hardware does meanwhile, where llmprof's own collector records.
  collector = { samples_hz = 10000 },
}
