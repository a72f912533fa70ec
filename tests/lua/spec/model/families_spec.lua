-- Families of config.json: parameters as models' cards have them (model_spec has those of the
-- checkpoints), and what passes take where they differ from the plain kind.
local failure = require "tests.lua.support.failure"
local json = require "llmprof.json"
local huggingface = require "llmprof.model.huggingface"
local model = require "llmprof.model"


local function path_of(name) return ("tests/fixtures/model/%s.json"):format(name) end


-- The description of a fixture, with keys of its config.json (or of its
-- text_config) changed.
local function changed(name, keys)
  local config = assert(json.load(path_of(name)))
  for key, value in pairs(keys) do config[key] = value end
  return model.from_table(huggingface.describe(config, name), name)
end


describe("parameters of a config.json", function()
  -- What the models' cards say, rounded as they round, and active ones.
  for name, said in pairs {
    qwen3_next_80b_a3b = { "80", "3.6" }, nemotron_h_8b = { "8", "7.6" },
    bamba_9b = { "10", "9.3" },
    llama4_scout = { "108", "16.1" }, llama4_maverick = { "401", "16.2" },
    kimi_k2 = { "1026", "31.7" }, glm4_5_air = { "107", "12.8" }, glm4_5 = { "353", "32.9" },
    gpt_oss_20b = { "21", "3.6" }, gpt_oss_120b = { "117", "5.1" }, jamba_v01 = { "52", "11.8" },
    deepseek_v3 = { "671", "36.6" }, qwen15_moe = { "14", "2.4" },
  } do
    it("come to those that are said of " .. name, function()
      local counted = model.parameters(model.from_config(path_of(name)))
      assert.same(said, { ("%.0f"):format(counted.total / 1e9),
        ("%.1f"):format(counted.active / 1e9) })
    end)
  end
end)


describe("a pass", function()
  local function decode(name, context)
    return model.decode(model.from_config(path_of(name)), { steps = 1, context = context,
      batch = 1 })
  end

  it("of a state takes the same at every length", function()
    local short, long = decode("mamba_2_8b", 10), decode("mamba_2_8b", 100000)
    assert.same({ short.bytes, short.flops }, { long.bytes, long.flops })
    -- fp32; 64 layers of 5120 channels: 16 numbers and the last 3 inputs of each
    assert.equal(64 * 5120 * (16 + 3) * 4, short.kv_read_bytes)
  end)

  it("of a gated delta net reads states in three layers of four", function()
    local cost = decode("qwen3_next_80b_a3b", 1000)
    local cache = 12 * 1000 * 2 * 2 * 256
    local states = 36 * (32 * 128 * 128 + (2 * 2048 + 4096) * 3)
    assert.equal((cache + states) * 2, cost.kv_read_bytes)
  end)

  it("of alternating windows sees all in every other layer", function()
    local cost = decode("gpt_oss_20b", 1000)
    assert.equal(12 * (1000 + 127) * 2 * 8 * 64 * 2, cost.kv_read_bytes)
  end)

  it("of chunks sees what the chunk holds so far", function()
    local cost = decode("llama4_scout", 8192 + 100)
    assert.equal((12 * 8292 + 36 * 100) * 2 * 8 * 128 * 2, cost.kv_read_bytes)
    local prefill = model.prefill(model.from_config(path_of "llama4_scout"),
      { tokens = 8192 + 100, batch = 1 })
    local pairs_seen = 12 * 8292 * 8293 // 2 + 36 * (8192 * 8193 // 2 + 100 * 101 // 2)
    for _, part in ipairs(prefill.parts) do
      if part.name == "attention" then assert.equal(pairs_seen * 4 * 5120, part.flops) end
    end
  end)
end)


