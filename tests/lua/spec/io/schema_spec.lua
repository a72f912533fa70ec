-- The schemas of docs/, and what is said of a value that does not fit one.
local bundle = require "tests.lua.support.bundle"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local document = require "llmprof.io.document"


local function decode(text)
  local value, message = json.decode(text)
  assert(value ~= nil, message)
  return value
end


-- What is said of a value, both as JSON text: of one that was read, and of one of Lua.
local function verdict(rules, value)
  local set <close> = json.schemas()
  assert(set:add("rules", rules))
  local decoded, wrong = json.decode(value, { schemas = set, schema = "rules" })
  assert.equal(wrong, set:check("rules", decoded))
  return wrong
end


describe("the validator", function()
  it("checks types", function()
    for value, name in pairs { ["null"] = "null", ["true"] = "boolean", ["1"] = "integer",
      ["1.5"] = "number", ['"a"'] = "string", ["[]"] = "array", ["{}"] = "object" } do
      assert.is_nil(verdict(('{"type":"%s"}'):format(name), value))
      assert.is_nil(verdict(('{"type":["%s","null"]}'):format(name), value))
    end
    assert.is_nil(verdict('{"type":"number"}', "1"))
    assert.is_nil(verdict('{"type":"integer"}', "2.0"))
    assert.is_nil(verdict('{"type":"number"}', "1e300"))
    assert.matches("integer expected", verdict('{"type":"integer"}', "1e300")) -- no %d of it
    assert.equal("$: integer expected, got 1.5", verdict('{"type":"integer"}', "1.5"))
    assert.equal("$: string expected, got {}", verdict('{"type":"string"}', "{}"))
    assert.equal("$: array expected, got {}", verdict('{"type":"array"}', "{}"))
    assert.equal("$: object expected, got []", verdict('{"type":"object"}', "[]"))
    assert.equal("$: string or null expected, got 1", verdict('{"type":["string","null"]}', "1"))
  end)

  it("checks values", function()
    assert.is_nil(verdict('{"const":1}', "1"))
    assert.equal("$: 1 expected, got 2", verdict('{"const":1}', "2"))
    assert.is_nil(verdict('{"enum":["a","b"]}', '"b"'))
    assert.equal('$: one of ["a","b"] expected, got "c"', verdict('{"enum":["a","b"]}', '"c"'))
    assert.is_nil(verdict('{"minimum":0,"maximum":1}', "0.5"))
    assert.equal("$: at least 0 expected, got -1", verdict('{"minimum":0}', "-1"))
    assert.equal("$: at most 1 expected, got 2", verdict('{"maximum":1}', "2"))
    assert.is_nil(verdict('{"minimum":0}', '"-1"'))
  end)

  it("checks patterns", function()
    assert.is_nil(verdict('{"pattern":"^[0-9a-f]{4}$"}', '"0f3a"'))
    assert.equal('$: "0f3" does not match ^[0-9a-f]{4}$',
      verdict('{"pattern":"^[0-9a-f]{4}$"}', '"0f3"'))
    assert.is_nil(verdict('{"pattern":"^[0-9]{2}-[0-9]+\\\\.x$"}', '"12-345.x"'))
    assert.is_string(verdict('{"pattern":"^[0-9]{2}-[0-9]+\\\\.x$"}', '"12-345ax"'))
    assert.has_error(function() verdict('{"pattern":"a|b"}', '"a"') end,
      "the schema: pattern 'a|b'")
  end)

  it("checks lists and says which item is wrong", function()
    local rules = '{"minItems":1,"maxItems":2,"items":{"type":"integer"}}'
    assert.is_nil(verdict(rules, "[1,2]"))
    assert.equal("$: at least 1 items expected, got 0", verdict(rules, "[]"))
    assert.equal("$: at most 2 items expected, got 3", verdict(rules, "[1,2,3]"))
    assert.equal('$[2]: integer expected, got "x"', verdict(rules, '[1,"x"]'))
  end)

  it("checks objects and says where they are wrong", function()
    local rules = [[{"required":["a"],"additionalProperties":false,
      "properties":{"a":{"properties":{"b":{"type":"string"}}}}}]]
    assert.is_nil(verdict(rules, '{"a":{"b":"x","c":1}}'))
    assert.equal("$: no 'a'", verdict(rules, "{}"))
    assert.equal("$: unknown 'z'", verdict(rules, '{"a":{},"z":1}'))
    assert.equal("$.a.b: string expected, got 1", verdict(rules, '{"a":{"b":1}}'))
    assert.equal("$.x: integer expected, got true",
      verdict('{"additionalProperties":{"type":"integer"}}', '{"x":true}'))
  end)

  it("checks keys that need others", function()
    local rules = '{"dependentRequired":{"a":["b","c"]}}'
    assert.is_nil(verdict(rules, '{"c":1}'))
    assert.is_nil(verdict(rules, '{"a":1,"b":1,"c":1}'))
    assert.equal("$: 'a' without 'c'", verdict(rules, '{"a":1,"b":1}'))
  end)

  it("says of a long value what it is", function()
    local long = ("x"):rep(70)
    assert.equal("$: integer expected, got a long string",
      verdict('{"type":"integer"}', ('"%s"'):format(long)))
    assert.equal("$: integer expected, got an array",
      verdict('{"type":"integer"}', ('["%s"]'):format(long)))
    assert.equal("$: integer expected, got an object",
      verdict('{"type":"integer"}', ('{"a":"%s"}'):format(long)))
  end)

  it("follows references", function()
    local rules = '{"$defs":{"n":{"type":"integer"}},"items":{"$ref":"#/$defs/n"}}'
    assert.is_nil(verdict(rules, "[1]"))
    assert.equal("$[1]: integer expected, got false", verdict(rules, "[false]"))
    assert.has_error(function() verdict('{"$ref":"#/$defs/none","$defs":{}}', "1") end,
      "the schema: nothing at '#/$defs/none'")
    assert.has_error(function() verdict('{"$ref":"other.json"}', "1") end,
      "the schema: nothing at 'other.json'")
  end)

  it("follows a definition that holds itself", function()
    local rules = [[{"$ref":"#/$defs/tree",
      "$defs":{"tree":{"type":"array","items":{"$ref":"#/$defs/tree"}}}}]]
    assert.is_nil(verdict(rules, "[[],[[]]]"))
    assert.equal("$[2][1]: array expected, got 1", verdict(rules, "[[],[1]]"))
  end)

  it("raises on a keyword that it does not know", function()
    assert.has_error(function() verdict('{"oneOf":[]}', "1") end,
      "the schema: unknown keyword 'oneOf'")
  end)
end)


