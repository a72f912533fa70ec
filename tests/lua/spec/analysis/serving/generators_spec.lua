-- What load generators wrote or printed, as a trace is joined with it.
local bundle = require "tests.lua.support.bundle"
local fs = require "llmprof.fs"
local handed = require "llmprof.trace.handed"
local generators = require "llmprof.analysis.serving.generators"
local load = require "llmprof.analysis.serving.load"

local FOLDER = "tests/fixtures/loads/"

-- { who, answered, failed, tokens/s, TTFT, its p99, TPOT, whole answer } in ms
local function said(name)
  local made = load.load(assert(generators.read(FOLDER .. name)))
  local function ms(of, key)
    return of and of[key] and math.floor(of[key] / 1e3 + 0.5) / 1e3 or false
  end
  return { made.generator, made.completed, made.failed or false, made.tokens_per_s or false,
    ms(made.ttft, "mean_ns"), ms(made.ttft, "p99_ns"), ms(made.tpot, "mean_ns"),
    ms(made.answer, "mean_ns") }
end


describe("llmprof.analysis.serving.generators", function()
  it("reads what is printed", function()
    assert.same({ "vllm bench serve", 120, 2, 252.63, 62.12, 140.25, 3.71, false },
      said "vllm.log")
    assert.same({ "SGLang bench_serving", 50, false, 1163.42, 512.1, false, 21.2, 6040.11 },
      said "sglang.log")
  end)

  it("reads results", function()
    assert.same({ "vllm bench serve", 3, 1, 48.0, 60.0, false, 11.0, 401.0 }, said "vllm.json")
    assert.same({ "SGLang bench_serving", 50, false, 1163.42, 512.1, false, 21.2, 6040.1 },
      said "sglang.jsonl")
    assert.same({ "GenAI-Perf", 120, false, 520.0, 16.0, 20.8, 1.9, 1500.0 },
      said "genai_perf.json")
  end)

  it("knows nothing of other files", function()
    assert.is_nil(generators.read "tests/fixtures/torch/run.json")
    assert.is_nil(generators.read "README.md")
    assert.is_nil(generators.read "nowhere.log")
  end)
end)


describe("what a load generator left beside a trace", function()
  local top = bundle.scratch(before_each, after_each)

  local function beside(...)
    assert(fs.copy("tests/fixtures/torch/run.json", top() .. "/run.json"))
    for to, from in pairs { ... } do assert(fs.copy(FOLDER .. from, top() .. "/" .. to .. from)) end
    local found = handed.look({ top() .. "/run.json" }, nil, generators.document_of)
    return { found.load and found.load:match "[^/]*$", found.left_out }
  end

  it("is joined, results before what was printed", function()
    assert.same({ "1vllm.log", {} }, beside "vllm.log")
    assert.same({ "2vllm.json", { "1vllm.log: left out: 2vllm.json is used" } },
      beside("vllm.log", "vllm.json"))
  end)

  -- What is read of vllm.json with an edit; nil and why.
  local function edited(pattern, instead)
    local body, count = assert(fs.read(FOLDER .. "vllm.json")):gsub(pattern, instead)
    assert(count > 0, pattern)
    assert(fs.write(top() .. "/edited.json", body))
    return generators.read(top() .. "/edited.json")
  end

  it("takes no other line of a log for a figure of the table", function()
    local body = assert(fs.read(FOLDER .. "sglang.log"))
    assert(fs.write(top() .. "/more.log", body .. "Duration: 7\nFailed: 9\nCompleted: 9\n"))
    local made = generators.read(top() .. "/more.log").load
    assert.same({ 11.31, 50 }, { made.duration_s, made.completed })
    assert.is_nil(made.failed)
  end)

  it("takes no list of requests that is cut or of other things", function()
    for _, key in ipairs { "output_lens", "itls" } do
      for _, value in ipairs { "7", "null", "[1]", "[null, null, null, null]" } do
        local made = assert(edited('("' .. key .. '": *)%b[]', "%1" .. value))
        assert.is_nil(made.repeats[1].requests)
        assert.equal(3, made.load.completed)
      end
    end
  end)

  it("reads Infinity and NaN as Python writes them, and no figure that is too large", function()
    for _, value in ipairs { "Infinity", "-Infinity", "NaN", "1e300" } do
      assert.is_nil(assert(edited('("duration": *)[%d.]+', "%1" .. value)).load.duration_s)
    end
  end)

  it("says why a result is left out", function()
    local made, why = edited('("completed": *)[%d.]+', "%1-1")
    assert.is_nil(made)
    assert.equal("it names figures of a load generator, and none could be read", why)
  end)

  it("is left out where there are two", function()
    local why = "left out: 2 results of load generators are there: name the one of this run"
    assert.same({ [2] = { "1vllm.log: " .. why, "2sglang.log: " .. why } },
      beside("vllm.log", "sglang.log"))
    local twice = assert(fs.read(FOLDER .. "vllm.log")):rep(2)
    assert(fs.write(top() .. "/twice.log", twice))
    local _, reason = generators.read(top() .. "/twice.log")
    assert.equal("2 results of load generators in it: keep that of the traced run", reason)
  end)
end)
