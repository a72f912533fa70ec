local infer = require "llmprof.analysis.stages.infer"
local own_times = require "llmprof.analysis.latency.own_times"
local stages = require "llmprof.analysis.stages.find"
local timeline = require "tests.lua.support.timeline"
local trace_file = require "llmprof.trace.file"

local DECLARED = { { name = "prefill" }, { name = "decode", step = "decode_step" } }
local RECORDED = "tests/fixtures/deepseek_ocr/run.sqlite"

local function fixture(name)
  return ("tests/fixtures/unmarked/%s.sqlite"):format(name)
end


-- Lengths in ns of the ranges of this name, by start.
local function marked(trace, tag)
  local ranges, list = trace:frame("ranges"):where { tag = tag }, {}
  for row = 1, #ranges do list[row] = ranges:get(row, "end") - ranges:get(row, "start") end
  return list
end


local function lengths(found, stage)
  local list = {}
  for _, instance in ipairs(found.instances) do
    if instance.stage == stage then list[#list + 1] = instance.stop - instance.start end
  end
  return list
end


local function step_lengths(found)
  local list = {}
  for _, instance in ipairs(found.instances) do
    for _, step in ipairs(instance.steps or {}) do list[#list + 1] = step.stop - step.start end
  end
  return list
end


local function all_close(wanted, got)
  assert.equal(#wanted, #got)
  for i, length in ipairs(wanted) do
    assert.is_true(math.abs(got[i] / length - 1) <= 0.02,
      ("%d: %d ns, marked %d ns"):format(i, got[i], length))
  end
end


describe("llmprof.analysis.stages.infer", function()
  for _, name in ipairs { "eager", "graph" } do
    it("agrees with the ranges of a capture that has them: " .. name, function()
      local trace = trace_file.open(fixture(name))
      local found = infer.stages(trace, DECLARED)
      all_close(marked(trace, "prefill"), lengths(found, "prefill"))
      all_close(marked(trace, "decode"), lengths(found, "decode"))
      assert.same({ "reduce_kernel", true, 62, 2 }, { found.anchor, found.named, found.steps,
        found.generations })
      assert.is_true(found.confidence > 0.95 and found.confidence <= 1)
    end)
  end

  it("takes a graph that was traced as one operation for a step", function()
    local found = infer.stages(trace_file.open(fixture "whole"), DECLARED)
    assert.same({ "CUDA graph", 62, 2 }, { found.anchor, found.steps, found.generations })
    local trace = trace_file.open(fixture "graph")
    all_close(marked(trace, "prefill"), lengths(found, "prefill"))
    all_close(marked(trace, "decode"), lengths(found, "decode"))
  end)

  it("agrees with those of a mixture of experts", function()
    local trace = trace_file.open(RECORDED)
    local found = infer.stages(trace, DECLARED)
    assert.same({ 24, 3, 12 }, { found.steps, found.generations, found.layers })
    all_close(marked(trace, "prefill"), lengths(found, "prefill"))
    all_close(marked(trace, "decode"), lengths(found, "decode"))
    all_close(marked(trace, "decode_step"), step_lengths(found))
  end)

  it("finds nothing in what is no LLM", function()
    assert.is_nil(infer.stages(trace_file.open "tests/fixtures/tiny_h200/run.sqlite", DECLARED))
    assert.is_nil(infer.stages(trace_file.open "tests/fixtures/small/run.sqlite", DECLARED))
    assert.is_nil(infer.stages(trace_file.open "tests/fixtures/graphs/node.sqlite", DECLARED))
    assert.is_nil(infer.stages(trace_file.open "tests/fixtures/odd/nothing.sqlite", DECLARED))
  end)

  it("takes no batch of a DataLoader or of training for a token", function()
    local function of(more)
      local lines = { "knows allocations" }
      for step = 0, 9 do
        for i = 1, 12 do
          local at = step * 1000000 + i * 50000
          lines[#lines + 1] = ("kernel %d %d %s"):format(at, at + 40000,
            i == 12 and "argmax" or "k" .. i)
        end
        lines[#lines + 1] = more and ("range %d %d %s"):format(step * 1000000,
          step * 1000000 + 40000, more) or nil
      end
      return infer.stages(timeline.of(table.concat(lines, "\n") .. "\n"), DECLARED)
    end
    assert.is_true(of(nil).steps > 7)
    assert.is_true(of "other".steps > 7)
    assert.is_nil(of "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")
    assert.is_nil(of "Optimizer.step#AdamW.step")
  end)

  it("infers no stage that is not declared", function()
    local trace = trace_file.open(fixture "whole")
    assert.is_nil(infer.stages(trace, { { name = "prefill" } }))
    local found = infer.stages(trace, { { name = "decode" } })
    assert.same({ {}, 2 }, { lengths(found, "prefill"), #lengths(found, "decode") })
  end)
end)


-- Requests of a load, each { sent (ms), ms }.
local function loaded(list)
  local requests = {}
  for i, given in ipairs(list) do
    requests[i] = { sent_utc_ns = given[1] and math.tointeger(given[1] * 1000000), ms = given[2] }
  end
  return { load = { kind = "rate" }, repeats = { { requests = requests } } }
end


describe("llmprof.analysis.own_times.requests_overlap", function()
  it("tells requests that come while others are answered", function()
    assert.is_true(own_times.requests_overlap(loaded { { 20, 5 }, { 0, 21 } }))
    assert.is_false(own_times.requests_overlap(loaded { { 20, 5 }, { 0, 20 } }))
  end)

  it("rules nothing out of which it is not told", function()
    assert.is_true(own_times.requests_overlap(loaded { { nil, 5 } }))
    assert.is_true(own_times.requests_overlap(loaded {}))
  end)

  it("leaves rounds, and programs that say nothing", function()
    local rounds = loaded { { 0, 21 }, { 0, 21 } }
    rounds.load = nil
    assert.is_false(own_times.requests_overlap(rounds))
    assert.is_false(own_times.requests_overlap(nil))
  end)
end)


describe("llmprof.analysis.stages.find without ranges", function()
  it("takes what starts in an inferred stage for its work", function()
    local found = stages.find(trace_file.open(fixture "whole"), DECLARED, "auto")
    assert.is_false(found.whole)
    assert.same({}, found.missing)
    assert.equal(2, found.repeats.count)
    local counts = {}
    for i, instance in ipairs(found.instances) do
      counts[i] = ("%s %d: %d kernels, %d graphs"):format(instance.stage, instance.rep,
        instance.kernels, instance.graphs)
    end
    assert.same({ "prefill 1: 25 kernels, 0 graphs", "decode 1: 0 kernels, 31 graphs",
      "prefill 2: 25 kernels, 0 graphs", "decode 2: 0 kernels, 31 graphs" }, counts)
  end)

  it("infers nothing where requests overlap", function()
    local found = stages.find(trace_file.open(fixture "whole"), DECLARED, "auto", true)
    assert.is_true(found.whole)
    assert.is_nil(found.inferred)
    assert.equal(1, #found.instances)
  end)

  it("prefers ranges to inferring", function()
    assert.is_nil(stages.find(trace_file.open(fixture "eager"), DECLARED, "auto").inferred)
  end)
end)
