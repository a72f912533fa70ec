local side = require "llmprof.compare.side"
local failure = require "tests.lua.support.failure"
local traces = require "tests.lua.support.traces"

describe("llmprof.compare.side", function()
  it("takes the whole run where there are none", function()
    local results = side.trace_results "tests/fixtures/odd/no_nvtx.sqlite"
    assert.same({ { name = "whole run", kernels = 78, launches = 28 } },
      traces.pick(results.stages, "name", "kernels", "launches"))
  end)

  it("analyses the trace", function()
    local results = side.trace_results "tests/fixtures/graphs/node.sqlite"
    assert.same({ { name = "prefill", kernels = 6, launches = 6 },
      { name = "decode", kernels = 30, launches = 5 } },
      traces.pick(results.stages, "name", "kernels", "launches"))
    assert.same({ "node.sqlite", "none", "trace" },
      { results.run.id, results.run.recipe, results.source.timeline.from })
  end)

  it("refuses a trace with nothing in it", function()
    local path = "tests/fixtures/odd/nothing.sqlite"
    assert.same({ "nothing", path .. ": no GPU operation and no NVTX range: nothing to compare" },
      failure(side.trace_results, path))
  end)
end)
