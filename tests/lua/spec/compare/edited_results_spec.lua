-- A results.json that was edited by hand: what is said of what is wrong in it.
local bundle = require "tests.lua.support.bundle"
local failure = require "tests.lua.support.failure"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local results_file = require "llmprof.bundle.results_file"


describe("an edited results.json", function()
  local top = bundle.scratch(before_each, after_each)

  -- A small bundle with a little of everything: its folder, and its results.
  local function small()
    local ctx, err = bundle.run_small(top(),
      'stages = { { "prefill", children = { "vision" } }, "decode" }')
    assert.is_nil(err)
    return ctx.run.dir, assert(json.load(ctx.run:path "results.json"))
  end

  local function write(results)
    local path = top() .. "/results.json"
    assert(fs.write(path, assert(json.encode(results))))
    return path
  end

  -- The complaint about results, without the path.
  local function complaint(results)
    local said = failure(results_file.load, write(results))
    assert.equal(("make it again: llmprof RECIPE.lua --resume %s"):format(top()), said[3])
    assert.equal("failed", said[1])
    return said[2]:sub(#top() + 2)
  end

  it("is refused with the first thing that is wrong", function()
    local _, results = small()
    results.integrity.checks = 0.5
    assert.equal("results.json: $.integrity.checks: array expected, got 0.5", complaint(results))
    results.integrity, results.stages = nil, "prefill, decode"
    assert.equal('results.json: $.stages: array expected, got "prefill, decode"',
      complaint(results))
    results.stages, results.missing = json.list {}, nil
    assert.equal("results.json: $: no 'missing'", complaint(results))
    assert.equal("results.json: $: object expected, got []", complaint(json.list {}))
  end)

  it("is refused when it points at a kernel that is not there", function()
    local _, results = small()
    local count = #results.kernels
    results.selection.groups[1].kernels[1] = count + 1
    assert.equal(("results.json: $.selection.groups[1].kernels[1]: no kernel has the id %d")
      :format(count + 1), complaint(results))
    results.selection.kernels[2] = count + 7
    assert.equal(("results.json: $.selection.kernels[2]: no kernel has the id %d")
      :format(count + 7), complaint(results))
    results.kernels[2].id = 1
    assert.equal("results.json: $.kernels[2].id: 2 expected, got 1", complaint(results))
  end)

  it("is refused when it points at nothing elsewhere, or has half of a figure", function()
    local _, results = small()
    local sound = { advice = results.advice, totals = results.totals }
    results.advice = { abstained = json.list {}, findings = json.list { { rule = "r", title = "t",
      try = "x", confidence = "low", evidence = json.list { { text = "e", source = "s" } },
      after = json.list { 2 } } } }
    assert.equal("results.json: $.advice.findings[1].after[1]: no finding has the rank 2",
      complaint(results))
    results.advice = sound.advice
    results.roofline = { roofs = { tensor_format = "bf16" }, stages = json.list {}, left_out = 0,
      kernels = json.list { { stage = "decode" } } }
    assert.equal("results.json: $.roofline.kernels[1]: no 'kernel'", complaint(results))
    results.roofline = nil
    local function frame(depth) return { depth = depth, name = "f", self = 1, total = 1 } end
    results.cpu_samples = { stages = json.list { { stage = "decode", scope = "stage", samples = 1,
      without_stack = 0, cut = 0, different = 1, functions = json.list {},
      tree = json.list { frame(0), frame(2) } } } }
    assert.equal("results.json: $.cpu_samples.stages[1].tree[2].depth: at most 1 expected, got 2",
      complaint(results))
    results.cpu_samples, results.totals = nil, { kernels = 1, copies = 0, sets = 0, graphs = 0,
      api_calls = 1, span_ns = 5 }
    assert.equal("results.json: $.totals: 'span_ns' without 'busy_ns'", complaint(results))
    results.totals, results.stages[1].gpu_busy_ns = sound.totals, nil
    assert.equal("results.json: $.stages[1]: 'wall' without 'gpu_busy_ns'", complaint(results))
  end)

  it("that is cut short is refused with line and column", function()
    local path = top() .. "/results.json"
    assert(fs.write(path, '{"run":'))
    assert.equal(path .. ":1:8: expected a value, found the end",
      failure(results_file.load, path)[2])
  end)
end)