describe("docs/results.schema.json", function()
  local top = bundle.scratch(before_each, after_each)

  -- results.json of a context, when the run did not fail.
  local function results_of(ctx, failure)
    assert.is_nil(failure)
    return assert(json.load(ctx.run:path "results.json"))
  end

  it("holds where the stages are inferred", function()
    local capture = top() .. "/capture"
    assert(fs.mkdir(capture))
    assert(fs.copy("tests/fixtures/unmarked/whole.sqlite", capture .. "/run.sqlite"))
    assert(fs.write(capture .. "/capture.json", '{ "schema_version": 1 }'))
    local results = results_of(bundle.run("recipes/alt_llm.lua", top() .. "/run",
      { "capture=recorded", "recorded=" .. capture }))
    assert.is_nil(document.check("results", results))
    assert.same({ "CUDA graph", 62, 2 }, { results.inferred.anchor, results.inferred.steps,
      results.inferred.generations })
    assert.same({ "inferred", 62 }, { results.latency.tpot.source, results.latency.tpot.count })
    assert.same({ steps = 31 }, { steps = results.stages[2].steps,
      kernels_per_token = results.stages[2].kernels_per_token })
    local report = assert(fs.read(top() .. "/run/report.md"))
    assert.matches("No range marks the stages: they are inferred from CUDA graph, which comes "
      .. "back every 9.3 ms, 62 times in 2 generations; confidence 0.99 of 1.", report, 1, true)
  end)
end)


describe("docs/metrics.schema.json", function()
  local example = [[{ "schema_version": 1, "workload": "toy",
    "model": { "name": "toy", "weights": "random", "dtype": "fp32",
      "parameters": { "total": 10, "active": null } },
    "batch": 2, "prompt_tokens": 8, "new_tokens": 3,
    "inputs": [{ "name": "a.png", "bytes": 3, "sha256": "%s" }],
    "repeats": [{ "index": 1, "output_sha256": null, "stages": {
      "prefill": { "ms": 1.5, "gpu_ms": null, "count": 1, "tokens": 16 },
      "decode": { "ms": 3, "tokens": 4, "steps": 2, "steps_ms": null } } }],
    "environment": { "device": "cpu", "torch": null } }]]
  local function with(change)
    local value = decode(example:format(("0a"):rep(32)))
    if change then change(value) end
    return document.check("metrics", value)
  end

  it("holds for an example", function()
    assert.is_nil(with())
  end)

  it("rejects broken ones", function()
    assert.equal("$: no 'repeats'", with(function(m) m.repeats = nil end))
    assert.equal("$.repeats: at least 1 items expected, got 0",
      with(function(m) m.repeats = json.list {} end))
    assert.equal('$.repeats[1].stages.decode.ms: number expected, got "3"',
      with(function(m) m.repeats[1].stages.decode.ms = "3" end))
    assert.equal('$.model.weights: one of ["random","checkpoint"] expected, got "both"',
      with(function(m) m.model.weights = "both" end))
    assert.equal('$.inputs[1].sha256: "0a" does not match ^[0-9a-f]{64}$',
      with(function(m) m.inputs[1].sha256 = "0a" end))
    assert.equal("$.batch: at least 1 expected, got 0", with(function(m) m.batch = 0 end))
  end)
end)


describe("docs/operators.schema.json", function()
  local example = [=[{ "schema_version": 1, "source": "torch.profiler", "wall_ms": 4.5,
    "device_ns": 100, "unattributed_device_ns": 0, "operators": [
      { "name": "aten::mm", "calls": 2, "host_total_ns": 50, "host_self_ns": 40,
        "device_total_ns": 90, "device_self_ns": null, "input_shapes": [[1, 2], [2, 3]] }] }]=]
  it("holds for an example", function()
    assert.is_nil(document.check("operators", decode(example)))
  end)

  it("rejects broken ones", function()
    local value = decode(example)
    value.operators[1].calls = 0
    assert.equal("$.operators[1].calls: at least 1 expected, got 0",
      document.check("operators", value))
    value.operators[1].calls, value.operators[1].name = 1, nil
    assert.equal("$.operators[1]: no 'name'", document.check("operators", value))
    assert.equal("$: no 'operators'", document.check("operators", { schema_version = 1 }))
  end)
end)
