local bundle = require "tests.lua.support.bundle"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local outermost = require "llmprof.analysis.stages.outermost"
local trace_file = require "llmprof.trace.file"
local timeline = require "tests.lua.support.timeline"
local traces = require "tests.lua.support.traces"

local function stages_of(path)
  return traces.pick(outermost.stages(trace_file.open("tests/fixtures/" .. path)), "name")
end

describe("llmprof.analysis.stages.outermost", function()
  it("takes the outermost ranges for stages, in their order", function()
    assert.same({ { name = "prefill" }, { name = "decode" } }, stages_of "small/run.sqlite")
    assert.same({ { name = "prefill" }, { name = "decode" } }, stages_of "tiny_h200/run.sqlite")
  end)

  it("takes ranges of libraries for none, those of XLA for some", function()
    local lines = [[
range 0 100 domain=NCCL ncclAllReduce
range 200 290 domain=CCCL cub::DeviceReduce
range 300 380 domain=cuBLASLt matmul
range 400 410 domain=%s step
]]
    assert.same({}, outermost.stages(timeline.of(lines:format "cuDNN")))
    assert.same({ { name = "TSL:step" } }, outermost.stages(timeline.of(lines:format "TSL")))
    assert.same({ { name = "current:step" } },
      outermost.stages(timeline.of(lines:format "current")))
  end)

  it("takes ranges by start and end where there are no others", function()
    local pairs_of = "range 0 50 style=start_end step\n"
      .. "range 10 60 style=start_end end_thread=2 way\n"
    assert.same({ { name = "step" } }, outermost.stages(timeline.of(pairs_of)))
    assert.same({ { name = "decode" } },
      outermost.stages(timeline.of(pairs_of .. "range 100 150 decode\n")))
  end)

  describe("of a trace of torch.profiler", function()
    local top = bundle.scratch(before_each, after_each)

    -- The stages of annotations: { name, start, duration } in us each.
    local function of(annotations)
      local events = json.list {}
      for i, one in ipairs(annotations) do
        events[i] = { ph = "X", cat = "user_annotation", name = one[1], ts = one[2], dur = one[3],
          pid = 1, tid = 1 }
      end
      local path = top() .. "/run.json"
      assert(fs.write(path, assert(json.encode { schemaVersion = 1, traceEvents = events })))
      local opened <close> = trace_file.open(path)
      return traces.pick(outermost.or_inferred(opened), "name")
    end

    it("takes what lies in the steps of the schedule", function()
      assert.same({ { name = "forward" }, { name = "backward" } }, of {
        { "ProfilerStep#3", 10, 90 },
        { "forward", 20, 30 }, { "backward", 60, 30 }, { "ProfilerStep#4", 110, 90 },
        { "forward", 120, 30 }, { "backward", 160, 30 } })
    end)

    it("takes these steps where nothing else is marked", function()
      assert.same({ { name = "ProfilerStep" } }, of { { "ProfilerStep#3", 10, 90 },
        { "Optimizer.step#Adam.step", 20, 30 }, { "ProfilerStep#4", 110, 90 } })
    end)

    it("leaves an engine's steps to it", function()
      assert.same({ { name = "prefill" }, { name = "decode" } }, of { { "ProfilerStep#3", 10, 90 },
        { "execute_context_1(8)_generation_0(0)", 20, 30 },
        { "execute_context_0(0)_generation_1(1)", 60, 30 } })
    end)

    it("takes no numbered ranges and no operators", function()
      assert.same({ { name = "warmup" } }, of { { "request 1", 10, 9 }, { "request 2", 20, 9 },
        { "aten::mm, op_id = 7", 40, 9 }, { "warmup", 50, 9 } })
    end)
  end)

  it("finds none where there are no ranges", function()
    assert.same({}, stages_of "odd/no_nvtx.sqlite")
  end)
end)
