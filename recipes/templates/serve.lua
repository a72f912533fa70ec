-- @NAME@: a server under a fixed load. docs/recipes.md is the whole contract
-- (`llmprof help recipes`); `llmprof check @NAME@.lua` says what is wrong.
local llm = require "llmprof.recipe"

return llm.recipe {
  name = "@NAME@",
  model = { name = "@NAME@", dtype = "bf16" },

  options = {
    -- Any server with an OpenAI-like POST /v1/completions that streams. PORT is
    -- replaced. Unset, the workload answers itself, so that the recipe runs.
    ["serve.command"] = { "The server, word by word: [vllm,serve,MODEL,--port,PORT]",
      type = "list" },
    ["serve.ready_s"] = { "Seconds until it must answer", 600, min = 1 },
    ["serve.model"] = { "The model's name in requests", "@NAME@" },
    ["load.requests"] = { "Requests, one after the other", 8, min = 1 },
    ["load.prompt_words"] = { "Words of each prompt", 128, min = 1 },
    ["infer.max_new_tokens"] = { "Tokens of each answer", 32, min = 2 },
  },

  workload = function(cfg)
    local argv = { cfg.python, llm.path "workloads/run_@NAME@.py",
      "--requests", cfg.load.requests, "--prompt-words", cfg.load.prompt_words,
      "--max-new-tokens", cfg.infer.max_new_tokens,
      "--ready-s", cfg.serve.ready_s, "--model", cfg.serve.model, "--" }
    local command = cfg.serve.command or {}
    table.move(command, 1, #command, #argv + 1, argv)
    -- A forked worker has no CUDA context of its own to trace.
    return { argv = argv, env = { VLLM_WORKER_MULTIPROC_METHOD = "spawn" } }
  end,

  -- The engine's own NVTX ranges, if it makes any: { "prefill" }, { "decode" }.
  -- Without, the whole run is one stage.
  stages = {},

  nsys = { trace_fork_before_exec = true },
}
