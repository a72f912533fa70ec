-- llmprof ranks on files: shards, merging, and bad input.
local bundle = require "tests.lua.support.bundle"
local child = require "tests.lua.support.child"
local fs = require "llmprof.fs"
local json = require "llmprof.json"

local FOUR = "tests/fixtures/ranks4"
local MISSING = "rank 2: no file of it is there: waiting for it counts as transfer"

describe("llmprof ranks", function()
  local top = bundle.scratch(before_each, after_each)
  local llmprof = child.caller(top, function() return {} end)

  -- A folder with the files of these ranks.
  local function folder(numbers)
    local path = top() .. "/run"
    assert(fs.mkdirs(path))
    for _, number in ipairs(numbers) do
      local name = ("/rank%d.sqlite"):format(number)
      assert(fs.copy(FOUR .. name, path .. name))
    end
    return path
  end

  local function results_of(dir)
    return assert(fs.read(dir .. "/results.json")), assert(fs.read(dir .. "/ranks/ranks.json"))
  end

  it("prints the verdict first", function()
    local _, out = llmprof("ranks", FOUR)
    assert.truthy(out:find "^Waiting for rank 2 %(decode, layer 3, from step 8%)")
  end)

  it("makes the same results of one, two and four shards", function()
    local whole, first
    for _, count in ipairs { 1, 2, 4 } do
      local parts, out = top() .. "/parts" .. count, top() .. "/" .. count .. "/out"
      for i = 1, count do
        assert.equal(0, (llmprof("ranks", FOUR, "--shard", ("%d/%d"):format(i, count), "--out",
          parts)))
      end
      assert.equal(0, (llmprof("ranks", "--merge", parts, "--out", out)))
      local results, ranks = results_of(out)
      whole, first = whole or results, first or ranks
      assert.equal(whole, results)
      assert.equal(first, ranks)
    end
    assert.equal(0, (llmprof("ranks", FOUR, "--out", top() .. "/direct/out")))
    assert.equal(whole, (results_of(top() .. "/direct/out")))
  end)

  it("says in a run of several files which of them stages and kernels are of", function()
    local out = top() .. "/out"
    local status, said = llmprof("recipes/toy_llm.lua", "capture=recorded", "recorded=" .. FOUR,
      "out=" .. out)
    assert.equal(0, status)
    assert.truthy(said:find("kernels of rank0.sqlite, the first of 4 files", 1, true))
    for _, name in ipairs { "report.md", "kernels.md", "stakeholder_summary.md" } do
      assert.truthy(assert(fs.read(out .. "/" .. name)):find(
        "Stages, kernels and all that follows from them are of rank0.sqlite alone", 1, true))
    end
  end)

  it("writes results that fit their schema, and a report", function()
    local out = top() .. "/out"
    assert.equal(0, (llmprof("ranks", FOUR, "-o", out)))
    local results_file = require "llmprof.bundle.results_file"
    local results, message = results_file.read(out .. "/results.json")
    assert.is_nil(message)
    assert.equal(4, #results.ranks.ranks)
    for _, list in ipairs { results.advice.silent, results.advice.abstained } do
      for _, entry in ipairs(list) do
        assert.is_true(require("llmprof.advice." .. entry.rule).of_ranks) -- no kernels are there
      end
    end
    assert.truthy(assert(fs.read(out .. "/report.md")):find "Waiting for rank 2")
    local page = assert(fs.read(out .. "/report.html"))
    assert.truthy(page:find("<h1>4 ranks on NVIDIA H200</h1>", 1, true))
    assert.truthy(page:find("Clocks of the files agree within", 1, true))
    assert.falsy(page:find("No range of a stage", 1, true))
    assert.is_nil(assert(json.load(out .. "/manifest.json")).partial)
    assert.same({ llmprof("ranks", FOUR) }, { llmprof("ranks", out) }) -- of its parts
  end)

  it("prints a document and nothing else with -f json", function()
    local status, said = llmprof("ranks", FOUR, "-f", "json")
    assert.equal(0, status)
    assert.equal(4, #assert(json.decode(said)).ranks)
  end)

  -- What is said of a folder of which something is wrong, and the statuses.
  local function trouble(path)
    local out = top() .. "/out"
    local status, _, err = llmprof("ranks", path, "--out", out)
    local strict = llmprof("ranks", path, "--strict")
    return err, status, strict, assert(json.load(out .. "/manifest.json")).partial
  end

  it("says which rank's file is missing", function()
    local err, status, strict, partial = trouble(folder { 0, 1, 3 })
    assert.equal("llmprof: " .. MISSING .. "\n", err)
    assert.same({ 0, 1 }, { status, strict })
    assert.same({ MISSING }, partial)
    local record = assert(json.load(top() .. "/out/ranks/ranks.json"))
    assert.equal("who waits for whom cannot be told: rank 2 is missing: what the others waited "
      .. "for it looks like transfer", record.verdict.text)
  end)

  it("is said of runs, too, and --strict has them end with 1", function()
    local path = folder { 0, 1, 3 }
    assert(fs.write(path .. "/capture.json", "{}"))
    local function run(out, ...)
      return llmprof("recipes/vllm_serve.lua", "capture=recorded", "recorded=" .. path,
        "out=" .. top() .. out, "--quiet", ...)
    end
    local status, out, err = run "/plain"
    assert.same({ 0, "", "llmprof: " .. MISSING .. "\n" }, { status, out, err })
    assert.equal(1, (run("/strict", "--strict")))
    assert.same({ MISSING },
      assert(json.load(top() .. "/plain/manifest.json")).partial)
    assert(fs.copy(FOUR .. "/rank2.sqlite", path .. "/rank2.sqlite"))
    assert.same({ 0, "", "" }, { run("/whole", "--strict") })
  end)

  it("calls no waiting for a file that is cut transfer", function()
    local path = folder { 0, 1, 3 }
    local whole = assert(fs.read(FOUR .. "/rank2.sqlite"))
    assert(fs.write(path .. "/rank4.sqlite", whole:sub(1, 300000)))
    local _, out = llmprof("ranks", path)
    assert.truthy(out:find("rank 2, rank4.sqlite is missing", 1, true))
  end)

  it("does not match what is of another job", function()
    local path = folder { 0, 1 }
    assert(fs.copy("tests/fixtures/recorded/vllm_serve/run.sqlite", path .. "/rank2.sqlite"))
    local err, status = trouble(path)
    assert.equal(0, status)
    assert.truthy(err:find "not matched with it")
  end)

  it("refuses what cannot be meant", function()
    for _, words in ipairs { { "ranks" }, { "ranks", FOUR, "--shard", "5/4", "--out", "x" },
      { "ranks", FOUR, "--shard", "1/2" }, { "ranks", FOUR, "--shard", "a" } } do
      assert.equal(2, (llmprof(table.unpack(words))))
    end
    assert(fs.mkdirs(top() .. "/empty"))
    assert.equal(4, (llmprof("ranks", top() .. "/empty")))
    assert.equal(1, (llmprof("ranks", "README.md")))
  end)
end)
