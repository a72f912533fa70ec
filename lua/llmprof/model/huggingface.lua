-- Hugging Face config.json of a causal decoder -> a description as
-- llmprof.model reads it. llmprof.model.huggingface knows how families differ,
-- llmprof.model.quantisation what their weights are stored in.
local decoder = require "llmprof.model.decoder"
local errors = require "llmprof.process.errors"
local json = require "llmprof.json"
local merged = require("llmprof.tables.keys").merged
local nearest = require "llmprof.tables.keys"
local quantisation = require "llmprof.model.quantisation"
local schema = require "llmprof.model.schema"
local sorted_keys = require("llmprof.tables.keys").sorted

local huggingface = {}

-- ---- families ----

-- Families of Hugging Face models, by model_type: what they do not write down in
-- config.json, or call by another name than llmprof.model.decoder does.
--
--   set       fixed fields
--   from      field -> key of config.json
--   default   what the family's code takes where the file is silent
--   only      key -> the one value that is known here
--   finish    function(made, value, bad): sets what takes more than a name. made:
--             the decoder so far, whose fields fit; value(key, kind, otherwise): of
--             config.json, of a kind of llmprof.model.schema, missing where it is
--             absent and nothing else is taken; bad(key, message) raises
--   encoders  function(value) -> list for llmprof.model.encoder

local WINDOW = { sliding_window = "sliding_window" }

local BIASES = { qkv_bias = "attention_bias", o_bias = "attention_bias" }


-- A list of `count` entries, kind(i) each, i from 0.
local function per_layer(count, kind)
  local list = {}
  for i = 0, count - 1 do list[i + 1] = kind(i) end
  return list
end


-- ---- attention alone ----

local families = {
  llama = { from = BIASES },
  mistral = { from = WINDOW },
  qwen2 = { set = { qkv_bias = true }, only = { use_sliding_window = false } },
  qwen3 = { set = { qk_norm = true }, only = { use_sliding_window = false }, from = BIASES },
  gemma = { default = { tie_word_embeddings = true } },
  gemma2 = { default = { tie_word_embeddings = true },
    set = { norms_per_layer = 4, sliding_window_pattern = 2 }, from = WINDOW },
  gemma3_text = { default = { tie_word_embeddings = true, sliding_window_pattern = 6 },
    set = { norms_per_layer = 4, qk_norm = true }, from = WINDOW },
  glm = { from = { qkv_bias = "attention_bias" } },
  glm4 = { set = { norms_per_layer = 4 }, from = { qkv_bias = "attention_bias" } },
  phi = { set = { norm = "layer", norms_per_layer = 1, gated = false, qkv_bias = true,
    o_bias = true, mlp_bias = true, lm_head_bias = true }, only = { qk_layernorm = false } },
  phi3 = { from = WINDOW },
}


-- ---- experts ----

local deepseek = { from = BIASES, only = { moe_layer_freq = 1 } }

local deepseek_v3 = merged(deepseek, { set = { router_bias = true } })

families.deepseek_v2, families.deepseek_v3, families.kimi_k2 = deepseek, deepseek_v3, deepseek_v3

families.glm4_moe_lite = deepseek_v3

families.glm4_moe = { set = { router_bias = true },
  from = { qkv_bias = "attention_bias", qk_norm = "use_qk_norm" } }

local local_experts = merged(WINDOW, { n_routed_experts = "num_local_experts",
  moe_intermediate_size = "intermediate_size" })

families.mixtral = { from = local_experts }

local qwen_experts = { n_routed_experts = "num_experts" }

families.qwen2_moe = { set = { qkv_bias = true, shared_expert_gate = true }, from = qwen_experts,
  only = { use_sliding_window = false, decoder_sparse_step = 1 } }

families.qwen3_moe = { set = { qk_norm = true }, from = qwen_experts,
  only = { use_sliding_window = false, decoder_sparse_step = 1 } }

