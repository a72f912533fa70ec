-- What the CPU was in, by stage: of samples in the timeline and of files beside it.
local bundle = require "tests.lua.support.bundle"
local cpu_samples = require "llmprof.analysis.timeline.cpu_samples"
local fs = require "llmprof.fs"
local results_file = require "llmprof.bundle.results_file"
local sampled = require "tests.lua.support.sampled"
local sqlite = require "llmprof.sqlite"
local trace = require "llmprof.trace"
local trace_file = require "llmprof.trace.file"


local function by_stage(made)
  local map = {}
  for _, stage in ipairs(made.stages) do map[stage.file or stage.stage] = stage end
  return map
end


-- Samples of the capture by SQL: between the ends of ranges of a name, on their thread or
-- on others.
local function counted(name, own)
  local db = assert(sqlite.open(sampled.FOLDER .. "/run.sqlite"))
  local _, rows = db:columns(([[SELECT 1 FROM COMPOSITE_EVENTS e, NVTX_EVENTS n
    WHERE n.text = ? AND e.start >= n.start AND e.start < n.end
    AND e.globalTid %s n.globalTid]]):format(own and "=" or "<>"), name)
  return rows
end


describe("samples of the timeline", function()
  it("are of the stage around them on their thread; others of the process are counted", function()
    local made = cpu_samples.describe(sampled.given())
    local stages = by_stage(made)
    local placed = 0
    for _, name in ipairs { "prefill", "decode" } do
      local stage = stages[name]
      assert.equal("thread", stage.scope)
      assert.equal(counted(name, true), stage.samples)
      assert.equal(counted(name, false), stage.other_threads)
      assert.is_true(stage.samples > 50)
      placed = placed + stage.samples + stage.other_threads
    end
    assert.equal(made.timeline - placed, made.outside)
  end)

  it("make a tree whose totals add up", function()
    local stage = by_stage(cpu_samples.describe(sampled.given())).decode
    local first, self = stage.tree[1], 0
    assert.same({ 0, "__libc_start_call_main", "libc.so.6" },
      { first.depth, first.name, first.module })
    for _, frame in ipairs(stage.tree) do self = self + frame.self end
    assert.equal(stage.samples, self)
    assert.equal(stage.samples, first.total)
    assert.equal("__sin_fma", stage.functions[1].name)
    assert.equal("libm.so.6", stage.functions[1].module)
  end)

  it("are all of the run where no range marks a stage", function()
    local made = cpu_samples.describe(sampled.given { { name = "absent" } })
    local stage = by_stage(made)["whole run"]
    assert.equal("run", stage.scope)
    assert.equal(made.timeline, stage.samples)
    assert.is_nil(made.outside)
  end)

  it("are of all threads where the stage's own has none", function()
    local given = sampled.given()
    local timeline = given.trace
    local all = assert(timeline:frame "cpu_samples")
    local main = timeline:frame("ranges"):get(1, "tid")
    local others = { has = function() return true end,
      frame = function() return assert(all:where { { "tid", "~=", main } }) end }
    given.trace = setmetatable(others, { __index = function(_, name)
      return function(_, ...) return timeline[name](timeline, ...) end
    end })
    local stage = by_stage(cpu_samples.describe(given)).decode
    assert.equal("process", stage.scope)
    assert.equal(counted("decode", false), stage.samples)
    assert.is_nil(stage.other_threads)
  end)

  it("are nothing where the timeline has none", function()
    local timeline = trace_file.open "tests/fixtures/small/run.sqlite"
    assert.is_nil(cpu_samples.describe { trace = timeline, found = {} })
    assert.is_nil(cpu_samples.describe {})
  end)
end)


describe("collapsed stacks", function()
  local top = bundle.scratch(before_each, after_each)

  local function write(name, text)
    assert(fs.write(top() .. "/" .. name, text))
    return top() .. "/" .. name
  end

  it("are of the whole run, or of the stage of their name", function()
    local list = {}
    for i, stage in ipairs { "decode", "whole run" } do
      list[i] = { stage = stage, file = "stacks/" .. stage .. ".folded",
        trace = assert(trace.open(write(stage, "main;run 3\nmain 1\n"))) }
    end
    local made = cpu_samples.describe { stacks = list }
    assert.is_nil(made.timeline)
    assert.equal("stage", made.stages[1].scope)
    assert.equal("run", made.stages[2].scope)
    assert.equal(4, made.stages[1].samples)
    assert.same({ { depth = 0, name = "main", self = 1, total = 4 },
      { depth = 1, name = "run", self = 3, total = 3 } }, made.stages[1].tree)
    assert.same({ { name = "run", self = 3, total = 3 }, { name = "main", self = 1, total = 4 } },
      made.stages[1].functions)
  end)

  -- The results of a run of the small capture, and what went wrong.
  local runs = 0

  local function run(...)
    runs = runs + 1
    assert(fs.mkdirs(top() .. "/" .. runs))
    local ctx, err = bundle.run_small(("%s/%d"):format(top(), runs),
      'stages = { { "prefill" }, { "decode" } },', { ... })
    return results_file.load(ctx.run:path "results.json"), err, ctx
  end

  it("go into the bundle, and are found there again", function()
    local results, _, ctx = run(("cpu_stacks=[%s,decode=%s]"):format(write("a.txt", "main 2\n"),
      write("b.txt", "f 1\n")))
    assert.equal("f 1\n", assert(fs.read(ctx.run:path "stacks/decode.folded")))
    local stages = by_stage(results.cpu_samples)
    assert.equal(2, stages["stacks/whole run.folded"].samples)
    assert.equal("decode", stages["stacks/decode.folded"].stage)
  end)

  it("beside a recorded capture are taken with it", function()
    local folder = top() .. "/capture"
    assert(fs.mkdirs(folder .. "/stacks"))
    assert(fs.copy("tests/fixtures/small/run.sqlite", folder .. "/run.sqlite"))
    write("capture/stacks/decode.folded", "f 7\n")
    local results = run("recorded=" .. folder)
    assert.equal(7, by_stage(results.cpu_samples)["stacks/decode.folded"].samples)
  end)

  it("that are none cost their own figures and the exit status", function()
    local bad = write("bad.txt", "main 1\nrubbish\n")
    local results, err = run("cpu_stacks=" .. bad)
    assert.is_nil(results.cpu_samples)
    assert.equal(bad .. ":2: a collapsed stack ends with a space and how often it was sampled: "
      .. "'main;run 12'", err.message)
    local said
    for _, entry in ipairs(results.missing) do
      said = said or entry.what == "sampled stacks" and entry.why
    end
    assert.equal(err.message, said)
    results, err = run("cpu_stacks=" .. top() .. "/absent")
    assert.is_nil(results.cpu_samples)
    assert.matches("absent: No such file", err.message, 1, true)
    local folder = select(2, run("cpu_stacks=" .. top()))
    assert.equal(top() .. ": not a regular file", folder.message)
  end)

  it("of one stage are one file", function()
    local a = write("a.txt", "main 2\n")
    local results, err = run(("cpu_stacks=[decode=%s,decode=%s]"):format(a, a))
    assert.equal(("cpu_stacks: two files of decode: %s and %s"):format(a, a), err.message)
    assert.equal(2, results.cpu_samples.stages[1].samples)
  end)
end)
