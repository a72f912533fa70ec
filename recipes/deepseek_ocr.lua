-- DeepSeek-OCR: a vision encoder (SAM, CLIP, projector) in front of a
-- mixture-of-experts decoder. Prefill holds the encoder; decode is one range
-- around all steps.
local llm = require "llmprof.recipe"

return llm.recipe {
  name = "deepseek_ocr",
  model = { name = "DeepSeek-OCR", variant = "3B-MoE-A570M", dtype = "bf16",
    arch = "deepseek_ocr" },

  options = llm.torch_options {
    ["model.path"] = { "Local checkpoint; empty means random weights of the same shape", "" },
    ["model.loader"] = { "A checkpoint's own code, or its weights in the built-in architecture",
      "transformers", choices = { "transformers", "native" } },
    ["dataset.root"] = { "Folder of images; empty means images made from a seed", "" },
    ["dataset.subset_filelist"] = { "File that names the images to use, one a line", "" },
    ["inputs.manifest"] = { "List of the inputs to use, such as inputs.yaml of a bundle", "" },
    ["dataset.fallback_patterns"] = { "Images to use without a file list", { "*.png", "*.jpg" } },
    ["dataset.sampling.num_epochs"] = { "Times through the sample list", 1, min = 1 },
    ["dataset.sampling.num_samples_per_epoch"] = { "Samples taken each time; 0 or null takes all",
      1, min = 0 },
    ["dataset.sampling.randomize"] = { "Take them in random order", false },
  },

  workload = function(cfg)
    local sampling = cfg.dataset.sampling
    local words = {
      "--model-path", cfg.model.path,
      "--loader", cfg.model.loader,
      "--dataset-root", cfg.dataset.root,
      "--subset-filelist", cfg.dataset.subset_filelist,
      "--fallback-patterns", table.concat(cfg.dataset.fallback_patterns, ","),
      "--num-epochs", sampling.num_epochs,
      "--num-samples-per-epoch", sampling.num_samples_per_epoch or 0,
      sampling.randomize and "--randomize" or "--no-randomize",
    }
    for _, input in ipairs(cfg.inputs.manifest ~= "" and llm.inputs(cfg.inputs.manifest) or {}) do
      words[#words + 1] = "--input"
      words[#words + 1] = input.sha256 and ("sha256:%s:%s"):format(input.sha256, input.name)
        or input.name
    end
    return { argv = { cfg.python, llm.path "workloads/deepseek_ocr.py",
      table.unpack(llm.torch_words(cfg, words)) } }
  end,

  stages = {
    { "prefill", children = { "sam", "clip", "projector" } },
    { "decode", step = "decode_step" },
  },
  -- Loading and warm-up stay out of the timeline: the workload pushes this range
  -- around what is measured. nsys.capture_range=none captures the whole process.
  nsys = { capture_range = "nvtx", nvtx_capture = "measured" },
  -- What the hardware does meanwhile, where llmprof's own collector records.
  collector = { samples_hz = 10000 },
}
