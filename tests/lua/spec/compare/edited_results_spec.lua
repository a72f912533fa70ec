-- results.json as somebody left it: whatever stands where, commands say what is
-- wrong, or do their work.
local bundle = require "tests.lua.support.bundle"
local comparison = require "llmprof.compare.comparison"
local compare_report = require "llmprof.compare.report"
local errors = require "llmprof.process.errors"
local failure = require "tests.lua.support.failure"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local results_file = require "llmprof.bundle.results_file"
local sections = require "llmprof.report.sections"
local sorted_keys = require("llmprof.tables.keys").sorted
local side = require "llmprof.compare.side"
local tables = require "llmprof.tables"


-- What values are replaced with; before that they are taken away.
local replacements = { "text" }


-- As show does it, for every section.
local function show_all(path)
  local results = results_file.load(path)
  for _, section in ipairs(sections.all()) do
    tables.render("table", section.columns, section.rows(results))
  end
end


-- As compare does it.
local function compare(before, after)
  local made = comparison.make(before, side.open(after, "."))
  compare_report.text(made, { format = "table", rows = 0, columns = 80 })
  assert(json.encode(compare_report.object(made)))
end


-- Of the same form as what lies beside them.
local same_form = { ["$.ranks.steps"] = true }


-- Call visit(object, key, path) for the values below an object or list: one for
-- every path without its numbers.
local function each_value(object, visit, path, seen)
  for _, key in ipairs(sorted_keys(object)) do
    local where = path .. (type(key) == "string" and "." .. key or "[]")
    if not seen[where] then
      seen[where] = true
      visit(object, key, where)
    end
    if type(object[key]) == "table" and not same_form[where] then
      each_value(object[key], visit, where, seen)
    end
  end
end


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

  it("never ends in a traceback, whatever stands where", function()
    local dir, results = small()
    assert(fs.remove(dir .. "/nsys/run.sqlite")) -- comparing traces is another matter, and slow
    local before, path = side.open(dir, "."), dir .. "/results.json"
    local bugs, compared, refused, accepted = {}, {}, 0, 0
    local function try(where)
      assert(fs.write(path, assert(json.encode(results))))
      if not results_file.read(path) then
        refused = refused + 1
        return true
      end
      accepted = accepted + 1
      return xpcall(function()
        show_all(path)
        if compared[where] then return end -- once is enough of what takes a while
        compared[where] = true
        compare(before, dir)
      end, errors.handler)
    end
    local function damage(object, key, where)
      local value = object[key]
      for i = type(key) == "string" and 0 or 1, #replacements do -- 0: no value at all
        object[key] = replacements[i]
        local ok, err = try(where)
        if not ok and err.bug then
          bugs[#bugs + 1] = ("%s: %s: %s"):format(where, tostring(object[key]), err.message)
        end
      end
      object[key] = value
    end
    each_value(results, damage, "$", {})
    assert.same({}, bugs)
    assert.is_true(refused > 300 and accepted > 80, refused .. " " .. accepted)
  end)
end)
