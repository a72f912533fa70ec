-- Recorded captures, and the list of what runs left behind.
local artifacts = require "llmprof.bundle.artifacts"
local bounds = require "llmprof.bounds"
local bundle = require "tests.lua.support.bundle"
local config = require "llmprof.recipe.config"
local errors = require "llmprof.process.errors"
local failure = require "tests.lua.support.failure"
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local pipeline = require "llmprof.run.pipeline"
local recipe = require "llmprof.recipe"
local recorded = require("llmprof.run.capture.files").recorded

describe("llmprof.run.capture.recorded", function()
  local top = bundle.scratch(before_each, after_each)

  local function context(folder)
    return { cfg = { capture = "recorded", recorded = folder, counters = {} },
      recipe = { name = "r" }, state = {} }
  end

  local function opened(folder)
    local ctx = context(folder)
    recorded.open(ctx)
    return ctx
  end

  local function about_of(folder) return recorded.about(opened(folder)) end

  -- What opening a capture raises whose capture.json has these contents.
  local function refusal(contents)
    assert(fs.write(top() .. "/capture.json", contents))
    local kind, message = table.unpack(failure(about_of, top()))
    assert.equal("usage", kind)
    return message:sub(#top() + 2)
  end

  it("is looked for by the recipe's name", function()
    assert.equal("recipes/recorded/deepseek_ocr", recorded.folder({},
      { name = "deepseek_ocr", path = "recipes/mine.lua" }))
    assert.matches("/llmprof/captures/deepseek_ocr%-%x+$",
      recorded.folder({}, { name = "deepseek_ocr" }))
    assert(fs.mkdirs(top() .. "/recorded/deepseek_ocr"))
    assert.equal(top() .. "/recorded/deepseek_ocr",
      recorded.folder({}, { name = "deepseek_ocr", path = top() .. "/copy.lua" }))
    assert.same({ "usage", "no recorded capture in recipes/recorded/r",
      "recorded=FOLDER names another; it holds run.sqlite and capture.json" },
      failure(recorded.folder, {}, { name = "r", path = top() .. "/r.lua" }))
  end)

  it("tells what is known of it", function()
    assert.equal("580", about_of("tests/fixtures/small").environment.driver)
    assert.same({}, about_of(top()))
  end)

  it("refuses settings that change nothing of it", function()
    local made = recipe.load "recipes/deepseek_ocr.lua"
    local function said(...)
      local composed = config.of_recipe(made, nil, { "capture=recorded", ... })
      local ok, err = errors.call(recorded.check, made, composed)
      return not ok and { err.kind, err.message } or nil
    end
    local FIXTURE = "recorded=tests/fixtures/deepseek_ocr" -- of 9 tokens
    assert.same({ "usage", "a recorded capture cannot follow infer.batch=16 (it has 1), "
      .. "nsys.sample=process-tree (it has none)" },
      said(FIXTURE, "infer.batch=16", "nsys.sample=process-tree", "infer.max_new_tokens=9"))
    assert.same({ "usage", "a recorded capture cannot follow infer.batch=1 (it does not say what "
      .. "it had)" }, said("recorded=tests/fixtures/small", "infer.batch=1"))
    assert.same({ "usage", "a recorded capture cannot follow counters.by=ncu (it does not "
      .. "say what it had)" },
      said(FIXTURE, "counters=ncu"))
    assert.is_nil(said(FIXTURE, "counters=off", "operators=off", "top_n.kernels=3", "mode=deep",
      "model.dtype=fp16", "hardware.name=h200", "ncu=deep", "ncu.budget_s=3", "out=x", "run.id=y",
      "tools.ncu=z", "limits.rows=5"))
    assert.is_nil(said("recorded=" .. top() .. "/none", "infer.batch=16"))
    assert.is_nil(said("capture=files", "nsys.sample=none"))
    assert.same({ "usage", "a recorded capture cannot follow infer.batch=1 (it does not say what "
      .. "it had)" }, said("capture=files", "infer.batch=1"))
  end)

  it("follows a list of the inputs that it ran on", function()
    local made, list = recipe.load "recipes/deepseek_ocr.lua", top() .. "/inputs.yaml"
    local function is_refused(digest)
      assert(fs.write(list, ("files: [{ name: a, sha256: %s }]"):format(digest)))
      return not errors.call(recorded.check, made, config.of_recipe(made, nil, {
        "capture=recorded", "recorded=tests/fixtures/deepseek_ocr", "inputs.manifest=" .. list }))
    end
    local ran_on = recorded.inputs(opened "tests/fixtures/deepseek_ocr").files
    assert.is_false(is_refused(ran_on[1].sha256))
    assert.is_true(is_refused(("0"):rep(64)))
  end)

  it("refuses an option that a file of settings has another value for", function()
    local made, path = recipe.load "recipes/deepseek_ocr.lua", top() .. "/settings.yaml"
    local function check(text)
      assert(fs.write(path, text))
      return errors.call(recorded.check, made, config.of_recipe(made, path,
        { "capture=recorded", "recorded=tests/fixtures/deepseek_ocr" }))
    end
    assert.is_true((check "{ infer: { batch: 1, max_new_tokens: 64 }, nsys: { sample: none } }"))
    assert.is_false((check "infer: { batch: 16 }"))
  end)

  it("lists its files and their sizes", function()
    local inputs = recorded.inputs(opened "tests/fixtures/small")
    local names = {}
    for i, file in ipairs(inputs.capture.files) do
      names[i] = file.file
      assert.equal(fs.stat("tests/fixtures/small/" .. file.file).size, file.bytes)
    end
    assert.same({ "workload", "tests/fixtures/small" }, { inputs.source, inputs.capture.folder })
    assert.same({ "capture.json", "metrics.json", "ncu/raw.csv", "operators.json", "run.sqlite" },
      names)
  end)

  it("lists what its workload ran on", function()
    assert.same({}, recorded.inputs(opened "tests/fixtures/small").files)
    local ran_on = recorded.inputs(opened "tests/fixtures/deepseek_ocr").files
    assert.same({ 1, "synthetic-0", 3145728 }, { #ran_on, ran_on[1].name, ran_on[1].bytes })
  end)

  it("says what it was made with, and what else holds when it is analysed", function()
    local function made_with(folder) return recorded.captured_with(context(folder)) end
    assert.equal(9, made_with "tests/fixtures/deepseek_ocr".infer.max_new_tokens)
    assert.is_nil(made_with "tests/fixtures/small")
    assert.is_nil(made_with(top() .. "/none"))
    local held = {}
    for _, key in ipairs { "top_n.kernels", "model.arch", "model.preset", "nsys.trace",
      "infer.batch", "overhead" } do
      if recorded.heeds(key) then held[#held + 1] = key end
    end
    assert.same({ "top_n.kernels", "model.arch" }, held)
  end)

  it("copies its files into the run, or says which it lacks", function()
    local ctx = opened "tests/fixtures/small"
    ctx.run = artifacts.create { out = top() .. "/run", recipe = "r" }
    assert.is_true(recorded.timeline(ctx))
    assert.is_true(recorded.counters(ctx))
    assert.equal(2, #recorded.operators(ctx).operators)
    ctx.cfg.counters.by, ctx.cfg.operators = "off", "off"
    assert.same({ false, "counters=off" }, { recorded.counters(ctx) })
    assert.same({ false, "operators=off" }, { recorded.operators(ctx) })
    ctx.cfg.counters.by, ctx.cfg.operators = "on", "on"
    for _, name in ipairs { "nsys/run.sqlite", "workload/metrics.json", "ncu/raw.csv" } do
      assert.is_true(ctx.run:has(name), name)
    end
    ctx = opened(top())
    assert.same({ false, "the recorded capture has no ncu/raw.csv" }, { recorded.counters(ctx) })
    assert.same({ nil, "the recorded capture has no operators.json" },
      { recorded.operators(ctx) })
    for _, asks in ipairs { recorded.timeline, recorded.kept } do
      assert.same({ "usage", top() .. ": the recorded capture has no run.sqlite" },
        failure(asks, ctx))
    end
  end)

  it("refuses a capture.json that is none", function()
    assert.matches("^capture.json:1:2: ", refusal "{")
    assert.equal("capture.json: $: object expected, got 5", refusal "5")
    assert.equal("capture.json: $: object expected, got [1]", refusal "[1]")
    assert.equal("capture.json: $.workload: object expected, got 3", refusal '{"workload":3}')
  end)

  -- What a run finds out where files and traces of these bytes are long.
  local function found_out(folder, bytes)
    pipeline.LEAST, artifacts.LONG = bytes, bytes
    assert(fs.mkdirs(folder))
    local ctx, err = bundle.run_small(folder, "stages = { 'prefill', 'decode' }")
    assert.is_nil(err)
    local results = pipeline.field(ctx, "results")
    results.run = nil
    return { results, assert(fs.read(ctx.run:path(layout.events))),
      assert(fs.read(ctx.run:path(layout.timeline))) }
  end

  -- What f returns where two processes may work.
  local function with_two(f)
    local least, long, threads = pipeline.LEAST, artifacts.LONG, bounds.get "limits.threads"
    bounds.set("limits.threads", 2)
    local ok, one, two = pcall(f)
    pipeline.LEAST, artifacts.LONG = least, long
    bounds.set("limits.threads", threads)
    assert(ok, one)
    return one, two
  end

  it("is analysed by several processes as by one", function()
    assert.same(with_two(function()
      return found_out(top() .. "/one", math.maxinteger), found_out(top() .. "/two", 0)
    end))
  end)

  it("is refused where its trace changed while it was copied", function()
    local from = top() .. "/run.sqlite"
    local run = artifacts.create { out = top() .. "/run", recipe = "r" }
    assert(fs.write(from, "a trace"))
    assert.same({ "failed", from .. ": it changed while it was read",
      "try again once nothing writes to it" }, (with_two(function()
      artifacts.LONG = 0
      run:begin_taking(from, layout.timeline)
      assert(fs.write(from, "another one"))
      return failure(run.end_taking, run)
    end)))
  end)
end)
