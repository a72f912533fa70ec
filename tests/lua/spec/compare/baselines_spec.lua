local artifacts = require "llmprof.bundle.artifacts"
local baselines = require "llmprof.compare.baselines"
local bundle = require "tests.lua.support.bundle"
local failure = require "tests.lua.support.failure"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local results = require "tests.lua.support.results"

describe("llmprof.compare.baselines", function()
  local top = bundle.scratch(before_each, after_each)

  local function totals(kernels)
    return { kernels = kernels, copies = 0, sets = 0, graphs = 0, api_calls = 0 }
  end

  -- A run of that id with a results.json of `mark` kernels, unless that is nil.
  local function run(id, mark)
    local made = artifacts.create { root = top(), id = id, recipe = "r", recipe_file = "r.lua",
      command = json.list { "llmprof", "r.lua" } }
    local given = mark and results.empty { model = {}, totals = totals(mark) }
    if given then made:write("results.json", json.encode(given)) end
    return made
  end

  -- The mark of the results that are kept in a folder.
  local function mark_of(folder)
    return assert(json.load(folder .. "/results.json")).totals.kernels
  end

  local function names()
    local list = {}
    for i, entry in ipairs(baselines.list(top())) do
      list[i] = ("%s %s %s%s"):format(entry.name, entry.run, entry.recipe,
        entry.current and " *" or "")
    end
    return list
  end

  local function refusal(...)
    local said, plain = failure(...), top():gsub("%p", "%%%0")
    for i, text in pairs(said) do said[i] = text:gsub(plain, "TOP") end
    return said
  end

  it("keeps what a comparison needs, also when the run is gone", function()
    local one = run("one", 1)
    assert(fs.mkdirs(one:path "workload/before"))
    one:write("workload/before/metrics.json", "{}")
    baselines.save(one, "main", top())
    assert(fs.remove_tree(one.dir))
    local path = baselines.find("main", top())
    assert.equal(1, mark_of(path))
    assert.same({ "baseline.json", "results.json", "workload" }, fs.list(path))
    assert.same({ "before" }, fs.list(path .. "/workload"))
  end)

  it("replaces one of the same name", function()
    baselines.save(run("one", 1), "main", top())
    baselines.save(run("two", 2), "main", top())
    assert.same({ "main two r" }, names())
    assert.equal(2, mark_of(baselines.find("main", top())))
  end)

  it("lists them by name, and knows the one in use", function()
    assert.same({}, names())
    baselines.save(run("one", 1), "b", top())
    baselines.save(run("two", 2), "a", top())
    assert.is_nil(baselines.current(top()))
    baselines.use("b", top())
    assert.same({ "a two r", "b one r *" }, names())
    baselines.use("a", top())
    assert.equal("a", baselines.current(top()))
  end)

  it("uses none when the one in use is removed", function()
    baselines.save(run("one", 1), "a", top())
    baselines.use("a", top())
    baselines.remove("a", top())
    assert.is_nil(baselines.current(top()))
    assert.same({}, fs.list(top() .. "/baselines"))
  end)

  it("is no run", function()
    baselines.save(run("one", 1), "a", top())
    assert.equal(1, #artifacts.list(top()))
  end)

  it("keeps further runs of the same thing", function()
    baselines.save(run("one", 1), "main", top())
    local two = run("two", 2)
    baselines.add(two, "main", top())
    local folders = baselines.folders(baselines.find("main", top()))
    assert.same({ 1, 2 }, { mark_of(folders[1]), mark_of(folders[2]) })
    assert.equal(2, baselines.list(top())[1].runs)
    assert.same({ "usage", "baseline 'main' has run two already" },
      refusal(baselines.add, two, "main", top()))
    local other = run("other", 3)
    other.manifest.recipe = "s"
    assert.same({ "usage", "baseline 'main' is of recipe r, other of s",
      "a baseline's runs are of the same thing" }, refusal(baselines.add, other, "main", top()))
    assert.equal("no baseline 'x' in TOP/baselines", refusal(baselines.add, other, "x", top())[2])
    baselines.save(run("three", 4), "main", top())
    assert.equal(1, #baselines.folders(baselines.find("main", top())))
  end)

  it("refuses a run without results", function()
    local said = refusal(baselines.save, run "one", "a", top())
    assert.same({ "failed", "TOP/one: no results.json: the run was not analysed" },
      { said[1], said[2] })
  end)

  it("refuses a run without times", function()
    local failed = run "one"
    failed:write("results.json", json.encode(results.empty()))
    assert.same({ "failed", "TOP/one/results.json: no 'model': it has no times",
      "a run whose timeline was not read cannot be compared" },
      refusal(baselines.save, failed, "a", top()))
  end)

  for _, name in ipairs { "current", "latest", "", ".hidden", "a/b", "a b" } do
    it(("refuses the name '%s'"):format(name), function()
      assert.same({ "usage", ("'%s' cannot name a baseline"):format(name),
        "letters, digits, '_', '.' and '-' can, and it begins with a letter or digit" },
        refusal(baselines.save, run("one", 1), name, top()))
      assert.is_nil(baselines.find(name, top()))
    end)
  end

  it("suggests a name that is there", function()
    baselines.save(run("one", 1), "main", top())
    assert.same({ "usage", "no baseline 'mian' in TOP/baselines (did you mean 'main'?)",
      "llmprof baseline list shows them" }, refusal(baselines.use, "mian", top()))
    assert.equal("no baseline 'x' in TOP/baselines", refusal(baselines.remove, "x", top())[2])
  end)
end)
