-- Descriptions of models that are broken: what is said about them.
local bundle = require "tests.lua.support.bundle"
local failure = require "tests.lua.support.failure"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local model = require "llmprof.model"
local tiny = require "tests.lua.support.tiny_model"


-- What reading a description says.
local function refusal(given)
  return failure(model.from_table, given, "m.yaml")
end


local function with(key, value)
  return { decoder = tiny.decoder { [key] = value } }
end


local function said(given)
  return refusal(given)[2]
end


describe("a broken description", function()
  it("is named by file and key", function()
    assert.equal("m.yaml: decoder.hidden_size: a whole number of at least 1 is expected, not 0",
      said(with("hidden_size", 0)))
    assert.equal("m.yaml: decoder.hidden_size: a whole number of at least 1 is expected, not -4",
      said(with("hidden_size", -4)))
    assert.matches("decoder.hidden_size: a whole number of at least 1 is expected, not %-?nan$",
      said(with("hidden_size", 0 / 0)))
    assert.equal("m.yaml: decoder.hidden_size: a whole number of at least 1 is expected, not 4.5",
      said(with("hidden_size", 4.5)))
    assert.equal("m.yaml: decoder.qk_norm: true or false is expected, not 'yes'",
      said(with("qk_norm", "yes")))
    assert.equal("m.yaml: decoder.norm: one of rms, layer is expected, not 'batch'",
      said(with("norm", "batch")))
  end)

  it("lacks a key, or has one too many", function()
    assert.equal("m.yaml: decoder.num_hidden_layers: missing",
      said { decoder = { hidden_size = 4, vocab_size = 10, num_attention_heads = 2 } })
    assert.equal("m.yaml: decoder: no key 'hiden_size' (did you mean 'hidden_size'?)",
      said(with("hiden_size", 4)))
    assert.equal("m.yaml: neither a decoder nor encoders", said {})
    assert.equal("m.yaml: a table is expected, not 7", said(7))
  end)

  it("does not fit together", function()
    assert.equal("m.yaml: decoder.num_key_value_heads: does not divide num_attention_heads",
      said(with("num_key_value_heads", 3)))
    assert.equal("m.yaml: decoder.intermediate_size: missing: layers of kind dense need it",
      said(with("intermediate_size", 0)))
    assert.equal("m.yaml: decoder.moe_intermediate_size: missing: layers of kind experts "
      .. "need it",
      said(with("n_routed_experts", 4)))
    assert.equal("m.yaml: decoder.kv_lora_rank: needs qk_nope_head_dim, qk_rope_head_dim and "
      .. "v_head_dim", said(with("kv_lora_rank", 3)))
    local experts = tiny.decoder { n_routed_experts = 4, moe_intermediate_size = 3,
      num_experts_per_tok = 5 }
    assert.equal("m.yaml: decoder.num_experts_per_tok: not between 1 and the number of experts",
      said { decoder = experts })
  end)

  it("has an encoder that cannot be", function()
    assert.equal("m.yaml: encoders[1].kind: one of vit, projector is expected, not 'cnn'",
      said { encoders = { { name = "x", kind = "cnn" } } })
    assert.equal("m.yaml: encoders[1].heads: does not divide width",
      said { encoders = { tiny.encoder { heads = 3 } } })
    assert.equal("m.yaml: encoders[1].convolutions[1].kernel: missing",
      said { encoders = { tiny.encoder { convolutions = { { outputs = 2 } } } } })
    assert.equal("m.yaml: encoders[1].tokens: either tokens or pixels_per_token is to be given",
      said { encoders = { { name = "p", kind = "projector", inputs = 1, outputs = 1 } } })
  end)

  it("names a number format that there is not", function()
    local refused = refusal { decoder = tiny.decoder(), formats = { weights = "bf61" } }
    assert.same({ "usage", "m.yaml: formats.weights: no number format 'bf61' (did you mean "
      .. "'bf16'?)",
      "there are: bf16, fp16, fp32, fp4, fp64, fp8, int4, int8, mxfp4, nvfp4, tf32" },
      refused)
  end)
end)


