-- metrics.json and operators.json, which anybody may have written.
local bundle = require "tests.lua.support.bundle"
local document = require "llmprof.io.document"
local fs = require "llmprof.fs"
local json = require "llmprof.json"

-- As little as the schemas ask for, and one field of each kind.
local METRICS = [[{ "schema_version": 1, "model": { "name": "m", "weights": "random",
  "variant": null }, "batch": 1, "prompt_tokens": 8, "new_tokens": 3, "later": { "x": null },
  "repeats": [ { "index": 1, "stages": { "sam": { "ms": 1 },
    "decode": { "ms": 2, "tokens": null, "steps": 2, "steps_ms": [1, 1.5] } } } ] }]]
local OPERATORS = [[{ "schema_version": 1, "source": null, "operators": [ { "name": "aten::mm",
  "calls": 2, "host_total_ns": 7, "host_self_ns": 5, "device_self_ns": null } ] }]]


describe("what a workload wrote about itself", function()
  local top = bundle.scratch(before_each, after_each)

  -- What reading these contents gives; the file is called FILE in messages.
  local function read(what, contents)
    local path = top() .. "/file.json"
    if contents then assert(fs.write(path, contents)) end
    local value, message, code = document.read(path, what)
    return value, message and message:gsub("^.*%.json", "FILE"), code
  end

  -- What is wrong with a good file that was changed.
  local function complaint(what, contents, change)
    local value = assert(json.decode(contents))
    change(value)
    local text = assert(json.encode(value))
    local read_value, message, code = read(what, text)
    assert.is_nil(read_value)
    assert.equal("syntax", code)
    -- the same words as anybody's who asks the schema
    assert.equal("FILE: " .. document.check(what, json.decode(text)), message)
    return message
  end

  local function metrics(change) return complaint("metrics", METRICS, change) end

  it("takes files without what is null", function()
    assert.same({ schema_version = 1, model = { name = "m", weights = "random" }, batch = 1,
      prompt_tokens = 8, new_tokens = 3, later = {}, repeats = { { index = 1, stages = {
      sam = { ms = 1 }, decode = { ms = 2, steps = 2, steps_ms = { 1, 1.5 } } } } } },
      read("metrics", METRICS))
    assert.same({ schema_version = 1, operators = { { name = "aten::mm", calls = 2,
      host_total_ns = 7, host_self_ns = 5 } } }, read("operators", OPERATORS))
  end)

  it("names what is wrong", function()
    local at = "FILE: $.repeats[1].stages.decode"
    assert.equal(at .. ".ms: number expected, got \"fast\"",
      metrics(function(m) m.repeats[1].stages.decode.ms = "fast" end))
    assert.equal(at .. ".steps_ms[2]: number expected, got null",
      metrics(function(m) m.repeats[1].stages.decode.steps_ms[2] = json.null end))
    assert.equal("FILE: $.operators[1]: no 'name'",
      complaint("operators", OPERATORS, function(o) o.operators[1].name = nil end))
    assert.same({ "FILE:1:2: ", "syntax" }, { (select(2, read("metrics", "{")):match "^.-: "),
      (select(3, read("metrics", "{"))) })
    assert.equal("FILE: $: object expected, got 5", (select(2, read("metrics", "5"))))
  end)

  it("may not be there", function()
    assert.same({ "FILE: No such file or directory", "notfound" }, { select(2, read "metrics") })
  end)

  -- Each was taken once.
  it("refuses what the schema refuses", function()
    for what, change in pairs {
      ["$.schema_version: 1 expected, got 7"] = function(m) m.schema_version = 7 end,
      ["$.batch: at least 1 expected, got -1"] = function(m) m.batch = -1 end,
      ["$.repeats[1].stages.decode.ms: at least 0 expected, got -2"] = function(m)
        m.repeats[1].stages.decode.ms = -2
      end,
      ["$.prompt_tokens: integer expected, got 8.5"] = function(m) m.prompt_tokens = 8.5 end,
      ["$.repeats: at least 1 items expected, got 0"] = function(m) m.repeats = json.list {} end,
      ["$.repeats[1].stages.sam: no 'ms'"] = function(m) m.repeats[1].stages.sam = {} end,
      ["$.model.weights: one of [\"random\",\"checkpoint\"] expected, got \"some\""] =
        function(m) m.model.weights = "some" end,
      ["$.environment: object expected, got \"x\""] = function(m) m.environment = "x" end,
    } do
      assert.equal("FILE: " .. what, metrics(change))
    end
  end)
end)
