-- A recipe for the stand-in tools: every key of a workload that a recipe hands
-- on is a word of its command line.
local llm = require "llmprof.recipe"

return llm.recipe {
  name = "standin",
  model = { name = "stand-in", dtype = "fp32" },

  options = {
    ["device"] = { "GPU", "cuda:0" },
    ["infer.max_new_tokens"] = { "Tokens", 5 },
    ["standin.program"] = { "The workload", "tests/standin/workload", runs = true },
    ["server.session"] = { "A session of nsys", "" },
    ["standin.cwd"] = { "Its working directory", "" },
    ["dataset.subset_filelist"] = { "File list", "" },
    ["dataset.sampling.num_epochs"] = { "Epochs", 1 },
    ["dataset.sampling.num_samples_per_epoch"] = { "Samples", 1 },
    ["dataset.sampling.randomize"] = { "In random order", false },
  },

  workload = function(cfg)
    local sampling = cfg.dataset.sampling
    local cwd = cfg.standin.cwd ~= "" and cfg.standin.cwd or nil
    return { cwd = cwd, argv = { cfg.standin.program, "--device", cfg.device,
      "--max-new-tokens", cfg.infer.max_new_tokens,
      "--subset-filelist", cfg.dataset.subset_filelist,
      "--num-epochs", sampling.num_epochs,
      "--num-samples-per-epoch", sampling.num_samples_per_epoch,
      "--randomize", sampling.randomize } }
  end,

  overhead = "off", -- specs count what is run

  stages = { { "prefill" }, { "decode" } },
}
