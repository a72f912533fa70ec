-- A decoder: what its description says, its weights, what prefill and decode
-- take. Fields are named as in Hugging Face config.json.
--
-- Attention is of the plain kind (multi-head, grouped, one key head: by
-- num_key_value_heads), or with kv_lora_rank over a latent (MLA), whose cache
-- holds the latent and the rotary part. Attention of a prefill is causal: n
-- tokens are n (n + 1) / 2 pairs. MLA's pairs are those of the model as it is
-- defined, keys and values expanded; kernels that absorb the expansion issue
-- more.
local cost = require "llmprof.model.cost"
local schema = require "llmprof.model.schema"

local decoder = {}

decoder.FIELDS = {
  vocab_size = { "count" },
  hidden_size = { "count" },
  num_hidden_layers = { "count" },
  num_attention_heads = { "count" },
  num_key_value_heads = { "whole", 0 }, -- 0: as many as heads
  head_dim = { "whole", 0 }, -- 0: hidden_size / heads
  intermediate_size = { "whole", 0 }, -- of a dense feed-forward network
  gated = { "flag", true }, -- three products and not two
  tie_word_embeddings = { "flag", false },
  qkv_bias = { "flag", false },
  o_bias = { "flag", false },
  mlp_bias = { "flag", false },
  lm_head_bias = { "flag", false },
  qk_norm = { "flag", false }, -- of each head's query and key
  norm = { { "rms", "layer" }, "rms" }, -- one weight per channel, or two
  norms_per_layer = { "count", 2 },
  sliding_window = { "whole", 0 }, -- keys that a query sees; 0: all
  sliding_window_pattern = { "whole", 0 }, -- each so many-th layer sees all; 0: none does
  n_routed_experts = { "whole", 0 },
  num_experts_per_tok = { "whole", 0 },
  moe_intermediate_size = { "whole", 0 },
  n_shared_experts = { "whole", 0 }, -- one network of this many times the width
  first_k_dense_replace = { "whole", 0 }, -- so many first layers are dense
  router_bias = { "flag", false },
  kv_lora_rank = { "whole", 0 },
  q_lora_rank = { "whole", 0 },
  qk_nope_head_dim = { "whole", 0 },
  qk_rope_head_dim = { "whole", 0 },
  v_head_dim = { "whole", 0 },
}


-- ---- checks ----

local function moe_layers(d)
  if d.n_routed_experts == 0 then return 0 end
  return math.max(d.num_hidden_layers - d.first_k_dense_replace, 0)
end


-- What fits one by one, but not together: { holds, key, message }.
local function rules(d)
  local latent, experts = d.kv_lora_rank > 0, d.n_routed_experts > 0
  return {
    { d.head_dim >= 1, "head_dim", "hidden_size is less than num_attention_heads" },
    { d.num_attention_heads % d.num_key_value_heads == 0, "num_key_value_heads",
      "does not divide num_attention_heads" },
    { moe_layers(d) == d.num_hidden_layers or d.intermediate_size >= 1, "intermediate_size",
      "missing: the model has dense layers" },
    { not experts or d.moe_intermediate_size >= 1, "moe_intermediate_size",
      "missing: the model has experts" },
    { not experts or (d.num_experts_per_tok >= 1
      and d.num_experts_per_tok <= d.n_routed_experts), "num_experts_per_tok",
      "not between 1 and the number of experts" },
    { not latent or (d.qk_nope_head_dim >= 1 and d.qk_rope_head_dim >= 1 and d.v_head_dim >= 1),
      "kv_lora_rank", "needs qk_nope_head_dim, qk_rope_head_dim and v_head_dim" },
  }
end


-- A checked decoder with all fields. where names it in errors.
function decoder.read(given, where)
  local d = schema.read(given, decoder.FIELDS, where)
  if d.num_key_value_heads == 0 then d.num_key_value_heads = d.num_attention_heads end
  if d.head_dim == 0 then d.head_dim = d.hidden_size // d.num_attention_heads end
  for _, rule in ipairs(rules(d)) do
    if not rule[1] then schema.bad(("%s.%s: %s"):format(where, rule[2], rule[3])) end
  end
  return d
end


-- ---- products ----

