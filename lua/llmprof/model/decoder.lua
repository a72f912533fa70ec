-- A decoder: what its description says, its weights, what prefill and decode
-- take. Fields are named as in Hugging Face config.json.
--
-- Attention is of the plain kind (multi-head, grouped, one key head: by
-- num_key_value_heads), or with kv_lora_rank over a latent (MLA), whose cache
-- holds the latent and the rotary part. Attention of a prefill is causal: n
-- tokens are n (n + 1) / 2 pairs. MLA's pairs are those of the model as it is
-- defined, keys and values expanded; kernels that absorb the expansion issue
-- more. Layers may also see a window or a chunk only, or keep a state instead of
-- a cache (llmprof.model.mixers).
local cost = require "llmprof.model.cost"
local lists = require "llmprof.tables.lists"
local merged = require("llmprof.tables.keys").merged
local mixers = require "llmprof.model.mixers"
local schema = require "llmprof.model.schema"
local sorted_keys = require("llmprof.tables.keys").sorted

local decoder = {}

-- What mixes the tokens of a layer, and what follows it.
local MIXERS = { "full_attention", "sliding_attention", "chunked_attention", "linear_attention",
  "mamba", "mamba2", "none" }
local NETWORKS = { "dense", "experts", "none" }

decoder.FIELDS = {
  vocab_size = { "count" },
  hidden_size = { "count" },
  num_hidden_layers = { "layers" },
  num_attention_heads = { "count" },
  num_key_value_heads = { "whole", 0 }, -- 0: as many as heads
  head_dim = { "whole", 0 }, -- 0: hidden_size / heads
  intermediate_size = { "whole", 0, needed = { "dense" } }, -- of a dense feed-forward network
  gated = { "flag", true }, -- three products and not two
  tie_word_embeddings = { "flag", false },
  qkv_bias = { "flag", false },
  o_bias = { "flag", false },
  mlp_bias = { "flag", false },
  lm_head_bias = { "flag", false },
  qk_norm = { "flag", false }, -- of each head's query and key
  attention_gate = { "flag", false }, -- the query's product makes a gate of its output, too
  attention_sinks = { "flag", false }, -- one number per head
  norm = { { "rms", "layer" }, "rms" }, -- one weight per channel, or two
  norms_per_layer = { "count", 2 },
  sliding_window = { "whole", 0, needed = { "sliding_attention" } }, -- keys that a query sees
  sliding_window_pattern = { "whole", 0 }, -- every n-th layer sees all; 0: none does
  attention_chunk_size = { "whole", 0, needed = { "chunked_attention" } }, -- keys of a chunk
  layer_types = { "words", {} }, -- of each layer; {}: attention, as the window's fields say
  network_types = { "words", {} }, -- of each layer; {}: as first_k_dense_replace says
  n_routed_experts = { "whole", 0, needed = { "experts" } },
  num_experts_per_tok = { "whole", 0 },
  moe_intermediate_size = { "whole", 0, needed = { "experts" } },
  n_shared_experts = { "whole", 0 }, -- one network of this many times the width
  shared_expert_intermediate_size = { "whole", 0 }, -- its width, where it is another
  shared_expert_gate = { "flag", false },
  expert_bias = { "flag", false },
  first_k_dense_replace = { "whole", 0 }, -- how many of the first layers are dense
  router_bias = { "flag", false },
  kv_lora_rank = { "whole", 0 },
  q_lora_rank = { "whole", 0 },
  qk_nope_head_dim = { "whole", 0 },
  qk_rope_head_dim = { "whole", 0 },
  v_head_dim = { "whole", 0 },
}

decoder.FIELDS = merged(decoder.FIELDS, mixers.FIELDS)


-- ---- layers ----

-- How many layers are of each kind: so many of one, the rest of another.
local function split(kinds, layers, count, kind, other)
  local counts = {}
  for _, name in ipairs(kinds) do counts[name] = 0 end
  counts[other], counts[kind] = layers - count, count
  return counts
end


-- The same as the older fields say it.
local function default_mixers(d)
  local layers, pattern = d.num_hidden_layers, d.sliding_window_pattern
  local full = d.sliding_window == 0 and layers or pattern > 0 and layers // pattern or 0
  return split(MIXERS, layers, full, "full_attention", "sliding_attention")
end


local function default_networks(d)
  local layers = d.num_hidden_layers
  local dense = d.n_routed_experts == 0 and layers or math.min(d.first_k_dense_replace, layers)
  return split(NETWORKS, layers, dense, "dense", "experts")
end


