local breakdown = require "llmprof.analysis.stages.breakdown"
local kernels = require "llmprof.analysis.kernels.table"
local select_kernels = require "llmprof.run.steps.select"
local stages = require "llmprof.analysis.stages.find"
local trace_file = require "llmprof.trace.file"
local traces = require "tests.lua.support.traces"

describe("llmprof.analysis.kernels.table", function()
  it("lists kernels by stage, part and device, with their shapes", function()
    local list = kernels.list(traces.open "small")
    assert.same({
      { id = 1, short_name = "gemm", stage = "prefill", part = "vision", total_ns = 420 },
      { id = 2, short_name = "gemm", stage = "decode", total_ns = 200 },
      { id = 3, short_name = "add", stage = "decode", total_ns = 100 },
      { id = 4, short_name = "add", stage = "prefill", total_ns = 100 } },
      traces.pick(list, "id", "short_name", "stage", "part", "total_ns"))
    local first = list[1]
    assert.same({ { grid = { 4, 1, 1 }, block = { 128, 1, 1 }, registers = 32, shared_bytes = 16,
      calls = 2, total_ns = 420 } }, first.shapes)
    assert.same({ { name = "void gemm<(int)4>(T1 *)", mangled_name = "_Z4gemmILi4EEvPT_",
      device = 0, calls = 2, mean_ns = 210, median_ns = 210, min_ns = 200, max_ns = 220,
      std_ns = math.sqrt(200) } }, traces.pick({ first }, "name", "mangled_name", "device",
      "calls", "mean_ns", "median_ns", "min_ns", "max_ns", "std_ns"))
  end)

  it("has no spread of a kernel that was called once", function()
    local trace = trace_file.open "tests/fixtures/unmarked/eager.sqlite"
    local once, often = 0, 0
    for _, kernel in ipairs(kernels.list(trace, stages.find(trace, traces.declared, "yes"))) do
      if kernel.calls == 1 then once = once + 1 else often = often + 1 end
      assert.equal(kernel.calls > 1, kernel.std_ns ~= nil)
    end
    assert.truthy(once > 0 and often > 0)
  end)

  it("shares and cumulates within a stage and over all", function()
    local list = kernels.list(traces.open "small")
    assert.same({
      { share = 420 / 820, cumulative = 420 / 820, stage_share = 420 / 520,
        stage_cumulative = 420 / 520 },
      { share = 200 / 820, cumulative = 620 / 820, stage_share = 200 / 300,
        stage_cumulative = 200 / 300 },
      { share = 100 / 820, cumulative = 720 / 820, stage_share = 100 / 300, stage_cumulative = 1 },
      { share = 100 / 820, cumulative = 1, stage_share = 100 / 520, stage_cumulative = 1 },
    }, traces.pick(list, "share", "cumulative", "stage_share", "stage_cumulative"))
  end)

  it("takes every kernel where no stage is there", function()
    local list = kernels.list(traces.open("small", {}))
    assert.same({ { stage = "whole run", calls = 6, total_ns = 1520 },
      { stage = "whole run", calls = 5, total_ns = 300 } },
      traces.pick(list, "stage", "calls", "total_ns"))
    assert.same({ { calls = 3, total_ns = 920 }, { calls = 3, total_ns = 600 } },
      traces.pick(list[1].shapes, "calls", "total_ns"))
  end)

  it("sums up what there are too many names of to list each", function()
    local trace, found = traces.open "small"
    local listed, all = kernels.LISTED, kernels.list(trace, found)
    finally(function() kernels.LISTED = listed end)
    kernels.LISTED = 1
    local list = kernels.list(trace, found)
    local named = kernels.list(trace, found, { { category = "sums", match = { "^add" } } })
    assert.same({ { short_name = "gemm", stage = "prefill", total_ns = 420 },
      { short_name = "gemm", stage = "decode", total_ns = 200 } },
      traces.pick(list, "short_name", "stage", "total_ns"))
    local function other(stage)
      return { stage = stage, category = "elementwise", names = 1, calls = 2, total_ns = 100 }
    end
    assert.same({ other "decode", other "prefill" }, list.others)
    assert.equal("sums", named.others[1].category)
    assert.is_nil(all.others)
    for i, kernel in ipairs(list) do -- shares are of all that ran
      for _, field in ipairs { "share", "stage_share", "cumulative" } do
        assert.equal(all[i][field], kernel[field])
      end
    end
    breakdown.categorize(list)
    local policy = { kernels = 9, coverage = 1, per_stage = true }
    local made = select_kernels.apply(list, policy)
    assert.equal(620 / 820, made.coverage)
    assert.equal(200 / 300, made.groups[1].coverage)
    local ctx = { cfg = { ncu = {}, top_n = policy }, state = {}, recipe = {} }
    assert.equal(620 / 820, select_kernels.select_kernels(ctx, list, found).coverage)
  end)

  it("gives an empty list where no kernel ran in a stage", function()
    assert.same({}, kernels.list(traces.open "broken"))
  end)
end)


describe("llmprof.run.steps.select", function()
  local function list()
    return { { id = 1, stage = "b", short_name = "f", total_ns = 60 },
      { id = 2, stage = "a", short_name = "f", total_ns = 30 },
      { id = 3, stage = "b", short_name = "g.h", total_ns = 30 },
      { id = 4, stage = "b", short_name = "i", total_ns = 10 } }
  end

  local function apply(policy, wanted)
    local result = select_kernels.apply(list(), policy, wanted)
    result.chosen, result.policy = nil, nil
    return result
  end

  it("takes kernels until they cover enough, stage by stage", function()
    assert.same({ groups = { { name = "a", kernels = { 2 }, coverage = 1, of = 1 },
      { name = "b", kernels = { 1, 3 }, coverage = 0.9, of = 3 } }, kernels = { 2, 1, 3 },
      coverage = 120 / 130, filter = "regex:^(f|g\\.h)$" },
      apply { kernels = 20, coverage = 0.9, per_stage = true })
  end)

  it("takes so many at most", function()
    assert.same({ groups = { { name = "a", kernels = { 2 }, coverage = 1, of = 1 },
      { name = "b", kernels = { 1 }, coverage = 0.6, of = 3 } }, kernels = { 2, 1 },
      coverage = 90 / 130, filter = "regex:^(f)$" },
      apply { kernels = 1, coverage = 1, per_stage = true })
  end)

  it("never takes those that wait for other GPUs", function()
    local all = list()
    all[1].category = "communication"
    local result = select_kernels.apply(all, { kernels = 2, coverage = 1, per_stage = false })
    assert.same({ { 2, 3 }, 60 / 130 }, { result.kernels, result.coverage })
    assert.same({}, select_kernels.apply(all, { per_stage = false }, { [all[1]] = true }).kernels)
  end)

  it("takes the largest over all", function()
    assert.same({ groups = { { name = "all", kernels = { 1, 2 }, coverage = 90 / 130, of = 4 } },
      kernels = { 1, 2 }, coverage = 90 / 130, filter = "regex:^(f)$" },
      apply { kernels = 2, coverage = 1, per_stage = false })
  end)

  it("takes those that are wanted", function()
    local all = list()
    local result = select_kernels.apply(all, { per_stage = false }, { [all[4]] = true })
    assert.same({ { 4 }, 10 / 130 }, { result.kernels, result.coverage })
    assert.same({ all[4] }, result.chosen)
  end)

  it("has no filter and no coverage for nothing", function()
    assert.same({ policy = { per_stage = true }, groups = {}, kernels = {}, chosen = {} },
      select_kernels.apply({}, { per_stage = true }))
  end)
end)
