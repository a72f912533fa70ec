-- A run under the collector, with a program that leaves the spool which that would: one
-- process, whose launches are selected while it is held.
local bundle = require "tests.lua.support.bundle"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local ncu = require "llmprof.nvidia.ncu"
local spool = require "llmprof.spool"
local sys = require "llmprof.sys"
local trace = require "llmprof.trace"

local PROGRAM = sys.executable():match "^(.*)/[^/]*$" .. "/../tests/c/make_spool"


describe("capture=builtin", function()
  local top = bundle.scratch(before_each, after_each)

  -- fields: more of the recipe, as text.
  local function run(words, program, fields)
    assert(fs.write(top() .. "/library.so", ""))
    assert(fs.write(top() .. "/standin.lua", ([[return require("llmprof.recipe").recipe {
      name = "standin", stages = { { "prefill" }, { "decode" } }, %s
      workload = function(cfg)
        return { argv = { %q }, env = { REPEATS = cfg.infer and cfg.infer.repeats or nil } }
      end }]]):format(fields or "", program or PROGRAM)))
    local given = { "capture=builtin", "tools.collector=" .. top() .. "/library.so",
      "operators=off", "overhead=off", "counters.set=light" }
    table.move(words or {}, 1, #words or 0, #given + 1, given)
    return bundle.run(top() .. "/standin.lua", top() .. "/run", given)
  end

  -- A program that writes numbers of three repeats, too; before: shell words in front.
  local function with_numbers(before)
    local numbers = assert(json.load "tests/fixtures/small/metrics.json")
    for i, rep in ipairs(numbers.repeats) do rep.stages.prefill.ms = i end
    assert(fs.write(top() .. "/numbers.json", assert(json.encode(numbers))))
    return bundle.shell(top() .. "/program", ("%s %s && cp %s/numbers.json "
      .. "$LLMPROF_WORKLOAD_DIR/metrics.json"):format(before, PROGRAM, top()))
  end

  it("takes timeline and counters from one process", function()
    local ctx, failure = run {}
    assert.is_nil(failure)
    local found = assert(ncu.launches(ctx.run:path "ncu/raw.csv"))
    local taken = ncu.launches_of_recording(ctx.run:path "collector/run.spool")
    assert.equal(7, #found)
    assert.same({ "prefill" }, found.classes[1].ranges)
    assert.same({ "ncu", "collector" }, { found.classes[1].source, taken.classes[1].source })
    assert.equal(4e-6, found:get(1, "duration"))
    for path in pairs(taken.has) do assert.same(taken:values(path), found:values(path), path) end
    assert.same(taken.has, found.has)
    local results = assert(json.load(ctx.run:path "results.json"))
    assert.equal(2, #results.stages)
    for _, check in ipairs(results.integrity.checks) do
      assert.is_nil(check.text:find("nsys", 1, true))
    end
    assert.equal(4, #results.kernels)
    for _, kernel in ipairs(results.kernels) do
      assert.equal("own", kernel.counters and "own", kernel.name)
    end
    assert.equal(20, #assert(assert(trace.open(ctx.run:path "nsys/run.sqlite")):frame "kernels"))
    assert.matches("units = timeline:2 pause counters:1\n",
      assert(fs.read(ctx.run:path "collector/plan.txt")))
  end)

  it("measures in two repeats where there are several passes", function()
    local plan = assert(fs.read(run { "counters.set=roofline" }.run:path "collector/plan.txt"))
    assert.matches("units = timeline:2 pause counters:2\n", plan)
    assert.matches("counters.budget_s = 12\n.*\npass = 1\n.*\npass = 2\n", plan)
  end)

  it("joins launches that the timeline has, too, by their correlation ids", function()
    local ctx, failure = run({}, with_numbers "STANDIN_CORRELATION=1")
    assert.is_nil(failure)
    local kernels = assert(trace.open(ctx.run:path "nsys/run.sqlite")):frame "kernels"
    assert.equal(1, #kernels:where { correlation = 1 })
    assert.equal(1, assert(json.load(ctx.run:path "results.json")).counters.by_correlation)
    assert.matches("7 launches stand for 4 kernels, .*, 1 by correlation id",
      ctx.run:recorded "counters".note)
  end)

  it("leaves the spool, with what could not be measured", function()
    local ctx = run {}
    local opened = assert(spool.open(ctx.run:path "collector/run.spool"))
    local frame = assert(opened:frame "counters")
    assert.equal(8, #frame)
    assert.equal(1, #frame:where { { "error", "~=", 0 } })
    assert.same({ "timeline", "timeline", "counters" },
      assert(opened:frame "units"):values "type")
    assert.equal(4, #assert(opened:frame "metrics"))
    local missing, message, code = opened:frame "nothing"
    assert.is_nil(missing)
    assert.matches("a spool has no 'nothing'$", message)
    assert.equal("notfound", code)
  end)

  it("takes the workload's numbers of repeats that are in the timeline", function()
    local ctx, failure = run({}, with_numbers "")
    assert.is_nil(failure)
    assert.equal(2, #assert(json.load(ctx.run:path "workload/metrics.json")).repeats)
    assert.is_false(ctx.run:has "workload/before/metrics.json")
  end)

  it("takes plain times from a repeat of the same process", function()
    local ctx, failure = run({ "overhead=before" },
      with_numbers 'test "$REPEATS $LLMPROF_CAPTURE_AGAIN" = "4 2" || exit 9; STANDIN_PLAIN=1',
      [[options = { ["infer.repeats"] = { "of the stages", 2 } },]])
    assert.is_nil(failure)
    assert.matches("units = skip:1 plain:1 timeline:1 pause counters:1\n",
      assert(fs.read(ctx.run:path "collector/plan.txt")))
    local function prefills(name)
      local list = {}
      for i, rep in ipairs(assert(json.load(ctx.run:path(name))).repeats) do
        list[i] = rep.stages.prefill.ms
      end
      return list
    end
    assert.same({ 1 }, prefills "workload/before/metrics.json")
    assert.same({ 2 }, prefills "workload/metrics.json")
    local overhead = assert(json.load(ctx.run:path "results.json")).overhead
    assert.equal(1, overhead.runs)
  end)

  it("has a serving engine's load open a second window for counters", function()
    local ctx, failure = run({ "nsys.capture_range=cudaProfilerApi" },
      with_numbers 'test "$LLMPROF_COUNTERS" = 1 || exit 9;',
      [[options = { ["load.counter_rounds"] = { "for counters", 1 } },]])
    assert.is_nil(failure)
    assert.matches("unit.by = profiler\nunits = timeline:1 pause counters:1\n",
      assert(fs.read(ctx.run:path "collector/plan.txt")))
    assert.equal(3, #assert(json.load(ctx.run:path "workload/metrics.json")).repeats)
    assert.is_true(ctx.run:has "ncu/raw.csv")
  end)

  it("has it open one for each set of metrics, and says that graphs are left out", function()
    local ctx, failure = run({ "nsys.capture_range=cudaProfilerApi", "counters.set=roofline",
      "counters.eager_round=on" },
      with_numbers 'test "$LLMPROF_COUNTERS" = 2 || exit 9;',
      [[options = { ["load.counter_rounds"] = { "for counters", 1 },
        ["counters.eager_round"] = { "without graphs", "off" } },]])
    assert.is_nil(failure)
    assert.matches("units = timeline:1 pause counters:2\n",
      assert(fs.read(ctx.run:path "collector/plan.txt")))
    assert.matches("was asked to leave its CUDA graphs out",
      table.concat(ctx.run:recorded "counters".notes, "\n"))
  end)

  it("records all of a server that has no window: no range is called as its stages", function()
    local ctx, failure = run({ "nsys.capture_range=none" },
      with_numbers "export STANDIN_WHOLE=1;", [[options = { ["server.port"] = { "where", 1 } },]])
    assert.is_nil(failure)
    local said = assert(fs.read(ctx.run:path "manifest.json"))
    assert.matches("the process is one unit, for the timeline: no profiling window", said, 1, true)
    assert.is_nil(said:find "more repeats")
    assert.matches("unit.by = process\nunits = timeline\n",
      assert(fs.read(ctx.run:path "collector/plan.txt")))
  end)

  it("shows launches of graphs as wholes, and not as kernels", function()
    local ctx, failure = run({}, bundle.shell(top() .. "/program",
      "STANDIN_GRAPH=1 exec " .. PROGRAM))
    assert.is_nil(failure)
    local counted = assert(spool.open(ctx.run:path "collector/run.spool")):frame "counters"
    assert.equal(2, #counted:where { whole = 1 })
    local results = assert(json.load(ctx.run:path "results.json"))
    assert.equal(7, results.counters.launches)
    local list = results.counters.ranges
    assert.equal(2, #list)
    assert.same({ "CUDA graph 3", "prefill", 1, 3000000 },
      { list[1].range, list[1].stage, list[1].occurrence, list[1].dram_bytes })
    assert.equal(9000.0, list[1].duration_ns)
    for _, kernel in ipairs(results.kernels) do
      assert.is_true(kernel.counters == nil or kernel.name ~= "node()")
    end
  end)

  for _, given in ipairs { { why = "no load" }, { why = "no round for it", rounds = 0 },
    { why = "no wish for counters", rounds = 1, word = "counters=off" } } do
    it("has one window where there is " .. given.why, function()
      local ctx, failure = run({ "nsys.capture_range=cudaProfilerApi", given.word },
        with_numbers 'test -z "$LLMPROF_COUNTERS" || exit 9;', given.rounds
        and ([[options = { ["load.counter_rounds"] = { "for counters", %d } },]]):format(
          given.rounds))
      assert.is_nil(failure)
      assert.matches("unit.by = profiler\nunits = timeline\n",
        assert(fs.read(ctx.run:path "collector/plan.txt")))
    end)
  end

  it("takes operators that the workload marks from the same process", function()
    local ctx, failure = run { "operators=on" }
    assert.is_nil(failure)
    local made = assert(json.load(ctx.run:path "workload/operators.json"))
    local by_name = {}
    for _, row in ipairs(made.operators) do by_name[row.name] = row end
    assert.equal(3, #made.operators)
    assert.equal(0.01, made.wall_ms)
    assert.equal(2100, made.device_ns)
    assert.equal(700, made.unattributed_device_ns)
    assert.same({ 1, 700, 700, 2000 }, { by_name["aten::mm"].calls,
      by_name["aten::mm"].device_self_ns, by_name["aten::mm"].device_total_ns,
      by_name["aten::mm"].host_self_ns })
    assert.same({ 1, 0, 700, 4000, 2000 }, { by_name["aten::linear"].calls,
      by_name["aten::linear"].device_self_ns, by_name["aten::linear"].device_total_ns,
      by_name["aten::linear"].host_total_ns, by_name["aten::linear"].host_self_ns })
    assert.same({ { 8, 2 }, {} }, by_name["aten::add"].input_shapes)
    assert.same({ name = "prefill", calls = 1, host_self_ns = 1000, device_self_ns = 700 },
      by_name["aten::add"].stages[1])
    assert.same({ "0 1 2" }, { made.launches.stages[1].order })
    assert.same({ "prefill", 1 }, { made.launches.stages[1].name, #made.launches.stages })
    local joined = assert(json.load(ctx.run:path "results.json")).operators.joined
    assert.is_true(joined.by_order.launches > 0)
    assert.equal(20, joined.launches)
    assert.is_false(ctx.run:has "workload/operators")
    assert.matches("unit.operators = operators\n",
      assert(fs.read(ctx.run:path "collector/plan.txt")))
  end)

  it("runs a workload that marks none once more for its operators", function()
    local ctx = run({ "operators=on" }, bundle.shell(top() .. "/marks_none",
      'unset LLMPROF_OPERATOR_RANGES\ntest -n "$LLMPROF_OPERATORS" && exit 7\nexec ' .. PROGRAM))
    local step = ctx.run:recorded "operators"
    assert.same({ "the workload marked no operators: they take a run of its own" },
      table.move(step.notes, 1, 1, 1, {}))
    assert.matches("exit status 7", step.note)
  end)

  it("asks for a repeat without graphs, and says what was measured in it", function()
    local ctx, failure = run({}, with_numbers(
      'test "$LLMPROF_EAGER_REPEAT" = 1 || exit 9; STANDIN_EAGER=1'))
    assert.is_nil(failure)
    assert.matches("unit.eager = eager\n", assert(fs.read(ctx.run:path "collector/plan.txt")))
    local results = assert(json.load(ctx.run:path "results.json"))
    for _, kernel in ipairs(results.kernels) do
      assert.equal("own", kernel.counters and "own", kernel.name)
    end
    local notes = table.concat(ctx.run:recorded "counters".notes, "\n")
    assert.matches("7 of 7 launches were measured in a repeat without CUDA graphs", notes)
  end)

  it("asks for none where there are no counters", function()
    local ctx, failure = run({ "counters=off" },
      with_numbers 'test -z "$LLMPROF_EAGER_REPEAT" || exit 9;')
    assert.is_nil(failure)
    assert.is_nil(assert(fs.read(ctx.run:path "collector/plan.txt")):find("eager", 1, true))
  end)

  for sources, after in pairs { auto = "0", python = "", off = "" } do
    it("has graphs captured again where lines of them are wanted: " .. sources, function()
      local ctx, failure = run({ "counters=off", "collector.sources=" .. sources },
        with_numbers(('test "$LLMPROF_CAPTURE_AGAIN" = "%s" || exit 9;'):format(after)))
      assert.is_nil(failure)
      local plan = assert(fs.read(ctx.run:path "collector/plan.txt"))
      assert.matches("sources = " .. sources .. "\n", plan)
      assert.equal(after ~= "", plan:find("unit.capture = capture\n", 1, true) ~= nil)
    end)
  end

  it("ends a workload whose collector says that it is stalled, and keeps what there is", function()
    local ctx, failure = run({}, bundle.shell(top() .. "/program",
      "STANDIN_STALLS=1 exec " .. PROGRAM))
    assert.equal("failed", failure.kind)
    assert.equal("the workload under the collector: it was ended, as a measurement did not come "
      .. "to its end (stall_s of the collector's plan)", failure.message)
    assert.equal(20, #assert(assert(trace.open(ctx.run:path "nsys/run.sqlite")):frame "kernels"))
    assert.equal(7, #assert(ncu.launches(ctx.run:path "ncu/raw.csv")))
    assert.is_true(ctx.run:has "report.md")
  end)

  it("does without counters", function()
    local ctx, failure = run { "counters=off", "collector.samples_hz=1000" }
    assert.is_nil(failure)
    assert.is_false(ctx.run:has "ncu/raw.csv")
    local plan = assert(fs.read(ctx.run:path "collector/plan.txt"))
    assert.matches("units = timeline\n", plan)
    assert.matches("samples.hz = 1000\n", plan)
  end)

  it("leaves CUPTI to a profiler of the workload's own, and takes no counters", function()
    local ctx, failure = run { "collector.yield=on" }
    assert.is_nil(failure)
    local plan = assert(fs.read(ctx.run:path "collector/plan.txt"))
    assert.matches("yield = on\n", plan)
    assert.is_nil(plan:find("counters:", 1, true))
    assert.is_false(ctx.run:has "ncu/raw.csv")
  end)

  it("says so where nothing was recorded", function()
    local _, failure = run({}, "/bin/true")
    assert.same({ "nothing", "nothing was captured: no process loaded the collector" },
      { failure.kind, failure.message })
  end)

  it("says why nothing of the GPU was recorded", function()
    local ctx, failure = run({}, bundle.shell(top() .. "/refused.sh",
      "STANDIN_NO_CUPTI=1 exec " .. PROGRAM))
    assert.same({ "nothing", "nothing was captured: no timeline, no counters: refused",
      "capture=nsys uses Nsight Systems" }, { failure.kind, failure.message, failure.hint })
    assert.is_true(ctx.run:has "collector/run.spool")
  end)

  it("says whose folder for spools is out of reach, and why", function()
    local _, failure = run({}, bundle.shell(top() .. "/jailed.sh",
      "LLMPROF_COLLECTOR_DIR=/nowhere exec " .. PROGRAM))
    assert.equal("nothing", failure.kind)
    assert.matches("^nothing was captured: process %d+ of user %d+ could not write its "
      .. "recording: No such file or directory$", failure.message)
  end)

  it("says how a workload ended that recorded nothing", function()
    local _, failure = run({}, "/bin/false")
    assert.equal("failed", failure.kind)
    assert.equal("the workload recorded nothing: it ended with exit status 1", failure.message)
  end)
end)
