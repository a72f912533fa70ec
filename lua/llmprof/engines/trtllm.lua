-- TensorRT-LLM, its PyTorch backend. The executor marks each pass:
--   [Executor] _forward_step 7: 2 ctx reqs, 1024 ctx tokens, 6 gen reqs
-- of which older versions leave out the tokens.
local trtllm = { name = "trtllm", title = "TensorRT-LLM",
  framework = "pytorch" }

function trtllm.step(tag)
  local number, rest = tag:match "%[Executor%] _forward_step (%d+): (.*)$"
  if not number then return nil end
  local context = tonumber(rest:match "(%d+) ctx reqs")
  return { number = tonumber(number), context = context,
    context_tokens = context == 0 and 0 or tonumber(rest:match "(%d+) ctx tokens"),
    generation = tonumber(rest:match "(%d+) gen reqs"),
    generation_tokens = tonumber(rest:match "(%d+) gen tokens") }
end


trtllm.marks = { "%[Executor%] " }

trtllm.kernels = { "tensorrt_llm::" }

trtllm.knobs = {
  graphs = "CUDA graphs of the batches that are served (cuda_graph_config)",
  ahead = "the overlap scheduler, which is on unless disable_overlap_scheduler",
}

trtllm.page = "/prometheus/metrics"

-- Of TensorRT-LLM 1.2; /metrics has statistics of iterations, in JSON.
trtllm.figures = { running = { "trtllm_num_requests_running" },
  waiting = { "trtllm_num_requests_waiting" }, kv_use = { "trtllm_kv_cache_utilization" },
  prefix_hit_share = { "trtllm_kv_cache_hit_rate" } }

return trtllm
