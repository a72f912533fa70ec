-- Hugging Face config.json of a causal decoder -> a description as
-- llmprof.model reads it. Families differ in what they do not write down, or
-- in how they call it: that is the table below.
local dtypes = require "llmprof.model.dtypes"
local errors = require "llmprof.base.errors"
local json = require "llmprof.json"
local nearest = require "llmprof.base.nearest"
local schema = require "llmprof.model.schema"
local sorted_keys = require "llmprof.base.sorted_keys"

local huggingface = {}

-- Fields that are the same in all families.
local SHARED = { "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
  "num_key_value_heads", "head_dim", "intermediate_size", "tie_word_embeddings" }

local LATENT = { "kv_lora_rank", "q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim",
  "v_head_dim" }

local EXPERTS = { "n_routed_experts", "num_experts_per_tok", "moe_intermediate_size",
  "n_shared_experts", "first_k_dense_replace" }

-- set: fixed fields; copy: more fields of the same name; from: field -> key of
-- config.json; default: what the family's code takes where the file is silent;
-- only: key -> the one value that is known here.
local deepseek = {
  copy = { EXPERTS, LATENT },
  from = { qkv_bias = "attention_bias", o_bias = "attention_bias" },
  only = { moe_layer_freq = 1 },
}

local families = {
  llama = { from = { qkv_bias = "attention_bias", o_bias = "attention_bias",
    mlp_bias = "mlp_bias" } },
  mistral = { from = { sliding_window = "sliding_window" } },
  qwen2 = { set = { qkv_bias = true }, only = { use_sliding_window = false } },
  qwen3 = { set = { qk_norm = true }, only = { use_sliding_window = false },
    from = { qkv_bias = "attention_bias", o_bias = "attention_bias" } },
  qwen3_moe = { set = { qk_norm = true },
    from = { n_routed_experts = "num_experts", num_experts_per_tok = "num_experts_per_tok",
      moe_intermediate_size = "moe_intermediate_size" },
    only = { use_sliding_window = false, decoder_sparse_step = 1 } },
  mixtral = { from = { n_routed_experts = "num_local_experts",
    num_experts_per_tok = "num_experts_per_tok", moe_intermediate_size = "intermediate_size",
    sliding_window = "sliding_window" } },
  deepseek_v2 = deepseek,
  deepseek_v3 = { copy = deepseek.copy, from = deepseek.from, only = deepseek.only,
    set = { router_bias = true } },
  gemma = { default = { tie_word_embeddings = true } },
  gemma2 = { default = { tie_word_embeddings = true },
    set = { norms_per_layer = 4, sliding_window_pattern = 2 },
    from = { sliding_window = "sliding_window" } },
  gemma3_text = { default = { tie_word_embeddings = true, sliding_window_pattern = 6 },
    set = { norms_per_layer = 4, qk_norm = true },
    from = { sliding_window = "sliding_window",
      sliding_window_pattern = "sliding_window_pattern" } },
  phi = { set = { norm = "layer", norms_per_layer = 1, gated = false, qkv_bias = true,
    o_bias = true, mlp_bias = true, lm_head_bias = true }, only = { qk_layernorm = false } },
  phi3 = { from = { sliding_window = "sliding_window" } },
}

-- Quantisation methods whose weights are integers of so many `bits`.
local INTEGER_METHODS = { gptq = true, awq = true }


local function value_of(config, key)
  local value = config[key]
  if value == json.null then return nil end
  return value
end


local function family_of(config, where)
  local name, names = value_of(config, "model_type"), sorted_keys(families)
  if families[name] then return families[name] end
  local what = name == nil and "missing" or ("'%s' is not known%s"):format(tostring(name),
    nearest.suggestion(tostring(name), names))
  schema.bad(("%s: model_type: %s"):format(where, what),
    ("known: %s; others can be described in YAML (model.arch)"):format(table.concat(names, ", ")))
end


local function check_only(config, family, where)
  local only = family.only or {}
  for _, key in ipairs(sorted_keys(only)) do
    local value, wanted = value_of(config, key), only[key]
    if value ~= nil and value ~= wanted then
      schema.bad(("%s: %s: only %s is known, not %s"):format(where, key, tostring(wanted),
        tostring(value)), "describe the model in YAML (model.arch)")
    end
  end
  local dense = value_of(config, "mlp_only_layers")
  if type(dense) == "table" and #dense > 0 then
    schema.bad(where .. ": mlp_only_layers: only models with experts in every layer are known")
  end
end


local function decoder_of(config, family)
  local made = {}
  for key, value in pairs(family.default or {}) do made[key] = value end
  local function copy(keys)
    for _, key in ipairs(keys) do
      local value = value_of(config, key)
      if value ~= nil then made[key] = value end
    end
  end
  copy(SHARED)
  for _, keys in ipairs(family.copy or {}) do copy(keys) end
  for key, from in pairs(family.from or {}) do made[key] = value_of(config, from) or made[key] end
  for key, value in pairs(family.set or {}) do made[key] = value end
  if made.kv_lora_rank then made.head_dim = nil end
  return made
end


-- Number format of quantised weights, and of what they are multiplied with.
local function quantised(config, plain, where)
  local method, bits = config.quant_method, config.bits or config.weight_bits
  if method == "fp8" then return "fp8", "fp8" end
  if INTEGER_METHODS[method] and (bits == 4 or bits == 8) then return "int" .. bits, plain end
  if method == "bitsandbytes" then
    return config.load_in_4bit and "int4" or "int8", plain
  end
  schema.bad(("%s: quantization_config: method '%s' is not known"):format(where,
    tostring(method)), "set model.weight_dtype and model.dtype")
end


local function formats_of(config, where)
  local plain = dtypes.name(value_of(config, "torch_dtype") or value_of(config, "dtype")
    or "bfloat16", where .. ": torch_dtype")
  local weights, activations = plain, plain
  local quantisation = value_of(config, "quantization_config")
  if type(quantisation) == "table" then
    weights, activations = quantised(quantisation, plain, where)
  end
  return { weights = weights, activations = activations, kv = plain, embeddings = plain }
end


-- The description; where names the file in errors.
function huggingface.describe(config, where)
  if type(config) ~= "table" then
    errors.raise("usage", where .. ": an object is expected")
  end
  local family = family_of(config, where)
  check_only(config, family, where)
  return { name = value_of(config, "_name_or_path"), decoder = decoder_of(config, family),
    formats = formats_of(config, where) }
end


return huggingface