-- A list of products with a short way to add one.
local function new_list()
  local list = {}
  function list.add(part, inputs, outputs, copies, more)
    local product = { part = part, inputs = inputs, outputs = outputs, copies = copies }
    for key, value in pairs(more or {}) do product[key] = value end
    if copies > 0 then list[#list + 1] = product end
  end
  return list
end


local function add_latent_attention(list, d)
  local heads, layers, part = d.num_attention_heads, d.num_hidden_layers, "projections"
  local qk_dim = d.qk_nope_head_dim + d.qk_rope_head_dim
  if d.q_lora_rank > 0 then
    list.add(part, d.hidden_size, d.q_lora_rank, layers, { bias = d.qkv_bias })
    list.add("norms", 1, d.q_lora_rank, layers, { vectors = true })
    list.add(part, d.q_lora_rank, heads * qk_dim, layers)
  else
    list.add(part, d.hidden_size, heads * qk_dim, layers)
  end
  list.add(part, d.hidden_size, d.kv_lora_rank + d.qk_rope_head_dim, layers,
    { bias = d.qkv_bias })
  list.add("norms", 1, d.kv_lora_rank, layers, { vectors = true })
  list.add(part, d.kv_lora_rank, heads * (d.qk_nope_head_dim + d.v_head_dim), layers)
  list.add(part, heads * d.v_head_dim, d.hidden_size, layers, { bias = d.o_bias })
end


local function add_attention(list, d)
  if d.kv_lora_rank > 0 then return add_latent_attention(list, d) end
  local layers, part = d.num_hidden_layers, "projections"
  local query, key = d.num_attention_heads * d.head_dim, d.num_key_value_heads * d.head_dim
  list.add(part, d.hidden_size, query, layers, { bias = d.qkv_bias })
  list.add(part, d.hidden_size, key, layers, { bias = d.qkv_bias })
  list.add(part, d.hidden_size, key, layers, { bias = d.qkv_bias })
  list.add(part, query, d.hidden_size, layers, { bias = d.o_bias })
  if d.qk_norm then list.add("norms", 2, d.head_dim, layers, { vectors = true }) end
end


local function add_network(list, d, part, width, copies, more)
  more = more or {}
  more.bias = d.mlp_bias
  list.add(part, d.hidden_size, width, d.gated and 2 * copies or copies, more)
  list.add(part, width, d.hidden_size, copies, more)
end


local function add_experts(list, d)
  local layers = moe_layers(d)
  list.add("router", d.hidden_size, d.n_routed_experts, layers, { bias = d.router_bias })
  add_network(list, d, "experts", d.moe_intermediate_size, layers,
    { experts = { total = d.n_routed_experts, active = d.num_experts_per_tok } })
  if d.n_shared_experts > 0 then
    add_network(list, d, "shared experts", d.n_shared_experts * d.moe_intermediate_size, layers)
  end
end


-- Products of one pass over the layers, the embedding and the output layer
-- left out.
local function layer_products(d)
  local list = new_list()
  local norm = d.norm == "layer" and 2 or 1
  add_attention(list, d)
  add_network(list, d, "mlp", d.intermediate_size, d.num_hidden_layers - moe_layers(d))
  add_experts(list, d)
  list.add("norms", norm, d.hidden_size, d.num_hidden_layers * d.norms_per_layer + 1,
    { vectors = true })
  return list
end


local function lm_head(d)
  return { part = "lm_head", inputs = d.hidden_size, outputs = d.vocab_size, copies = 1,
    bias = d.lm_head_bias, format = "embeddings" }
end


-- { total, active }: parameters, and those that one decoded token is multiplied
-- with: without the input embedding (unless it is also the output layer) and
-- the experts that are not chosen.
function decoder.parameters(d)
  local total, active = 0, 0
  for _, product in ipairs(layer_products(d)) do
    total = total + cost.weights(product)
    active = active + cost.active_weights(product)
  end
  local head = cost.weights(lm_head(d))
  local embedding = d.tie_word_embeddings and 0 or d.vocab_size * d.hidden_size
  return { total = total + head + embedding, active = math.floor(active + head + 0.5) }
end


-- ---- passes ----

-- Layers that see every key, and those with a window.
local function layer_kinds(d)
  if d.sliding_window == 0 then return d.num_hidden_layers, 0 end
  local pattern = d.sliding_window_pattern
  local full = pattern > 0 and d.num_hidden_layers // pattern or 0
  return full, d.num_hidden_layers - full
end


-- Widths of a pair's two products, all heads together.
local function pair_widths(d)
  local heads = d.num_attention_heads
  if d.kv_lora_rank > 0 then
    return heads * (d.qk_nope_head_dim + d.qk_rope_head_dim), heads * d.v_head_dim
  end
  return heads * d.head_dim, heads * d.head_dim
end


-- Numbers that one token leaves in the cache of one layer.
local function cache_width(d)
  if d.kv_lora_rank > 0 then return d.kv_lora_rank + d.qk_rope_head_dim end
  return 2 * d.num_key_value_heads * d.head_dim
end


local function triangle(n)
  return n * (n + 1) // 2
end


-- Pairs of a causal prefill of n tokens where a query sees at most `window`.
local function prefill_pairs(n, window)
  local inside = math.min(n, window)
  return triangle(inside) + (n - inside) * window
end


-- Add a prefill of `tokens` tokens each in `batch` sequences. The output layer
-- is needed for the last token of each only.
function decoder.prefill(sum, d, work)
  local n, batch = work.tokens, work.batch
  for _, product in ipairs(layer_products(d)) do sum:product(product, n * batch) end
  sum:product(lm_head(d), batch)
  sum:add_weights("embedding", math.min(n * batch, d.vocab_size) * d.hidden_size, "embeddings")
  local full, windowed = layer_kinds(d)
  local seen = full * triangle(n)
    + (windowed > 0 and windowed * prefill_pairs(n, d.sliding_window) or 0)
  sum:attention("attention", seen * batch, pair_widths(d))
  sum:kv(0, n * batch * d.num_hidden_layers * cache_width(d))
end


-- Cached tokens that `steps` steps read in one layer; with a window a query
-- sees itself and the window - 1 before it.
local function cached_reads(context, steps, most)
  local reads = 0
  for step = 0, steps - 1 do reads = reads + math.min(context + step, most) end
  return reads
end


-- Add `steps` decode steps, the first of which finds `context` tokens in the
-- cache. Each step reads all weights that it uses again, reads the cached
-- tokens that its query sees, and writes its own.
function decoder.decode(sum, d, work)
  local batch, steps = work.batch, work.steps
  for _, product in ipairs(layer_products(d)) do sum:product(product, batch, steps) end
  sum:product(lm_head(d), batch, steps)
  sum:add_weights("embedding", batch * steps * d.hidden_size, "embeddings")
  local full, windowed = layer_kinds(d)
  local reads = full * cached_reads(work.context, steps, math.huge)
    + (windowed > 0 and windowed * cached_reads(work.context, steps, d.sliding_window - 1) or 0)
  local written = steps * d.num_hidden_layers
  sum:attention("attention", (reads + written) * batch, pair_widths(d))
  sum:kv(reads * batch * cache_width(d), written * batch * cache_width(d))
end


return decoder
