-- SGLang. Its profiler names a step by its kind and batch:
--   step[DECODE bs=64]   step[EXTEND bs=2 toks=4096]   step[MIXED bs=3 toks=900]
-- Under SGLANG_ENABLE_NVTX_SCHEDULER=1 the scheduler's loop has ranges, of which
-- scheduler.run_batch is a step of a kind that it does not say. They lie in the
-- domain of the Python package nvtx.
local sglang = { name = "sglang", title = "SGLang",
  framework = "pytorch" }

-- requests and tokens of a kind; MIXED does not say how its batch divides.
local kinds = {
  DECODE = function(batch) return { context = 0, context_tokens = 0, generation = batch } end,
  EXTEND = function(batch, tokens)
    return { context = batch, context_tokens = tokens, generation = 0, generation_tokens = 0 }
  end,
  MIXED = function() return { phase = "mixed" } end,
  VERIFY = function(batch) return { context = 0, context_tokens = 0, generation = batch } end,
  IDLE = function() return { phase = "empty" } end,
}
kinds.TARGET_VERIFY = kinds.VERIFY
kinds.SPLIT_PREFILL = kinds.EXTEND
kinds.DLLM_EXTEND = function() return {} end -- of a diffusion model: neither phase

-- Speculative decoding: the small model that proposes tokens, and its prefill.
for _, name in ipairs { "DRAFT", "DRAFT_LOOP", "DRAFT_EXTEND", "DRAFT_EXTEND_V2" } do
  kinds[name] = function(batch)
    return { phase = "draft", context = 0, context_tokens = 0, generation = batch }
  end
end


function sglang.step(tag)
  tag = tag:match "^NVTX:(.*)$" or tag
  if tag == "scheduler.run_batch" then return {} end
  local kind, rest = tag:match "^step%[([%u_]+%d?)(.-)%]"
  if not kind or not kinds[kind] then return nil end
  return kinds[kind](tonumber(rest:match "bs=(%d+)"), tonumber(rest:match "toks=(%d+)"))
end


sglang.marks = { "^scheduler%.", "^NVTX:scheduler%." }

sglang.kernels = { "sglang::", "sgl_kernel" }

sglang.knobs = {
  graphs = "CUDA graphs, which --disable-cuda-graph turns off, up to the batches that are served "
    .. "(--cuda-graph-max-bs)",
  ahead = "the overlap scheduler, which is on unless --disable-overlap-schedule",
}

sglang.page = "/metrics"

-- With --enable-metrics; the page of SGLang 0.5.23.
sglang.figures = { running = { "sglang:num_running_reqs" }, waiting = { "sglang:num_queue_reqs" },
  kv_use = { "sglang:token_usage" }, acceptance = { "sglang:spec_accept_rate" },
  accept_length = { "sglang:spec_accept_length" }, prefix_hit_share = { "sglang:cache_hit_rate" },
  preemptions = { "sglang:num_retracted_requests_total", "sglang:num_retracted_reqs_total" },
  ttft_s = { "sglang:time_to_first_token_seconds_sum" },
  ttft_count = { "sglang:time_to_first_token_seconds_count" },
  queue_s = { "sglang:queue_time_seconds_sum" },
  queue_count = { "sglang:queue_time_seconds_count" } }

-- Decode batch. #running-req: 8, #token: 512, token usage: 0.01, ..., #queue-req: 0
-- max_total_num_tokens=643232, chunked_prefill_size=8192, ...
function sglang.log(line)
  local held = line:match "max_total_num_tokens=(%d+)"
  if held then return { kv_tokens = tonumber(held) } end
  local running = line:match "Decode batch.*#running%-req: (%d+)"
  if not running then return nil end
  return { running = tonumber(running), waiting = tonumber(line:match "#queue%-req: (%d+)"),
    kv_use = tonumber(line:match "token usage: ([%d.]+)") }
end

return sglang