describe("number formats of a config.json", function()
  local function formats(name, keys)
    local made = changed(name, keys or {}).formats
    return table.concat({ made.weights, made.activations, made.kv, made.embeddings,
      made.projections, made.experts }, " ")
  end

  local function quantised(how, name)
    return formats(name or "llama3_8b", { quantization_config = how })
  end

  it("are those of the model", function()
    assert.equal("fp32 fp32 fp32 fp32 fp32 fp32", formats "gemma2_2b")
  end)

  it("are those of each method", function()
    assert.equal("fp8 fp8 bf16 bf16 fp8 fp8", formats "deepseek_v3")
    assert.equal("mxfp4 bf16 bf16 bf16 bf16 mxfp4", formats "gpt_oss_20b")
    for expected, how in pairs {
      ["int4 bf16 bf16 bf16 int4 int4"] = { quant_method = "gptq", bits = 4 },
      ["int8 bf16 bf16 bf16 int8 int8"] = { quant_method = "awq", w_bit = 8 },
      ["fp8 fp8 bf16 bf16 fp8 fp8"] = { quant_method = "fbgemm_fp8" },
      ["int4 fp8 bf16 bf16 int4 int4"] = { quant_method = "modelopt", quant_algo = "W4A8_AWQ" },
      ["nvfp4 fp4 fp8 bf16 nvfp4 nvfp4"] = { quant_method = "modelopt",
        quantization = { quant_algo = "NVFP4", kv_cache_quant_algo = "FP8" } },
      ["nvfp4 fp4 fp8 bf16 bf16 nvfp4"] = { quant_method = "modelopt",
        quantization = { quant_algo = "NVFP4", kv_cache_quant_algo = "FP8",
          exclude_modules = { "lm_head", "model.layers.*.self_attn*" } } },
      ["int8 int8 bf16 bf16 int8 int8"] = { quant_method = "compressed-tensors",
        config_groups = { group_0 = { weights = { num_bits = 8, type = "int" },
          input_activations = { num_bits = 8, type = "int" } } } },
      ["int4 bf16 fp8 bf16 int4 int4"] = { quant_method = "compressed-tensors",
        config_groups = { group_0 = { weights = { num_bits = 4, type = "int" } } },
        kv_cache_scheme = { num_bits = 8, type = "float" }, ignore = { "lm_head" } },
      ["fp8 fp8 bf16 bf16 bf16 fp8"] = { quant_method = "compressed-tensors",
        config_groups = { group_0 = { weights = { num_bits = 8, type = "float" },
          input_activations = { num_bits = 8, type = "float" } } },
        ignore = { "re:.*self_attn.*", "re:.*shared_expert.*" } },
    } do
      assert.equal(expected, quantised(how))
    end
  end)

  it("count what is left out in most layers only", function()
    local names = {}
    for i = 0, 14 do names[#names + 1] = ("model.layers.%d.self_attn.q_proj"):format(i) end
    local how = { quant_method = "fp8", modules_to_not_convert = names }
    assert.equal("fp8 fp8 bf16 bf16 fp8 fp8", quantised(how))
    names[#names + 1] = "model.layers.15.self_attn.q_proj"
    assert.equal("fp8 fp8 bf16 bf16 bf16 fp8", quantised(how))
  end)

  it("are errors where they are not known", function()
    for said, how in pairs {
      ["method 'secret' is not known"] = { quant_method = "secret" },
      ["gptq with 3 bits is not known"] = { quant_method = "gptq", bits = 3 },
      ["quant_algo 'X' is not known"] = { quant_method = "modelopt", quant_algo = "X" },
      ["compressed-tensors without config_groups is not known"] =
        { quant_method = "compressed-tensors" },
      ["int of 3 bits is not known"] = { quant_method = "compressed-tensors",
        config_groups = { a = { weights = { num_bits = 3, type = "int" } } } },
    } do
      assert.matches(said, failure(quantised, how)[2], 1, true)
    end
  end)
end)


describe("layers of a description", function()
  local function message(keys)
    return failure(changed, "gpt_oss_20b", keys)[2]
  end

  it("are checked", function()
    assert.matches("layer_types: 1 entries for 24 layers",
      message { layer_types = { "full_attention" } }, 1, true)
    assert.matches("layer_types: 'loop' is none of full_attention",
      message { num_hidden_layers = 1, layer_types = { "loop" } }, 1, true)
    assert.matches("mamba_conv: missing: layers of kind mamba need it",
      message { num_hidden_layers = 1, layer_types = { "mamba" } }, 1, true)
    assert.matches("sliding_window: missing: layers of kind sliding_attention need it",
      message { sliding_window = json.null }, 1, true)
    assert.matches("hybrid_override_pattern: E is not known",
      failure(changed, "nemotron_h_8b", { hybrid_override_pattern = "E" })[2], 1, true)
  end)
end)