-- The same of a list that is given, which has one entry a layer; else what `otherwise` gives.
local function counted(list, kinds, d, name, otherwise)
  if #list == 0 then return otherwise(d) end
  local counts = split(kinds, 0, 0, kinds[1], kinds[1])
  if #list ~= d.num_hidden_layers then
    schema.bad(("%s: %d entries for %d layers"):format(name, #list, d.num_hidden_layers))
  end
  for _, kind in ipairs(list) do
    if not counts[kind] then
      schema.bad(("%s: '%s' is none of %s"):format(name, kind, table.concat(kinds, ", ")))
    end
    counts[kind] = counts[kind] + 1
  end
  return counts
end


local function attention_layers(d)
  return d.mixers.full_attention + d.mixers.sliding_attention + d.mixers.chunked_attention
end


-- ---- checks ----

-- Raise an error where layers of a kind lack a field that they need.
local function check_needed(d, where)
  for _, name in ipairs(sorted_keys(decoder.FIELDS)) do
    for _, kind in ipairs(decoder.FIELDS[name].needed or {}) do
      if d[name] < 1 and (d.mixers[kind] or d.networks[kind]) > 0 then
        schema.bad(("%s.%s: missing: layers of kind %s need it"):format(where, name, kind))
      end
    end
  end
end


-- What fits one by one, but not together: { holds, key, message }.
local function rules(d)
  local latent, experts = d.kv_lora_rank > 0, d.n_routed_experts > 0
  return {
    { d.head_dim >= 1, "head_dim", "hidden_size is less than num_attention_heads" },
    { d.num_attention_heads % d.num_key_value_heads == 0, "num_key_value_heads",
      "does not divide num_attention_heads" },
    { not experts or (d.num_experts_per_tok >= 1
      and d.num_experts_per_tok <= d.n_routed_experts), "num_experts_per_tok",
      "not between 1 and the number of experts" },
    { not latent or (d.qk_nope_head_dim >= 1 and d.qk_rope_head_dim >= 1 and d.v_head_dim >= 1),
      "kv_lora_rank", "needs qk_nope_head_dim, qk_rope_head_dim and v_head_dim" },
  }
end


-- A checked decoder with all fields, and `mixers` and `networks`: how many layers have which. where
-- names it in errors.
function decoder.read(given, where)
  local d = schema.read(given, decoder.FIELDS, where)
  if d.num_key_value_heads == 0 then d.num_key_value_heads = d.num_attention_heads end
  if d.head_dim == 0 then d.head_dim = d.hidden_size // d.num_attention_heads end
  d.mixers = counted(d.layer_types, MIXERS, d, where .. ".layer_types", default_mixers)
  d.networks = counted(d.network_types, NETWORKS, d, where .. ".network_types", default_networks)
  check_needed(d, where)
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
    list[#list + 1] = copies > 0 and merged({ part = part, inputs = inputs, outputs = outputs,
      copies = copies }, more or {}) or nil
  end
  return list
end


local function add_latent_attention(list, d)
  local heads, layers, part = d.num_attention_heads, attention_layers(d), "projections"
  local qk_dim = d.qk_nope_head_dim + d.qk_rope_head_dim
  local function add(inputs, outputs, bias)
    list.add(part, inputs, outputs, layers, { bias = bias, format = part })
  end
  if d.q_lora_rank > 0 then
    add(d.hidden_size, d.q_lora_rank, d.qkv_bias)
    list.add("norms", 1, d.q_lora_rank, layers, { vectors = true })
    add(d.q_lora_rank, heads * qk_dim)
  else
    add(d.hidden_size, heads * qk_dim)
  end
  add(d.hidden_size, d.kv_lora_rank + d.qk_rope_head_dim, d.qkv_bias)
  list.add("norms", 1, d.kv_lora_rank, layers, { vectors = true })
  add(d.kv_lora_rank, heads * (d.qk_nope_head_dim + d.v_head_dim))
  add(heads * d.v_head_dim, d.hidden_size, d.o_bias)
end


local function add_attention(list, d)
  if d.kv_lora_rank > 0 then return add_latent_attention(list, d) end
  local layers, part = attention_layers(d), "projections"
  local query, key = d.num_attention_heads * d.head_dim, d.num_key_value_heads * d.head_dim
  list.add(part, d.hidden_size, d.attention_gate and 2 * query or query, layers,
    { bias = d.qkv_bias, format = part })
  for _ = 1, 2 do -- keys and values
    list.add(part, d.hidden_size, key, layers, { bias = d.qkv_bias, format = part })
  end
  list.add(part, query, d.hidden_size, layers, { bias = d.o_bias, format = part })
  if d.qk_norm then list.add("norms", 2, d.head_dim, layers, { vectors = true }) end
  if d.attention_sinks then
    list.add("attention", 1, d.num_attention_heads, layers, { vectors = true })
  end
end


-- more: fields of its products.
local function add_network(list, d, part, width, copies, more)
  local fields = merged({ bias = d.mlp_bias }, more or {})
  list.add(part, d.hidden_size, width, d.gated and 2 * copies or copies, fields)
  list.add(part, width, d.hidden_size, copies, fields)
end


local function add_experts(list, d)
  local layers = d.networks.experts
  list.add("router", d.hidden_size, d.n_routed_experts, layers, { bias = d.router_bias })
  add_network(list, d, "experts", d.moe_intermediate_size, layers, {
    experts = { total = d.n_routed_experts, active = d.num_experts_per_tok }, format = "experts",
    bias = d.expert_bias or nil })
  local shared = d.shared_expert_intermediate_size
  if shared == 0 then shared = d.n_shared_experts * d.moe_intermediate_size end
  if shared > 0 then add_network(list, d, "shared experts", shared, layers) end
  if d.shared_expert_gate then list.add("router", d.hidden_size, 1, layers) end
end


-- Products of one pass over the layers, the embedding and the output layer
-- left out.
local function layer_products(d)
  local list = new_list()
  local norm = d.norm == "layer" and 2 or 1
  add_attention(list, d)
  mixers.add(list, d)
  add_network(list, d, "mlp", d.intermediate_size, d.networks.dense)
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
  local products, head = layer_products(d), cost.weights(lm_head(d))
  local embedding = d.tie_word_embeddings and 0 or d.vocab_size * d.hidden_size
  return { total = lists.sum(products, cost.weights) + head + embedding,
    active = math.floor(lists.sum(products, cost.active_weights) + head + 0.5) }
end


-- ---- passes ----

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


-- The sum of `count` whole numbers from `first` on.
local function series(first, count) return count * first + count * (count - 1) // 2 end


-- The sum of t % chunk for t from 0 to count - 1.
local function remainders(count, chunk)
  return count // chunk * series(0, chunk) + series(0, count % chunk)
end


-- Cached tokens that one layer of a kind reads in `steps` steps, of which the first finds
-- `context` of them; with a window a query sees itself and the window - 1 before it.
local function cached_read(d, kind, context, steps)
  if kind == "sliding_attention" then
    local most = d.sliding_window - 1
    local growing = math.max(math.min(most - context, steps), 0)
    return series(context, growing) + (steps - growing) * most
  elseif kind == "chunked_attention" then
    return remainders(context + steps, d.attention_chunk_size)
      - remainders(context, d.attention_chunk_size)
  end
  return series(context, steps)
end


-- The same of all layers.
local function cached_reads(d, context, steps)
  local kinds = { "full_attention", "sliding_attention", "chunked_attention" }
  return lists.sum(kinds, function(kind)
    return d.mixers[kind] > 0 and d.mixers[kind] * cached_read(d, kind, context, steps)
  end)
end


-- Pairs of a query and a key of so many tokens in all layers, of which the first finds `context`
-- before it: each sees itself, too.
local function seen_pairs(d, context, tokens)
  return cached_reads(d, context, tokens) + tokens * attention_layers(d)
end


-- Products of one pass of `tokens` tokens in `batch` sequences, `times` times
-- over.
local function add_products(sum, d, tokens, batch, times, first)
  for _, product in ipairs(layer_products(d)) do sum:product(product, tokens, times) end
  sum:product(lm_head(d), batch, times)
  mixers.pass(sum, d, tokens, batch, times, first)
end


-- Add a prefill of `tokens` tokens each in `batch` sequences. The output layer
-- is needed for the last token of each only.
function decoder.prefill(sum, d, work)
  local n, batch = work.tokens, work.batch
  add_products(sum, d, n * batch, batch, 1, true)
  sum:add_weights("embedding", math.min(n * batch, d.vocab_size) * d.hidden_size,
    "embeddings")
  sum:attention("attention", seen_pairs(d, 0, n) * batch, pair_widths(d))
  sum:kv(0, n * batch * attention_layers(d) * cache_width(d))
end


-- Add `steps` decode steps, the first of which finds `context` tokens in the
-- cache. Each step reads all weights that it uses again, reads the cached
-- tokens that its query sees, and writes its own.
function decoder.decode(sum, d, work)
  local batch, steps = work.batch, work.steps
  add_products(sum, d, batch, batch, steps, false)
  sum:add_weights("embedding", batch * steps * d.hidden_size, "embeddings")
  local reads = cached_reads(d, work.context, steps)
  sum:attention("attention", seen_pairs(d, work.context, steps) * batch, pair_widths(d))
  sum:kv(reads * batch * cache_width(d), steps * attention_layers(d) * batch * cache_width(d))
end


return decoder
