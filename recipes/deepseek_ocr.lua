-- DeepSeek-OCR: a vision encoder (SAM, CLIP, projector) in front of a
-- mixture-of-experts decoder. Prefill holds the encoder; decode is one range
-- around all steps.
local llm = require "llmprof.recipe"

return llm.recipe {
  name = "deepseek_ocr",
  model = { name = "DeepSeek-OCR", variant = "3B-MoE-A570M", dtype = "bf16",
    arch = "deepseek_ocr" },

  options = {
    ["device"] = { "GPU the workload runs on", "cuda:0" },
    ["infer.max_new_tokens"] = { "Tokens generated per sample", 64 },
    ["infer.batch"] = { "Samples side by side", 1, min = 1 },
    ["infer.repeats"] = { "Times each sample is run inside the ranges", 2, min = 1 },
    ["infer.warmup"] = { "Runs before that, outside the ranges", 1, min = 0 },
    ["infer.compile"] = { "torch.compile of the decode step", "off",
      choices = { "off", "default", "reduce-overhead" } },
    ["infer.cuda_graph"] = { "Replay decode steps from a graph", "off", choices = { "off", "on" } },
    ["model.path"] = { "Local checkpoint; empty means random weights of the same shape", "" },
    ["model.loader"] = { "A checkpoint's own code, or its weights in the built-in architecture",
      "transformers", choices = { "transformers", "native" } },
    ["model.trust_remote_code"] = { "Run Python code that lies in the checkpoint", false,
      runs = true },
    ["dataset.root"] = { "Folder of images; empty means images made from a seed", "" },
    ["dataset.subset_filelist"] = { "File that names the images to use, one a line", "" },
    ["inputs.manifest"] = { "List of the inputs to use, such as inputs.yaml of a bundle", "" },
    ["dataset.fallback_patterns"] = { "Images to use without a file list", { "*.png", "*.jpg" } },
    ["dataset.sampling.num_epochs"] = { "Times through the sample list", 1, min = 1 },
    ["dataset.sampling.num_samples_per_epoch"] = { "Samples taken each time", 1, min = 1 },
    ["dataset.sampling.randomize"] = { "Take them in random order", false },
  },

  workload = function(cfg)
    local sampling = cfg.dataset.sampling
    local argv = { cfg.python, llm.path "workloads/deepseek_ocr.py",
      "--device", cfg.device,
      "--dtype", cfg.model.dtype,
      "--max-new-tokens", cfg.infer.max_new_tokens,
      "--batch", cfg.infer.batch,
      "--repeats", cfg.infer.repeats,
      "--warmup", cfg.infer.warmup,
      "--compile", cfg.infer.compile,
      "--cuda-graph", cfg.infer.cuda_graph,
      "--model-path", cfg.model.path,
      "--loader", cfg.model.loader,
      "--dataset-root", cfg.dataset.root,
      "--subset-filelist", cfg.dataset.subset_filelist,
      "--fallback-patterns", table.concat(cfg.dataset.fallback_patterns, ","),
      "--num-epochs", sampling.num_epochs,
      "--num-samples-per-epoch", sampling.num_samples_per_epoch,
      sampling.randomize and "--randomize" or "--no-randomize",
    }
    for _, input in ipairs(cfg.inputs.manifest ~= "" and llm.inputs(cfg.inputs.manifest) or {}) do
      argv[#argv + 1] = "--input"
      argv[#argv + 1] = input.sha256 and ("sha256:%s:%s"):format(input.sha256, input.name)
        or input.name
    end
    if cfg.model.trust_remote_code then argv[#argv + 1] = "--trust-remote-code" end
    return { argv = argv }
  end,

  stages = {
    { "prefill", children = { "sam", "clip", "projector" } },
    { "decode", step = "decode_step" },
  },
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
