local outermost = require "llmprof.analysis.stages.outermost"
local trace_file = require "llmprof.trace.file"
local traces = require "tests.lua.support.traces"

local function stages_of(path)
  return traces.pick(outermost.stages(trace_file.open("tests/fixtures/" .. path)), "name")
end

describe("llmprof.analysis.stages.outermost", function()
  it("takes the outermost ranges for stages, in their order", function()
    assert.same({ { name = "prefill" }, { name = "decode" } }, stages_of "small/run.sqlite")
    assert.same({ { name = "prefill" }, { name = "decode" } }, stages_of "tiny_h200/run.sqlite")
  end)

  it("finds none where there are no ranges", function()
    assert.same({}, stages_of "odd/no_nvtx.sqlite")
  end)
end)
