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

  options = {
    ["device"] = { "GPU the workload runs on", "cuda:0" },
    ["model.path"] = { "Local checkpoint; else random weights of model.config or the preset", "" },
    ["model.preset"] = { "A known architecture with random weights", "llama3_8b",
      choices = { "llama3_8b", "qwen3_8b", "mixtral_8x7b", "tiny", "tiny_moe" } },
    ["model.trust_remote_code"] = { "Run Python code that lies in the checkpoint", false,
      runs = true },
    ["infer.batch"] = { "Sequences side by side", 1, min = 1 },
    ["infer.prompt_tokens"] = { "Tokens of the prompt", 512, min = 1 },
    ["infer.max_new_tokens"] = { "Tokens generated, the first by prefill", 64, min = 2 },
    ["infer.repeats"] = { "Times it is run inside the ranges", 3, min = 1 },
    ["infer.warmup"] = { "Runs before that, outside the ranges", 1, min = 0 },
    ["infer.attention"] = { "torch's fused attention, or its parts one by one", "sdpa",
      choices = { "sdpa", "eager" } },
    ["infer.experts"] = { "Experts one by one, as grouped gemms, or their weights gathered",
      "loop", choices = { "loop", "grouped", "gather" } },
    ["infer.compile"] = { "torch.compile of the decode step", "off",
      choices = { "off", "default", "reduce-overhead" } },
    ["infer.cuda_graph"] = { "Replay decode steps from a graph", "off", choices = { "off", "on" } },
    ["infer.sync_per_token"] = { "Read each token on the CPU, as a real loop does", "on",
      choices = { "off", "on" } },
  },

  workload = function(cfg)
    local infer = cfg.infer
    local argv = { cfg.python, llm.path "workloads/causal_lm.py",
      "--device", cfg.device, "--dtype", cfg.model.dtype,
      "--batch", infer.batch, "--prompt-tokens", infer.prompt_tokens,
      "--max-new-tokens", infer.max_new_tokens,
      "--repeats", infer.repeats, "--warmup", infer.warmup,
      "--attention", infer.attention, "--experts", infer.experts,
      "--compile", infer.compile, "--cuda-graph", infer.cuda_graph,
      "--sync-per-token", infer.sync_per_token,
      table.unpack(model_options(cfg)),
    }
    if cfg.model.trust_remote_code then argv[#argv + 1] = "--trust-remote-code" end
    return { argv = argv }
  end,

  stages = { { "prefill" }, { "decode", step = "decode_step" } },
  -- Loading and warm-up stay out of the timeline: the workload pushes this range
  -- around what is measured. nsys.capture_range=none captures the whole process.
  nsys = { preset = "default", capture_range = "nvtx", nvtx_capture = "measured",
    capture_range_end = "stop" },
  -- Counters of the kernels in these ranges; { "decode/" } leaves prefill out.
  ncu = { preset = "default", nvtx_include = { "prefill/", "decode/" } },
  -- What the hardware does meanwhile, where llmprof's own collector records.
  collector = { samples_hz = 10000 },
  -- Of each stage the largest kernels until they cover this share of its GPU time, no
  -- more than so many, and of each so many launches.
  top_n = { kernels = 20, coverage = 0.95, launches_per_kernel = 2 },
  -- The sections of report.md, in this order.
  report = { "environment", "aggregates", "stages", "mfu", "operators", "kernels", "roofline",
    "advice" },
}
