-- Documents that a schema of docs/ describes, and their fields, which stand there once.
local document = require "llmprof.io.document"
local json = require "llmprof.json"


local function manifest(steps)
  return { steps = steps, status = "done", started = "now", run_id = "x", schema_version = 1 }
end


describe("llmprof.io.document", function()
  it("writes fields in the order of the schema, and lists as lists", function()
    local text = document.encode("manifest", manifest { { status = "done", name = "plan",
      outputs = { { bytes = 5, file = "config.yaml" } }, inputs = {} } })
    local keys = {}
    for key in text:gmatch '"([%w_]+)":' do keys[#keys + 1] = key end
    assert.equal("schema_version run_id status started steps name status inputs outputs file bytes",
      table.concat(keys, " "))
    assert.matches('"inputs": []', text, 1, true)
    assert.matches('"steps": []', document.encode("manifest", manifest {}), 1, true)
  end)

  it("writes nothing that the schema does not allow", function()
    local function refused(given)
      return select(2, pcall(document.encode, "manifest", given))
    end
    local form = "docs/manifest.schema.json does not allow "
    assert.equal(form .. "$: unknown 'mood'", refused { mood = "good", steps = {} })
    assert.equal(form .. "$.steps[1]: unknown 'mood'",
      refused(manifest { { name = "plan", status = "done", mood = 1 } }))
    assert.equal(form .. "$.steps: array expected, got {}",
      refused(manifest(json.ordered({}, {}))))
    assert.equal("manifest.json: JSON has no NaN: number at schema_version",
      refused { schema_version = 0 / 0 })
  end)

  it("reads what fits", function()
    assert.is_nil(document.check("manifest", json.decode(document.encode("manifest",
      manifest {}))))
    assert.same({ "tests/fixtures/small/metrics.json: $: unknown 'workload'", "syntax" },
      { select(2, document.read("tests/fixtures/small/metrics.json", "manifest")) })
    assert.equal("notfound", (select(3, document.read("no/such/file", "manifest"))))
  end)

  it("knows a part of a document", function()
    assert.same({ "text", "source" }, document.fields("results", "evidence"))
    assert.equal("$: no 'source'", document.check("results", { text = "x" }, "evidence"))
    assert.equal("schema_version", document.fields("results")[1])
  end)

  it("follows a schema into another file", function()
    assert.equal("$.operators[1].calls: at least 1 expected, got 0", document.check("operators",
      json.decode [[{ "schema_version": 1, "operators": [ { "name": "a", "calls": 0,
        "host_total_ns": 1, "host_self_ns": 1 } ] }]]))
    local results = json.decode '{ "operators": { "schema_version": 2, "operators": [] } }'
    assert.equal("$.operators.schema_version: 1 expected, got 2",
      document.check("results", results))
  end)
end)
