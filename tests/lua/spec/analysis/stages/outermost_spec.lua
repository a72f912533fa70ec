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

  it("finds none where there are no ranges", function()
    assert.same({}, stages_of "odd/no_nvtx.sqlite")
  end)
end)
