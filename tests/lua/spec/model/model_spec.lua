-- What a model's work takes. Small models are worked out by hand here, published
-- ones are held against the sizes of their checkpoints.
local files = require "llmprof.io.files"
local model = require "llmprof.model"
local tiny = require "tests.lua.support.tiny_model"

local LLAMA = "tests/fixtures/model/llama3_8b.json"


-- A cost without its parts.
local function sums(cost)
  local copy = {}
  for key, value in pairs(cost) do
    if key ~= "parts" then copy[key] = value end
  end
  return copy
end


local function part_of(cost, name)
  for _, part in ipairs(cost.parts) do
    if part.name == name then return { part.flops, part.weight_bytes } end
  end
  return nil
end


describe("llmprof.model.from_config", function()
  -- tests/fixtures/model/README.md says where the counts are from.
  for name, total in pairs {
    llama3_8b = 8030261248, llama32_1b = 1235814400, mistral_7b = 7241732096,
    mixtral_8x7b = 46702792704, qwen2_7b = 7615616512, qwen25_05b = 494032768,
    qwen3_8b = 8190735360, qwen3_30b_a3b = 30532122624, deepseek_v2_lite = 15706484224,
    gemma_2b = 2506172416, gemma_7b = 8537680896, gemma2_2b = 2614341888,
    gemma3_1b = 999885952, phi2 = 2779683840, phi3_mini = 3821079552,
    gpt_oss_20b = 20914757184, gpt_oss_120b = 116829156672, mamba_2_8b = 2768345600,
    mamba_codestral_7b = 7285403648, jamba_v01 = 51570323328, glm4_9b = 9400279040,
    qwen15_moe = 14315784192, llama4_scout = 107769861120,
  } do
    it("has every parameter of " .. name, function()
      local arch = model.from_config(("tests/fixtures/model/%s.json"):format(name))
      assert.equal(total, model.parameters(arch).total)
    end)
  end
end)


