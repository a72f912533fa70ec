local comparison = require "llmprof.compare.comparison"
local failure = require "tests.lua.support.failure"
local side = require "llmprof.compare.side"
local sides = require "tests.lua.support.sides"
local traces = require "tests.lua.support.traces"

local function captured(name)
  return side.open("tests/fixtures/compare/" .. name, "none")
end

-- Least and largest of the workload's own times without the profiler, in ms.
local function plain_range(one, stage)
  local low, high = math.huge, 0
  for _, run in ipairs(one.runs[1].plain) do
    for _, rep in ipairs(run.repeats) do
      low, high = math.min(low, rep.stages[stage].ms), math.max(high, rep.stages[stage].ms)
    end
  end
  return low, high
end

describe("llmprof.compare.comparison", function()
  describe("of real captures, eager and with a CUDA graph", function()
    local before, after = captured "eager", captured "graph"
    local made = comparison.make(before, after)

    local function verdict(label)
      for _, row in ipairs(made.times) do
        if row.label == label then return row.verdict, row.basis end
      end
    end

    it("says faster of decode, whose plain times do not even touch", function()
      assert.is_true(plain_range(before, "decode") > select(2, plain_range(after, "decode")))
      assert.same({ "faster", "plain" }, { verdict "decode" })
    end)

    it("cannot tell of prefill, whose plain times overlap", function()
      assert.is_true(plain_range(before, "prefill") < plain_range(after, "prefill"))
      assert.is_true(select(2, plain_range(before, "prefill"))
        > select(2, plain_range(after, "prefill")))
      assert.same({ "can't tell", "plain" }, { verdict "prefill" })
    end)

    it("matches the kernels of graph nodes by name, while launches drop", function()
      assert.same({ { label = "decode", kernels_before = 48236, kernels_after = 48329,
        launches_before = 48329, launches_after = 94 } }, traces.pick({ made.work[2] }, "label",
        "kernels_before", "kernels_after", "launches_before", "launches_after"))
      local same = 0
      for _, row in ipairs(made.kernels) do
        if row.where == "decode" and row.status == "same" then same = same + row.calls_after end
      end
      assert.equal(48329 - 1984 - 31 - 31 - 31 - 31, same)
    end)

    it("tells how much more steps grow where that is told from chance", function()
      local old, new = before.runs[1].results.latency.tpot, after.runs[1].results.latency.tpot
      new.source, old.slope_ns_per_token = old.source, 5000
      old.slope_error_ns, new.slope_error_ns = 300, 400
      for slope, word in pairs { [5000 + 1400] = false, [5000 + 1600] = "slower",
        [5000 - 1600] = "faster" } do
        new.slope_ns_per_token = slope
        local times, said = comparison.make(before, after).times, false
        for _, row in ipairs(times) do
          if row.path == "tpot.slope" then
            said = row.verdict
            assert.near((slope - 5000) / 1e3, row.difference, 1e-6)
          end
        end
        assert.equal(word, said)
      end
    end)

    it("finds the change in the time that the GPU waited", function()
      local found = {}
      for _, row in ipairs(made.where) do
        if row.stage == "decode" and row.share > 0.1 then found[#found + 1] = row.what end
      end
      assert.same({ "idle, outside CUDA", "idle, in launching calls" }, found)
    end)
  end)

  it("tests busy times and kernels together, by runs", function()
    local function run(ms)
      return { stages = { sides.stage { name = "decode", walls = { ms },
        instances = { gpu_busy_ns = ms * 1e6 } } },
        kernels = { sides.kernel { total_ns = ms * 1e5 }, sides.kernel { name = "a" } } }
    end
    local made = comparison.make(sides.side(run(100), run(101), run(102)),
      sides.side(run(110), run(111), run(112)))
    assert.same({ { busy_share = 10 / 101, busy_verdict = "more" } },
      traces.pick(made.work, "busy_share", "busy_verdict"))
    assert.same({ { name = "k", verdict = "more" }, { name = "a", verdict = "same" } },
      traces.pick(made.kernels, "name", "verdict"))
    assert.near(2 * made.kernels[1].p, made.kernels[1].holm_p, 1e-12)
  end)

  it("notes stages that one side lacks", function()
    local before = sides.side { name = "A", stages = {
      sides.stage { name = "prefill", walls = { 1 } },
      sides.stage { name = "decode", walls = { 2 } } } }
    local after = sides.side { name = "B", stages = {
      sides.stage { name = "decode", walls = { 3 } },
      sides.stage { name = "verify", walls = { 4 } } } }
    assert.same({
      { label = "prefill", before = 1, verdict = "gone" },
      { label = "decode", before = 2, after = 3, verdict = "slower", of_change = 1 },
      { label = "verify", after = 4, verdict = "new" },
    }, traces.pick(comparison.make(before, after).times, "label", "before", "after", "verdict",
      "of_change"))
  end)

  it("gives no verdict on totals where one side alone tells of how many steps they are", function()
    local function of(name, ms, steps)
      return sides.side { name = name, kernels = { sides.kernel { calls = steps or 15 } },
        stages = { sides.stage { name = "decode", walls = { ms }, fields = { steps = steps },
          instances = { gpu_busy_ns = ms * 1e6 } } } }
    end
    local why = "A tells of how many steps decode is (63), B does not"
    local made = comparison.make(of("A", 630, 63), of("B", 150))
    assert.same({ { label = "decode", before = 630, after = 150, verdict = "can't tell",
      why = why } }, traces.pick(made.times, "label", "before", "after", "verdict", "why", "p"))
    assert.same({ { verdict = "can't tell", verdict_why = why } },
      traces.pick(made.kernels, "verdict", "verdict_why", "p"))
    assert.equal("can't tell", made.work[1].busy_verdict)
    assert.equal(why .. ": its totals cannot be compared.", made.notes[#made.notes])
    assert.same({ { group = "work", name = "decode steps", before = "63" } }, made.differences)
    assert.equal("faster", comparison.make(of("A", 630, 63), of("B", 150, 15)).times[1].verdict)
    assert.equal("faster", comparison.make(of("A", 630), of("B", 150)).times[1].verdict)
  end)

  it("cannot tell of a latency that one side does not have", function()
    local before, after = sides.decode(1), sides.decode(1)
    after.name = "B"
    before.results.latency = { repeats = { { used = true, tpot_ns = 2e6 } } }
    assert.same({ { label = "TPOT", before = 2, verdict = "can't tell", why = "B has no tpot" } },
      traces.pick({ comparison.make(before, after).times[2] }, "label", "before", "after",
        "verdict", "why"))
  end)

  it("says that a side cannot be taken at face value", function()
    local before, after = sides.decode(1), sides.decode(1)
    after.results.integrity = { verdict = "poor", checks = { { level = "ok", text = "fine" },
      { level = "problem", text = "5 of 9 launches are without a kernel" } } }
    assert.equal("side cannot be taken at face value, and no change in it: 5 of 9 launches are "
      .. "without a kernel.", comparison.make(before, after).notes[2])
  end)

  it("finds lines again that moved, and those that are gone or new", function()
    local function with(...)
      local one = sides.decode(1)
      one.results.lines = { rows = {} }
      for i, given in ipairs { ... } do
        one.results.lines.rows[i] = { stage = "decode", line = given[1],
          ["function"] = given[2], gpu_ns = given[3], idle_ns = given[4] }
      end
      return one
    end
    local before = with({ "m.py:5", "norm", 100, 10 }, { "m.py:9", "rope", 40, 0 },
      { "m.py:20", "mlp", 7, 0 }, { "m.py:21", "mlp", 8, 0 })
    local after = with({ "m.py:5", "norm", 160, 30 }, { "m.py:12", "rope", 40, 5 },
      { "m.py:23", "mlp", 9, 0 })
    assert.same({
      { line = "m.py:5", difference_ns = 60, idle_ns = 20, before_ns = 100, after_ns = 160 },
      { line = "m.py:23", difference_ns = 9, idle_ns = 0, after_ns = 9 },
      { line = "m.py:21", difference_ns = -8, idle_ns = 0, before_ns = 8 },
      { line = "m.py:20", difference_ns = -7, idle_ns = 0, before_ns = 7 },
      { line = "m.py:12", was = "m.py:9", difference_ns = 0, idle_ns = 5, before_ns = 40,
        after_ns = 40 },
    }, traces.pick(comparison.make(before, after).lines, "line", "was", "difference_ns", "idle_ns",
      "before_ns", "after_ns"))
    assert.is_nil(comparison.make(before, sides.decode(1)).lines)
  end)

  it("tells what changed by torch module, without what is of the modules in it", function()
    local function with(...)
      local one = sides.decode(1)
      one.results.modules = { modules = { { stage = "decode", name = "Model", gpu_ns = 500 } } }
      for i, given in ipairs { ... } do
        one.results.modules.modules[i + 1] = { stage = "decode", name = given[1],
          gpu_ns = 900, gpu_self_ns = given[2] }
      end
      return one
    end
    local before, after = with({ "mlp", 100 }, { "norm", 40 }), with({ "mlp", 90 }, { "rope", 30 })
    assert.same({
      { name = "norm", before_ns = 40, difference_ns = -40 },
      { name = "rope", after_ns = 30, difference_ns = 30 },
      { name = "mlp", before_ns = 100, after_ns = 90, difference_ns = -10 },
    }, traces.pick(comparison.make(before, after).modules, "name", "before_ns", "after_ns",
      "difference_ns"))
    assert.is_nil(comparison.make(before, sides.decode(1)).modules)
  end)

  it("compares no kernels that a graph hides", function()
    local before, after = sides.decode(1), sides.decode(1)
    for _, one in ipairs { before, after } do one.results.kernels = { sides.kernel {} } end
    assert.equal(1, #comparison.make(before, after).kernels)
    local stage = after.results.stages[1]
    stage.instances[1].graphs, stage.gpu_time_ns = 1, 7e5
    before.results.stages[1].gpu_time_ns = 5e5
    after.results.totals = { graphs = 1 }
    local made = comparison.make(before, after)
    assert.same({}, made.kernels)
    assert.same({ { label = "decode", kernels_before = 10, copies_before = 2,
      launches_after = 12 } },
      traces.pick(made.work, "label", "kernels_before", "kernels_after", "copies_before",
        "copies_after", "launches_after"))
    assert.same({ { what = "all GPU work", difference_ns = 2e5, share = 1 } },
      traces.pick(made.where, "what", "difference_ns", "share"))
    assert.equal("side traced CUDA graphs as one row: the kernels in them are not known "
      .. "(nsys.cuda_graph_trace=node).", made.notes[2])
  end)

  it("refuses sides without a stage in common", function()
    local other = sides.side { name = "B",
      stages = { sides.stage { name = "serve", walls = { 1 } } } }
    assert.same({ "usage", "no stage in common: side has decode, B has serve",
      "compare runs of one recipe, or traces whose NVTX ranges have the same names" },
      failure(comparison.make, sides.decode(1), other))
    assert.equal("no stage in common: side has decode, side has none",
      failure(comparison.make, sides.decode(1), sides.side {})[2])
  end)
end)
