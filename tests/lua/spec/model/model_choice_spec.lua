-- Which description of the model counts, and what the run did.
local bundle = require "tests.lua.support.bundle"
local failure = require "tests.lua.support.failure"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local model = require "llmprof.model"
local tiny = require "tests.lua.support.tiny_model"

local CONFIG = "tests/fixtures/model/llama3_8b.json"
local ARCH = "conf/model/deepseek_ocr.yaml"
local FOLDER = "tests/fixtures/deepseek_ocr"


-- Where the description comes from.
local function source_of(given)
  given.cfg = given.cfg or {}
  local arch = model.description(given)
  return arch and arch.source
end


describe("the description of the model", function()
  local top = bundle.scratch(before_each, after_each)
  local about = { workload = { arch = "../model/deepseek_ocr.yaml" } }
  local metrics = { model = { name = "M", dtype = "fp32", architecture = tiny.decoder {
    rms_norm_eps = 1e-5, rope_theta = 10000.0 } } }

  it("is the first that there is", function()
    local given = { cfg = { config = CONFIG, arch = ARCH }, chosen = true, metrics = metrics,
      about = about, folder = "conf/hardware" }
    assert.equal(CONFIG, source_of(given))
    given.cfg.config = nil
    assert.equal(ARCH, source_of(given))
    given.chosen = false
    assert.equal("metrics.json", source_of(given))
    given.metrics = nil
    assert.equal("conf/hardware/../model/deepseek_ocr.yaml", source_of(given))
    given.about = { workload = {} }
    assert.equal(ARCH, source_of(given))
    given.cfg.arch = nil
    assert.is_nil(source_of(given))
  end)

  it("is else what lies in the folder that the server loads", function()
    local path = top()
    assert.is_nil(source_of { cfg = { path = path } })
    assert.is_nil(source_of { cfg = { path = "meta-llama/Llama-3.1-8B" } })
    assert(fs.copy(CONFIG, path .. "/config.json"))
    assert.equal(path .. "/config.json", source_of { cfg = { path = path } })
    assert.equal(ARCH, source_of { cfg = { path = path, arch = ARCH } })
    assert(fs.write(path .. "/config.json", '{ "model_type": "unheard-of" }'))
    local none, complaint = model.description { cfg = { path = path } }
    assert.is_nil(none)
    assert.equal(path .. "/config.json: model_type: 'unheard-of' is not known", complaint)
  end)

  it("does not come from metrics.json when there is an encoder", function()
    local seen = { model = { architecture = tiny.decoder { sam_width = 4 } } }
    assert.is_nil(source_of { metrics = seen })
    assert.is_nil(source_of { metrics = { model = { architecture = json.null } } })
  end)

  it("comes from a config.json's values in metrics.json, too", function()
    local config = assert(json.load(CONFIG))
    local arch = model.description { cfg = {}, metrics = { model = { architecture = config } } }
    assert.equal(8030261248, model.parameters(arch).total)
    config.model_type = "unheard-of"
    local none, complaint = model.description { cfg = {},
      metrics = { model = { architecture = config } } }
    assert.is_nil(none)
    assert.equal("metrics.json: model_type: 'unheard-of' is not known", complaint)
  end)

  it("may be broken in metrics.json", function()
    local arch, complaint = model.description { cfg = {},
      metrics = { model = { architecture = tiny.decoder { vocab_size = "ten" } } } }
    assert.is_nil(arch)
    assert.equal("metrics.json: decoder.vocab_size: a whole number of at least 1 is expected, "
      .. "not 'ten'", complaint)
    arch, complaint = model.description { cfg = { arch = ARCH },
      metrics = { model = { dtype = "mixed" } } }
    assert.is_nil(arch)
    assert.matches("^metrics.json: model.dtype: no number format 'mixed'", complaint)
  end)

  it("is stored as the run and the configuration say", function()
    local function formats(given)
      given.cfg.arch = ARCH
      local made = model.description(given).formats
      return { made.weights, made.kv, made.activations }
    end
    assert.same({ "bf16", "bf16", "bf16" }, formats { cfg = {} })
    assert.same({ "fp32", "fp32", "fp32" }, formats { cfg = {},
      metrics = { model = { dtype = "fp32" } } })
    local quantised = model.description {
      cfg = { config = "tests/fixtures/model/deepseek_v3.json" },
      metrics = { model = { dtype = "bf16" } } }
    assert.same({ "fp8", "fp8", "bf16" }, { quantised.formats.weights, quantised.formats.experts,
      quantised.formats.kv })
    assert.equal("671", ("%.0f"):format(model.prefill(quantised,
      { tokens = 4096, batch = 1 }).weight_bytes / 1e9))
    assert.same({ "int4", "fp8", "bf16" },
      formats { cfg = { weight_dtype = "int4", kv_dtype = "fp8" } })
    assert.matches("model.kv_dtype: no number format 'fp9'",
      failure(formats, { cfg = { kv_dtype = "fp9" } })[2], 1, true)
  end)
end)