families.gpt_oss = { set = { qkv_bias = true, o_bias = true, attention_sinks = true,
    router_bias = true, expert_bias = true },
  from = local_experts,
  finish = function(made)
    made.layer_types = made.layer_types or per_layer(made.num_hidden_layers, function(i)
      return i % 2 == 0 and "sliding_attention" or "full_attention"
    end)
  end }

families.llama4_text = {
  from = { n_routed_experts = "num_local_experts", moe_intermediate_size = "intermediate_size",
    intermediate_size = "intermediate_size_mlp" },
  set = { n_shared_experts = 1 },
  finish = function(made, value)
    local step, layers = value("interleave_moe_layer_step", "count", 1), made.num_hidden_layers
    made.network_types = per_layer(layers, function(i)
      return (i + 1) % step == 0 and "experts" or "dense"
    end)
    -- one layer of four has no rotary positions and sees everything
    made.layer_types = made.attention_chunk_size and per_layer(layers, function(i)
      return (i + 1) % 4 == 0 and "full_attention" or "chunked_attention"
    end) or nil
  end }


-- ---- states ----

families.qwen3_next = {
  set = { qk_norm = true, attention_gate = true, shared_expert_gate = true },
  from = merged(qwen_experts, BIASES),
  only = { decoder_sparse_step = 1 },
  finish = function(made, value)
    local interval = value("full_attention_interval", "count", 4)
    made.layer_types = made.layer_types or per_layer(made.num_hidden_layers, function(i)
      return (i + 1) % interval == 0 and "full_attention" or "linear_attention"
    end)
  end }


-- Models without attention: one norm and one state in each layer.
local function alone(kind)
  return function(made)
    made.num_attention_heads, made.intermediate_size = 1, nil
    made.layer_types = per_layer(made.num_hidden_layers, function() return kind end)
    made.network_types = per_layer(made.num_hidden_layers, function() return "none" end)
  end
end


families.mamba = { default = { tie_word_embeddings = true }, set = { norms_per_layer = 1 },
  from = { mamba_inner = "intermediate_size", mamba_state = "state_size",
    mamba_conv = "conv_kernel", mamba_dt_rank = "time_step_rank", mamba_bias = "use_bias",
    mamba_conv_bias = "use_conv_bias" },
  finish = function(made, value)
    made.mamba_inner = made.mamba_inner or value("expand", "number", 2) * made.hidden_size
    alone "mamba" (made)
  end }

families.falcon_mamba = families.mamba

families.mamba2 = { set = { norms_per_layer = 1 },
  from = { mamba_heads = "num_heads", mamba_state = "state_size", mamba_groups = "n_groups",
    mamba_conv = "conv_kernel", mamba_bias = "use_bias", mamba_conv_bias = "use_conv_bias" },
  finish = function(made, value)
    made.mamba_inner = value("expand", "number", 2) * made.hidden_size
    made.head_dim = nil
    alone "mamba2" (made)
  end }

families.jamba = { set = { mamba_norms = true },
  from = { n_routed_experts = "num_experts", moe_intermediate_size = "intermediate_size",
    mamba_state = "mamba_d_state", mamba_conv = "mamba_d_conv", mamba_bias = "mamba_proj_bias" },
  finish = function(made, value)
    local layers = made.num_hidden_layers
    local function each(what, there, elsewhere)
      local period = value(what .. "_layer_period", "count")
      local offset = value(what .. "_layer_offset", "whole")
      return per_layer(layers, function(i) return i % period == offset and there or elsewhere end)
    end
    made.mamba_inner = value("mamba_expand", "number", 2) * made.hidden_size
    made.layer_types = each("attn", "full_attention", "mamba")
    made.network_types = each("expert", "experts", "dense")
  end }

families.bamba = { from = { mamba_heads = "mamba_n_heads", mamba_state = "mamba_d_state",
    mamba_groups = "mamba_n_groups", mamba_conv = "mamba_d_conv", mamba_bias = "mamba_proj_bias",
    qkv_bias = "attention_bias", o_bias = "attention_bias" },
  finish = function(made, value)
    local attention = {}
    for _, i in ipairs(value("attn_layer_indices", "places", {})) do attention[i] = true end
    made.mamba_inner = value("mamba_expand", "number", 2) * made.hidden_size
    made.layer_types = per_layer(made.num_hidden_layers, function(i)
      return attention[i] and "full_attention" or "mamba2"
    end)
  end }