describe("conf/model", function()
  it("holds descriptions that can be read, with parameters", function()
    local names = files.names("conf/model", ".yaml")
    assert.is_true(#names > 0)
    for _, name in ipairs(names) do
      local size = model.parameters(model.load(("conf/model/%s.yaml"):format(name)))
      assert.is_true(size.total > 0, name)
    end
  end)
end)


describe("conf/model/deepseek_ocr.yaml", function()
  it("has every parameter of the published checkpoint", function()
    assert.same({ total = 3336106240, active = 574127360, decoder = 2934734080,
      encoders = 401369600 }, model.parameters(model.load "conf/model/deepseek_ocr.yaml"))
  end)
end)


describe("llmprof.model decoders", function()
  it("count parameters", function()
    assert.same({ total = 388, active = 348, decoder = 388, encoders = 0 },
      model.parameters(tiny.arch()))
    local tied = tiny.arch { decoder = tiny.decoder { tie_word_embeddings = true } }
    assert.same({ total = 348, active = 348, decoder = 348, encoders = 0 },
      model.parameters(tied))
  end)

  it("take so much for a prefill", function()
    local cost = model.prefill(tiny.arch(), { tokens = 3, batch = 2 })
    assert.same({ flops = 4000, weight_bytes = 744, kv_read_bytes = 0, kv_write_bytes = 96,
      activation_bytes = 1592, bytes = 840 }, sums(cost))
    assert.same({ 1152, 192 }, part_of(cost, "projections"))
    assert.same({ 2304, 384 }, part_of(cost, "mlp"))
    assert.same({ 384, 0 }, part_of(cost, "attention"))
    assert.same({ 160, 80 }, part_of(cost, "lm_head"))
    assert.same({ 0, 48 }, part_of(cost, "embedding"))
  end)

  it("take so much for decode steps", function()
    assert.same({ flops = 3200, weight_bytes = 1424, kv_read_bytes = 224, kv_write_bytes = 64,
      activation_bytes = 1136, bytes = 1712 },
      sums(model.decode(tiny.arch(), { steps = 2, context = 3, batch = 2 })))
  end)

  it("add up steps", function()
    local arch, flops, bytes = tiny.arch(), 0, 0
    for step = 0, 4 do
      local one = model.decode(arch, { steps = 1, context = 7 + step, batch = 3 })
      flops, bytes = flops + one.flops, bytes + one.bytes
    end
    local all = model.decode(arch, { steps = 5, context = 7, batch = 3 })
    assert.same({ flops, bytes }, { all.flops, all.bytes })
  end)

  it("store weights and cache in their own formats", function()
    local arch = tiny.arch { formats = { weights = "int4", kv = "fp8", embeddings = "bf16" } }
    -- 288 weights of products and 20 of norms in int4, 40 and 8 in bf16
    assert.same({ flops = 1568, weight_bytes = 154 + 96, kv_read_bytes = 48,
      kv_write_bytes = 16, activation_bytes = 568, bytes = 314 },
      sums(model.decode(arch, { steps = 1, context = 3, batch = 2 })))
  end)

  it("see no more than their window", function()
    local arch = tiny.arch { decoder = tiny.decoder { sliding_window = 2 } }
    -- 1 + 2 + 2 pairs a layer, not 1 + 2 + 3
    assert.same({ 320, 0 }, part_of(model.prefill(arch, { tokens = 3, batch = 2 }), "attention"))
    local cost = model.decode(arch, { steps = 1, context = 100, batch = 1 })
    assert.same({ 16, 64 }, { cost.kv_read_bytes, part_of(cost, "attention")[1] })
  end)

  it("see all in each so many-th layer", function()
    local arch = tiny.arch { decoder = tiny.decoder { sliding_window = 2,
      sliding_window_pattern = 2 } }
    local cost = model.decode(arch, { steps = 1, context = 100, batch = 1 })
    assert.equal((100 + 1) * 4 * 2, cost.kv_read_bytes)
  end)

  it("read the experts that tokens are expected to choose", function()
    local arch = tiny.arch { decoder = tiny.decoder { n_routed_experts = 4,
      num_experts_per_tok = 1, moe_intermediate_size = 3, n_shared_experts = 1,
      first_k_dense_replace = 1 } }
    local cost = model.decode(arch, { steps = 1, context = 3, batch = 2 })
    -- an expert has 3 * 4 * 3 weights; 4 * (1 - (3 / 4) ^ 2) of 4 are read
    assert.same({ 2 * 36 * 2, 1.75 * 36 * 2 }, part_of(cost, "experts"))
    assert.same({ 2 * 36 * 2, 36 * 2 }, part_of(cost, "shared experts"))
    assert.same({ 2 * 16 * 2, 16 * 2 }, part_of(cost, "router"))
    assert.same({ 2 * 96 * 2, 96 * 2 }, part_of(cost, "mlp"))
    assert.equal(388 - 96 + 16 + 5 * 36, model.parameters(arch).total)
  end)

  it("keep a latent of the keys and values", function()
    local arch = tiny.arch { decoder = tiny.decoder { kv_lora_rank = 3, qk_nope_head_dim = 2,
      qk_rope_head_dim = 1, v_head_dim = 2 } }
    local cost = model.decode(arch, { steps = 1, context = 5, batch = 1 })
    -- q 4 * 6, latent 4 * 4, expansion 3 * 8, output 4 * 4, in two layers
    assert.same({ 2 * 80 * 2, 80 * 2 * 2 }, part_of(cost, "projections"))
    -- 6 pairs in two layers; scores over 2 * 3 numbers, values over 2 * 2
    assert.same({ 2 * 12 * 10, 0 }, part_of(cost, "attention"))
    assert.same({ 5 * 2 * 4 * 2, 2 * 4 * 2 }, { cost.kv_read_bytes, cost.kv_write_bytes })
  end)

  it("agree with 2 FLOP per active parameter", function()
    local arch = model.from_config(LLAMA)
    local cost = model.decode(arch, { steps = 1, context = 0, batch = 1 })
    local norms = 65 * 4096
    assert.equal(2 * (model.parameters(arch).active - norms) + 2 * 32 * 2 * 4096, cost.flops)
  end)
end)


describe("llmprof.model encoders", function()
  local arch = tiny.arch { encoders = { tiny.encoder(), tiny.encoder { name = "clip",
    input = "features", class_token = true, window_size = 0, relative_positions = false,
    convolutions = {} }, { name = "projector", kind = "projector", inputs = 6, outputs = 4,
    pixels_per_token = 4 } } }

  it("count parameters", function()
    -- clip: 52 in patches, 312 in layers, 32 of norms, 17 positions, a class
    assert.equal(572 + (52 + 312 + 32 + 68 + 4) + 28, model.parameters(arch).encoders)
  end)

  it("take so much for an image", function()
    local cost = model.encode(arch, "sam", { { count = 1, size = 8 } })
    assert.same({ 1536, 104 }, part_of(cost, "patches"))
    assert.same({ 5120 + 1536, 0 }, part_of(cost, "attention"))
    assert.same({ 576, 144 }, part_of(cost, "convolutions"))
    assert.same({ 16960, 572 * 2 }, { cost.flops, cost.bytes })
  end)

  it("make no patches of another's features", function()
    local cost = model.encode(arch, "clip", { { count = 1, size = 8 } })
    assert.is_nil(part_of(cost, "patches"))
    -- 17 tokens: two layers of 128 weights without biases, 17 * 17 pairs
    assert.equal(2 * 128 * 17 * 2 + 2 * 2 * 289 * 8, cost.flops)
  end)

  it("take every size of image for itself, weights once", function()
    local images = { { count = 2, size = 8 }, { count = 1, size = 16 } }
    assert.same({ 2 * 24 * (2 * 4 + 16), 28 * 2 },
      part_of(model.encode(arch, "projector", images), "projector"))
  end)
end)


describe("llmprof.model.together", function()
  it("adds costs up and keeps whose parts are whose", function()
    local arch = tiny.arch()
    local one = model.decode(arch, { steps = 1, context = 3, batch = 1 })
    local both = model.together { { name = "a", cost = one }, { name = "b", cost = one } }
    assert.equal(2 * one.flops, both.flops)
    assert.equal(2 * one.bytes, both.bytes)
    assert.equal("a: projections", both.parts[1].name)
    assert.equal(2 * #one.parts, #both.parts)
  end)
end)