describe("what the run did", function()
  local arch = tiny.arch { encoders = { tiny.encoder() } }
  local about = { workload = { batch = 1, prompt_tokens = 357, new_tokens = 16,
    image_tokens = 257 } }

  it("is what the workload measured", function()
    local run = model.of_run(arch, { batch = 4, prompt_tokens = 10, new_tokens = 3,
      images = { { count = 1, size = 8 } } }, about)
    assert.same({ source = "metrics.json", batch = 4, prompt_tokens = 10, new_tokens = 3,
      images = { { count = 1, size = 8 } }, images_source = "given" }, run)
  end)

  it("is else the mean of the load's requests", function()
    local run = model.of_run({ image_size = 0 }, { repeats = {
      { requests = { { prompt_tokens = 100, tokens = 10 }, { prompt_tokens = 201, tokens = 21 } } },
      { requests = { { ttft_ms = 3 } } }, {} } })
    assert.equal("metrics.json: the mean of its requests", run.source)
    assert.same({ 151, 16, 1 }, { run.prompt_tokens, run.new_tokens, run.batch })
    assert.is_nil(model.of_run({ image_size = 0 }, { repeats = { { requests = { {} } } } }))
  end)

  it("is else what is known of the capture", function()
    assert.same({ source = "capture.json", batch = 1, prompt_tokens = 357, new_tokens = 16,
      images = { { count = 1, size = 8 } }, images_source = "the description's image_size" },
      model.of_run(arch, { repeats = {} }, about))
  end)

  it("has no images without image tokens", function()
    assert.same({}, model.of_run(arch, { prompt_tokens = 3, image_tokens = 0 }).images)
  end)

  it("is not known", function()
    assert.is_nil(model.of_run(arch, nil, nil))
    assert.is_nil(model.of_run(arch, { prompt_tokens = 0 }, {}))
    assert.is_nil(model.of_run(arch, { prompt_tokens = 0 / 0 }, { workload = {} }))
    assert.is_nil(model.of_run(arch, { prompt_tokens = "many" }, nil))
  end)
end)


describe("a report on the recorded capture", function()
  local top = bundle.scratch(before_each, after_each)

  -- The section of report.md with that title, of a run with these overrides.
  local function section(title, words)
    local ctx, err = bundle.run("recipes/deepseek_ocr.lua", top() .. "/run",
      { "capture=recorded", "recorded=tests/fixtures/deepseek_ocr", table.unpack(words or {}) })
    assert.is_nil(err)
    local report = assert(fs.read(ctx.run:path "report.md"))
    return report:match("\n## " .. title .. "\n\n(.-)\n## "), ctx.fields.results
  end

  it("says what would make a cost known", function()
    local capture = top() .. "/capture"
    assert(fs.mkdirs(capture))
    assert(fs.copy(FOLDER .. "/run.sqlite", capture .. "/run.sqlite"))
    local shown, results = section("MFU/MBU", { "recorded=" .. capture, "~model.arch" })
    assert.equal("Not measured: nothing describes the model. To fill this: describe the "
      .. "architecture in model.arch, name a config.json with model.config, or give the recipe a "
      .. "function flops(stage, metrics, cfg).\n", shown)
    assert.is_nil(results.efficiency)
  end)

  it("reports what cannot be as a contradiction", function()
    local shown = section("MFU/MBU", { "hardware.peak_per_s=1.0e+10" })
    assert.matches("**Contradiction in prefill:** mfu comes to 220216.3 %: not all of its inputs "
      .. "can be right (flops = 1.33788e+12, peak_flop_per_s = 1e+10, time_s = 0.0607528).",
      shown:gsub("\\", ""), 1, true)
  end)
end)
