-- Hugging Face config.json of a causal decoder -> a description as
-- llmprof.model reads it. llmprof.model.families knows how families differ,
-- llmprof.model.quantisation what their weights are stored in.
local decoder = require "llmprof.model.decoder"
local errors = require "llmprof.process.errors"
local families = require("llmprof.model.families").known
local json = require "llmprof.json"
local nearest = require "llmprof.tables.suggest"
local quantisation = require "llmprof.model.quantisation"
local schema = require "llmprof.model.schema"
local sorted_keys = require("llmprof.tables.keys").sorted

local huggingface = {}

-- Fields that are the same in all families.
local SHARED = { "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
  "num_key_value_heads", "head_dim", "intermediate_size", "tie_word_embeddings" }


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


local function copy_fields(made, config, keys)
  for _, key in ipairs(keys) do
    local value = value_of(config, key)
    if value ~= nil then made[key] = value end
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


local function decoder_of(config, family, where)
  local made = {}
  for key, value in pairs(family.default or {}) do made[key] = value end
  copy_fields(made, config, SHARED)
  for _, keys in ipairs(family.copy or {}) do copy_fields(made, config, keys) end
  for key, from in pairs(family.from or {}) do
    local value = value_of(config, from)
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
  if type(config) ~= "table" then
    errors.raise("usage", where .. ": an object is expected")
  end
  local text = text_of(config)
  local family = family_of(text, where)
  check_only(text, family, where)
  return { name = value_of(config, "_name_or_path"), partial = text ~= config or nil,
    decoder = decoder_of(text, family, where), formats = formats_of(text, config, where),
    encoders = family.encoders
      and family.encoders(function(key) return value_of(text, key) end) }
end


return huggingface
