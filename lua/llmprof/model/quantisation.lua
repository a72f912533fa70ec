-- quantization_config of a Hugging Face config.json -> number formats: of
-- weights, of what they are multiplied with, of the cache; and which products
-- were left as they are.
local errors = require "llmprof.process.errors"
local nearest = require "llmprof.tables.keys"
local schema = require "llmprof.model.schema"
local sorted_keys = require("llmprof.tables.keys").sorted

local quantisation = {}


-- Methods whose weights are integers of this many `bits`.
local INTEGER_METHODS = { gptq = true, awq = true, auto_gptq = true, ["auto-round"] = true }

-- Methods with one format.
local FIXED = { fp8 = { "fp8", "fp8" }, fbgemm_fp8 = { "fp8", "fp8" }, mxfp4 = { "mxfp4" },
  eetq = { "int8" } }

-- NVIDIA ModelOpt's names: weights, and activations where they are quantised.
local ALGORITHMS = {
  FP8 = { "fp8", "fp8" }, FP8_PER_CHANNEL_PER_TOKEN = { "fp8", "fp8" },
  FP8_PB_WO = { "fp8", "fp8" }, NVFP4 = { "nvfp4", "fp4" }, NVFP4_AWQ = { "nvfp4", "fp4" },
  W4A16_AWQ = { "int4" }, INT4_AWQ = { "int4" }, W4A8_AWQ = { "int4", "fp8" },
  W8A16 = { "int8" }, W8A8_SQ_PER_CHANNEL = { "int8", "int8" }, INT8_SQ = { "int8", "int8" },
}

-- Products that may be left out, by what their modules are called.
local PARTS = { projections = { "attn", "attention" }, experts = { "experts" } }


local function unknown(where, what)
  schema.bad(("%s: quantization_config: %s is not known"):format(where, what),
    "set model.weight_dtype and model.dtype")
end


-- Format of { num_bits, type } as compressed-tensors writes it, or nil.
local function of_scheme(scheme, where)
  if type(scheme) ~= "table" then return nil end
  local bits, kind = scheme.num_bits, scheme.type or "int"
  if kind == "float" and bits == 4 then return scheme.group_size == 16 and "nvfp4" or "mxfp4" end
  local name = (kind == "float" and "fp" or "int") .. tostring(bits)
  if name == "fp8" or name == "int8" or name == "int4" then return name end
  unknown(where, ("%s of %s bits"):format(kind, tostring(bits)))
end


-- The group of most modules: the first by name, as such files have one.
local function main_group(config, where)
  local groups = type(config.config_groups) == "table" and config.config_groups or {}
  for _, name in ipairs(sorted_keys(groups)) do
    local group = groups[name]
    if type(group) == "table" and type(group.weights) == "table" then return group end
  end
  unknown(where, "compressed-tensors without config_groups")
end


local function compressed_tensors(config, where)
  local group = main_group(config, where)
  return of_scheme(group.weights, where), of_scheme(group.input_activations, where),
    of_scheme(config.kv_cache_scheme, where)
end


local function modelopt(config, where)
  local inner = type(config.quantization) == "table" and config.quantization or config
  local formats = ALGORITHMS[inner.quant_algo]
  if not formats then unknown(where, ("quant_algo '%s'"):format(tostring(inner.quant_algo))) end
  local kv = inner.kv_cache_quant_algo == "FP8" and "fp8"
    or of_scheme(config.kv_cache_scheme, where)
  return formats[1], formats[2], kv or nil
end


local function by_bits(config, where)
  local bits = config.bits or config.w_bit or config.weight_bits
  if bits == 4 or bits == 8 then return "int" .. bits end
  unknown(where, ("%s with %s bits"):format(config.quant_method, tostring(bits)))
end


local function formats_of(config, where)
  local method = config.quant_method
  if method == nil and config.quant_algo then method = "modelopt" end
  if FIXED[method] then return FIXED[method][1], FIXED[method][2] end
  if INTEGER_METHODS[method] then return by_bits(config, where) end
  if method == "bitsandbytes" then return config.load_in_4bit and "int4" or "int8" end
  if method == "compressed-tensors" or method == "compressed_tensors" then
    return compressed_tensors(config, where)
  end
  if method == "modelopt" or method == "modelopt_fp4" then return modelopt(config, where) end
  unknown(where, ("method '%s'"):format(tostring(method)))
end


local function ignored_names(config)
  local inner = type(config.quantization) == "table" and config.quantization or config
  local list = inner.modules_to_not_convert or inner.ignore or inner.exclude_modules
  return type(list) == "table" and list or {}
end


local function is_of(name, words)
  for _, word in ipairs(words) do
    if name:find(word, 1, true) then return not name:find("shared_expert", 1, true) end
  end
  return false
end


-- Is a part left out in most layers? Names have the number of a layer, or a
-- pattern that stands for all.
local function is_left_out(names, words, layers)
  local seen, count = {}, 0
  for _, name in ipairs(names) do
    if type(name) == "string" and is_of(name, words) then
      local layer = name:match "layers%.(%d+)%."
      if not layer then return true end
      if not seen[layer] then seen[layer], count = true, count + 1 end
    end
  end
  return math.type(layers) and count * 2 >= layers
end


-- Formats of llmprof.model.quantisation: weights, activations, and kv, projections and
-- experts where they differ from the others. plain: the format of the model.
function quantisation.formats(config, plain, layers, where)
  local weights, activations, kv = formats_of(config, where)
  local made, names = { weights = weights, activations = activations or plain, kv = kv },
    ignored_names(config)
  for part, words in pairs(PARTS) do
    if is_left_out(names, words, layers) then made[part] = plain end
  end
  return made
end


-- Bytes per element. Scales of quantised formats are not in it (with groups of
-- 128 they add 1 % to int8 and 3 % to int4), except where the format itself has
-- one of 8 bits per block: 32 numbers in mxfp4 (OCP MX), 16 in nvfp4.
local BYTES = {
  fp64 = 8, fp32 = 4, tf32 = 4, bf16 = 2, fp16 = 2, fp8 = 1, int8 = 1, fp4 = 0.5, int4 = 0.5,
  mxfp4 = 17 / 32, nvfp4 = 9 / 16,
}

-- Spellings of frameworks.
local SPELLINGS = {
  float64 = "fp64", float32 = "fp32", float = "fp32", bfloat16 = "bf16", float16 = "fp16",
  half = "fp16", float8_e4m3fn = "fp8", float8_e5m2 = "fp8", fp8_e4m3 = "fp8", fp8_e5m2 = "fp8",
  e4m3 = "fp8",
}


-- The format's name as used here; an error that lists them for any other.
-- where says what the name is of.
function quantisation.name(given, where)
  local name = SPELLINGS[given] or given
  if BYTES[name] then return name end
  errors.raise("usage", ("%s: no number format '%s'%s"):format(where, tostring(given),
    nearest.suggestion(tostring(given), sorted_keys(BYTES))),
    { hint = "there are: " .. table.concat(sorted_keys(BYTES), ", ") })
end


function quantisation.is_quantised(name) return BYTES[name] <= 1 end


-- Bytes of one element of a format that quantisation.name gave.
function quantisation.bytes(name) return BYTES[name] end


return quantisation
