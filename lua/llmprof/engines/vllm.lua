-- vLLM. With its profiler "cuda" every worker puts a range around each step:
--   execute_context_2(1024)_generation_6(6)      requests(tokens)
--   execute_context_1(888_788544)_generation_0(0)   with the sum of squares behind them
--   execute_12_context_3(sq128sk256...)_generation_2(sq1sk300...)   with details
--   execute_new_2_cached_6                        before 0.13: no tokens
--   gpu_model_runner: draft                   the small model of speculative decoding, where
--                                              VLLM_NVTX_SCOPES_FOR_PROFILING=1 (first runner)
-- The range is the CPU's: with asynchronous scheduling the GPU runs it later.
local vllm = { name = "vllm", title = "vLLM",
  framework = "pytorch" }

-- Tokens in the brackets: "1024", or the sum of new ones in "sq128sk256...".
local function tokens_in(inside)
  return tonumber(inside:match "^%d+%f[_\0]") or tonumber(inside:match "^sq(%d+)sk")
end


function vllm.step(tag)
  if tag:find "^gpu_model_runner: draft%f[\0]" then return { phase = "draft" } end
  local number, context, inside, generation, made =
    tag:match "^execute_?(%d*)_context_(%d+)%(([%w_]*)%)_generation_(%d+)%(([%w_]*)%)"
  if context then
    return { number = tonumber(number), context = tonumber(context),
      context_tokens = tonumber(context) == 0 and 0 or tokens_in(inside),
      generation = tonumber(generation),
      generation_tokens = tonumber(generation) == 0 and 0 or tokens_in(made) }
  end
  local new, cached = tag:match "^execute_new_(%d+)_cached_(%d+)"
  if not new then return nil end
  return { context = tonumber(new), generation = tonumber(cached),
    context_tokens = tonumber(new) == 0 and 0 or nil }
end


-- Ranges of VLLM_NVTX_SCOPES_FOR_PROFILING.
vllm.marks = { "^gpu_model_runner: ", "^schedule: ", "^llm_engine step: ", "^EngineCore" }

vllm.knobs = {
  graphs = "CUDA graphs, which --enforce-eager turns off, of the batches that are served "
    .. "(cudagraph_capture_sizes in --compilation-config)",
  ahead = "asynchronous scheduling (--async-scheduling; newer versions have it on)",
}

vllm.kernels = { "vllm::", "^reshape_and_cache" }

vllm.page = "/metrics"

-- As vLLM 0.24 to 0.33 name them; gpu_cache_usage_perc before 0.10.
vllm.figures = { running = { "vllm:num_requests_running" },
  waiting = { "vllm:num_requests_waiting" },
  kv_use = { "vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc" },
  preemptions = { "vllm:num_preemptions_total" },
  prefix_queries = { "vllm:prefix_cache_queries_total" },
  prefix_hits = { "vllm:prefix_cache_hits_total" },
  verifications = { "vllm:spec_decode_num_drafts_total" },
  drafted = { "vllm:spec_decode_num_draft_tokens_total" },
  accepted = { "vllm:spec_decode_num_accepted_tokens_total" },
  ttft_s = { "vllm:time_to_first_token_seconds_sum" },
  ttft_count = { "vllm:time_to_first_token_seconds_count" },
  queue_s = { "vllm:request_queue_time_seconds_sum" },
  queue_count = { "vllm:request_queue_time_seconds_count" },
  prefill_s = { "vllm:request_prefill_time_seconds_sum" },
  prefill_count = { "vllm:request_prefill_time_seconds_count" } }

-- Engine 000: Avg prompt throughput: 10.0 tokens/s, ..., Running: 8 reqs, Waiting: 0 reqs,
-- GPU KV cache usage: 3.2%, Prefix cache hit rate: 0.0%
-- GPU KV cache size: 643,232 tokens
function vllm.log(line)
  local held = line:match "KV cache size: ([%d,]+) tokens"
  if held then return { kv_tokens = tonumber((held:gsub(",", ""))) } end
  local running, waiting = line:match "Running: (%d+) reqs, Waiting: (%d+) reqs"
  if not running then return nil end
  local used = line:match "KV cache usage: ([%d.]+)%%"
  local hits = line:match "refix cache hit rate: ([%d.]+)%%"
    or line:match "refix cache hit rate: GPU: ([%d.]+)%%"
  return { running = tonumber(running), waiting = tonumber(waiting),
    kv_use = used and tonumber(used) / 100, prefix_hit_share = hits and tonumber(hits) / 100 }
end

return vllm