-- A letter per layer: M a state, * attention, - a feed-forward network.
local NEMOTRON = { M = { "mamba2", "none" }, ["*"] = { "full_attention", "none" },
  ["-"] = { "none", "dense" } }

families.nemotron_h = { set = { norms_per_layer = 1, gated = false },
  from = { mamba_heads = "mamba_num_heads", mamba_state = "ssm_state_size",
    mamba_groups = "n_groups", mamba_conv = "conv_kernel", mamba_bias = "mamba_proj_bias",
    mamba_conv_bias = "use_conv_bias", qkv_bias = "attention_bias", o_bias = "attention_bias" },
  finish = function(made, value, bad)
    made.mamba_inner = value("mamba_num_heads", "count") * value("mamba_head_dim", "count")
    made.head_dim = made.head_dim or value("attention_head_dim", "whole", 0)
    made.layer_types, made.network_types = {}, {}
    for letter in value("hybrid_override_pattern", "text", ""):gmatch "." do
      local kinds = NEMOTRON[letter] or bad("hybrid_override_pattern", letter .. " is not known")
      table.insert(made.layer_types, kinds[1])
      table.insert(made.network_types, kinds[2])
    end
  end }


-- ---- a config.json ----

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


-- What a family computes with has to fit first, as all has to in the end.
local function finish(made, config, family, where)
  local function value(key, kind, otherwise)
    if not kind then return value_of(config, key) end
    return schema.value(value_of(config, key), { kind, otherwise }, ("%s: %s"):format(where, key))
  end
  for _, key in ipairs { "hidden_size", "num_hidden_layers" } do
    schema.value(made[key], decoder.FIELDS[key], ("%s: %s"):format(where, key))
  end
  family.finish(made, value, function(key, message)
    schema.bad(("%s: %s: %s"):format(where, key, message),
      "describe the model in YAML (model.arch)")
  end)
end


-- Fields by their own names count in every family but the window, which a file may have and not
-- use.
local function decoder_of(config, family, where)
  local made, from = merged(family.default or {}), family.from or {}
  for key in pairs(decoder.FIELDS) do
    local value = from[key] and value_of(config, from[key])
    if value == nil and key ~= "sliding_window" then value = value_of(config, key) end
    if value ~= nil then made[key] = value end
  end
  for key, value in pairs(family.set or {}) do made[key] = value end
  if family.finish then finish(made, config, family, where) end
  if made.kv_lora_rank then made.head_dim = nil end
  return made
end


local function formats_of(config, outer, where)
  local plain = quantisation.name(value_of(config, "torch_dtype") or value_of(config, "dtype")
    or value_of(outer, "torch_dtype") or value_of(outer, "dtype") or "bfloat16",
    where .. ": torch_dtype")
  local quantised = value_of(outer, "quantization_config")
    or value_of(config, "quantization_config")
  local formats = type(quantised) == "table"
    and quantisation.formats(quantised, plain, value_of(config, "num_hidden_layers"), where)
    or { weights = plain, activations = plain }
  formats.kv, formats.embeddings = formats.kv or plain, plain
  return formats
end


-- A model of several parts has its decoder in text_config.
local function text_of(config)
  local inner = value_of(config, "text_config")
  if type(inner) == "table" and families[value_of(inner, "model_type")] then return inner end
  return config
end


-- The description; where names the file in errors. Of a model of several parts
-- (text_config) only the decoder is described: partial says so.
function huggingface.describe(config, where)
  if type(config) ~= "table" then errors.raise("usage", where .. ": an object is expected") end
  local text = text_of(config)
  local family = family_of(text, where)
  check_only(text, family, where)
  return { name = value_of(config, "_name_or_path"), partial = text ~= config or nil,
    decoder = decoder_of(text, family, where), formats = formats_of(text, config, where) }
end


return huggingface