describe("a broken config.json", function()
  local top = bundle.scratch(before_each, after_each)

  -- What is said of Llama 3's config.json with some keys changed; json.null
  -- takes one away.
  local function changed(changes)
    local config = assert(json.load "tests/fixtures/model/llama3_8b.json")
    for key, value in pairs(changes) do config[key] = value end
    local path = top() .. "/config.json"
    assert(fs.write(path, assert(json.encode(config))))
    local refused = failure(model.from_config, path)
    refused[2] = refused[2]:gsub("^.*/", "")
    return refused
  end

  it("lists the families that are known", function()
    local known = "known: bamba, deepseek_v2, deepseek_v3, falcon_mamba, gemma, gemma2, "
      .. "gemma3_text, glm, glm4, glm4_moe, glm4_moe_lite, gpt_oss, jamba, kimi_k2, "
      .. "llama, llama4_text, mamba, mamba2, mistral, mixtral, nemotron_h, phi, phi3, qwen2, "
      .. "qwen2_moe, qwen3, qwen3_moe, qwen3_next; others can be described in YAML "
      .. "(model.arch)"
    assert.same({ "usage", "config.json: model_type: 'lama' is not known (did you mean 'llama'?)",
      known }, changed { model_type = "lama" })
    assert.same({ "usage", "config.json: model_type: missing", known },
      changed { model_type = json.null })
  end)

  it("lacks a key", function()
    assert.equal("config.json: decoder.vocab_size: missing", changed { vocab_size = json.null }[2])
  end)

  it("has a value that is none", function()
    assert.equal("config.json: decoder.num_attention_heads: a whole number of at least 1 is "
      .. "expected, not 0", changed { num_attention_heads = 0 }[2])
    assert.equal("config.json: torch_dtype: no number format 'octal'",
      changed { torch_dtype = "octal" }[2])
  end)

  it("has what its family computes with", function()
    assert.equal("config.json: attn_layer_indices: a list of whole numbers is expected, not 7",
      changed { model_type = "bamba", attn_layer_indices = 7 }[2])
    assert.equal("config.json: attn_layer_period: missing", changed { model_type = "jamba" }[2])
    assert.equal("config.json: num_hidden_layers: a whole number from 1 to 4096 is expected, not "
      .. "1000000000", changed { model_type = "mamba2", num_hidden_layers = 1000000000 }[2])
    assert.equal("config.json: hybrid_override_pattern: text is expected, not a table", changed {
      model_type = "nemotron_h", mamba_num_heads = 4, mamba_head_dim = 8,
      hybrid_override_pattern = { "M" } }[2])
  end)

  it("does what is not known here", function()
    assert.same({ "usage", "config.json: quantization_config: method 'magic' is not known",
      "set model.weight_dtype and model.dtype" },
      changed { quantization_config = { quant_method = "magic" } })
    assert.equal("config.json: use_sliding_window: only false is known, not true",
      changed { model_type = "qwen2", use_sliding_window = true }[2])
    assert.equal("config.json: mlp_only_layers: only models with experts in every layer are known",
      changed { model_type = "qwen3_moe", mlp_only_layers = { 0 } }[2])
  end)

  it("is not there, or no JSON", function()
    assert.matches("^/nowhere/config.json: no such file", failure(model.from_config,
      "/nowhere/config.json")[2])
    assert(fs.write(top() .. "/x.json", "{"))
    assert.matches("x.json", failure(model.from_config, top() .. "/x.json")[2], 1, true)
  end)
end)


describe("work that cannot be", function()
  it("is refused", function()
    local arch = tiny.arch()
    assert.equal("model: tokens: a whole number of at least 1 is expected, not 0",
      failure(model.prefill, arch, { tokens = 0, batch = 1 })[2])
    assert.equal("model: context: a whole number of at least 0 is expected, not -1",
      failure(model.decode, arch, { steps = 1, context = -1, batch = 1 })[2])
    assert.equal("model: batch: a whole number of at least 1 is expected, not nil",
      failure(model.prefill, arch, { tokens = 1 })[2])
    assert.equal("tiny.yaml: it describes no encoder 'sam'",
      failure(model.encode, arch, "sam", { { count = 1, size = 8 } })[2])
  end)

  it("is refused where 64 bits do not count it, and not taken for what wraps", function()
    local arch, most = tiny.arch(), "model: more work than 64 bits count; are its tokens right?"
    for _, much in ipairs { 1 << 32, 5000000000, math.maxinteger } do
      assert.equal(most, failure(model.prefill, arch, { tokens = much, batch = much })[2])
      assert.equal(most, failure(model.decode, arch, { steps = much, context = much,
        batch = much })[2])
    end
    local large = model.prefill(arch, { tokens = 1000000, batch = 1 })
    assert.equal("integer", math.type(large.flops))
    local half = model.scaled(large, (1 << 62) / large.flops)
    assert.equal(most, failure(model.together, { { cost = half }, { cost = half } })[2])
  end)

  it("needs a decoder", function()
    local arch = model.from_table({ encoders = { tiny.encoder() } }, "e.yaml")
    assert.equal("e.yaml: it describes no decoder",
      failure(model.prefill, arch, { tokens = 1, batch = 1 })[2])
  end)
end)
