local artifacts = require "llmprof.bundle.artifacts"
local baselines = require "llmprof.compare.baselines"
local bundle = require "tests.lua.support.bundle"
local failure = require "tests.lua.support.failure"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local results = require "tests.lua.support.results"
local side = require "llmprof.compare.side"

describe("llmprof.compare.side", function()
  local top = bundle.scratch(before_each, after_each)

  local function run(id)
    local made = artifacts.create { root = top(), id = id, recipe = "r", recipe_file = "r.lua",
      command = json.list { "llmprof", "r.lua" } }
    local given = results.empty { model = {} }
    given.run.recipe = id
    made:write("results.json", json.encode(given))
    made:publish()
    return made
  end

  local function kind_of(word)
    local opened = side.open(word, top())
    return ("%s %s %s"):format(opened.kind, opened.name, opened.results.run.recipe)
  end

  local function refusal(word)
    local said, plain = failure(side.open, word, top()), top():gsub("%p", "%%%0")
    for i, text in pairs(said) do said[i] = text:gsub(plain, "TOP") end
    return said
  end

  -- The ms of the first decode of each.
  local function decodes(list)
    local ms = {}
    for i, metrics in ipairs(list) do ms[i] = metrics.repeats[1].stages.decode.ms end
    return ms
  end

  it("opens runs, folders, baselines and traces", function()
    baselines.save(run "one", "main", top())
    run "two"
    assert.equal("run one one", kind_of "one")
    assert.equal("run two two", kind_of "latest")
    assert.equal(("run %s/one one"):format(top()), kind_of(top() .. "/one"))
    assert.equal("baseline main one", kind_of "main")
    assert.equal("baseline main one", kind_of "baseline:main")
    local path = "tests/fixtures/small/run.sqlite"
    assert.equal(("trace %s none"):format(path), kind_of(path))
  end)

  it("takes a run before a baseline of its name", function()
    baselines.save(run "one", "two", top())
    run "two"
    assert.equal("run two two", kind_of "two")
    assert.equal("baseline two one", kind_of "baseline:two")
  end)

  it("reads what lies beside the results", function()
    local made = run "one"
    local from = "tests/fixtures/compare/graph/workload/"
    made:take(from .. "before/metrics.json", "workload/before/metrics.json")
    made:take(from .. "metrics.json", "workload/metrics.json")
    made:write("config.yaml", "top_n:\n  kernels: 4\n")
    local opened = side.open("one", top())
    assert.same({ 235.767245 }, decodes(opened.runs[1].plain))
    assert.equal(1, opened.plain_runs)
    assert.same({ 287.95449 }, decodes { opened.metrics })
    assert.same({ top_n = { kernels = 4 } }, opened.config)
    assert.is_nil(opened.trace)
  end)

  local MADE_WITH = "captured_with: { infer: { batch: 1, path: <...> }, top_n: { kernels: 9 } }"

  it("takes a recorded capture's settings from what it was made with", function()
    local function config_of(from)
      local made, given = run("of_" .. from), results.empty { model = {} }
      given.source.timeline.from = from
      made:write("results.json", json.encode(given))
      made:write("config.yaml", "infer: { batch: 4, repeats: 2 }\ntop_n: { kernels: 3 }\n"
        .. (from == "recorded" and MADE_WITH or ""))
      return side.open("of_" .. from, top()).config
    end
    assert.same({ infer = { batch = 1 }, top_n = { kernels = 3 } }, config_of "recorded")
    assert.same({ infer = { batch = 4, repeats = 2 }, top_n = { kernels = 3 } }, config_of "live")
  end)

  it("takes several runs of the same thing as one side", function()
    local function made(id)
      local one, given = run(id), results.empty { model = {} }
      given.run.recipe, given.run.id = "r", id
      one:write("results.json", json.encode(given))
      return one
    end
    made "one"
    baselines.save(made "two", "main", top())
    baselines.add(made "three", "main", top())
    local function names(word)
      local opened, list = side.open(word, top()), {}
      for i, one in ipairs(opened.runs) do list[i] = one.name end
      return opened.kind, opened.name, #list
    end
    assert.same({ "runs", "one,two", 2 }, { names "one,two" })
    assert.same({ "baseline", "main", 2 }, { names "main" })
    assert.same({ "runs", "one,baseline:main", 3 }, { names "one,baseline:main" })
    assert.same({ "usage", "two and main are the same capture",
      "how much runs differ, several captures tell" }, refusal "two,main")
    local path = "tests/fixtures/small/run.sqlite"
    assert.equal(("%s and %s are the same capture"):format(path, path),
      refusal(path .. "," .. path)[2])
    run "other"
    assert.same({ "usage", "one is of recipe r, other of other",
      "runs on one side are of the same thing" }, refusal "one,other")
    assert.equal("nothing to compare is called ''", refusal("one,")[2])
  end)

  it("says how a run without results goes on", function()
    fs.remove(run("one"):path "results.json")
    local said = refusal "one"
    assert.same({ "failed", "TOP/one: no results.json: the run was not analysed" },
      { said[1], said[2] })
    assert.matches("^continue it .*%-%-resume one; llmprof ls lists the others$", said[3])
  end)

  it("refuses results of something else", function()
    run("one"):write("results.json", "[]\n")
    assert.same({ "failed", "TOP/one/results.json: $: object expected, got []",
      "make it again: llmprof RECIPE.lua --resume TOP/one" }, refusal "one")
    baselines.save(run "two", "main", top())
    assert(fs.write(baselines.find("main", top()) .. "/results.json", "7\n"))
    assert.same({ "failed", "TOP/baselines/main/results.json: $: object expected, got 7",
      "save it again: llmprof baseline save RUN main" }, refusal "main")
    run("three"):write("workload/metrics.json", "{}\n")
    assert.same({ "failed",
      "TOP/three/workload/metrics.json: $: no 'schema_version'" },
      refusal "three")
  end)

  it("refuses a run whose timeline was not read", function()
    run("one"):write("results.json", json.encode(results.empty()))
    assert.same({ "failed", "TOP/one/results.json: no 'model': it has no times",
      "a run whose timeline was not read cannot be compared" }, refusal "one")
  end)

  it("suggests a name that is there", function()
    baselines.save(run "one", "main", top())
    local hint = "a run or a baseline in TOP, a bundle's folder or the export of a trace; "
      .. "llmprof ls lists the runs"
    assert.same({ "usage", "nothing to compare is called 'mian' (did you mean 'main'?)", hint },
      refusal "mian")
    assert.same({ "usage", "nothing to compare is called ''", hint }, refusal "")
  end)
end)
