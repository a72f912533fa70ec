-- How collectives lie among the kernels of a stage.
local categories = require "llmprof.analysis.kernels.categories"
local breakdown = require "llmprof.analysis.stages.breakdown"
local timeline = require "tests.lua.support.timeline"

local COUNT = 8

-- COUNT layers of one kernel and `each` all-reduces behind it, on this stream.
local function told(each, stream, beside)
  local lines, at = { "knows calls", "device 0 H200" }, 1000
  for _ = 1, COUNT do
    lines[#lines + 1] = ("kernel %d %d gemm"):format(at, at + 100)
    for i = 1, each do
      local from = (beside and at or at + 100) + 10 * i
      lines[#lines + 1] = ("kernel %d %d grid=24,1,1 stream=%d ncclDevKernel_AllReduce"):format(
        from, from + 10, stream)
    end
    at = at + 200
  end
  local frame = assert(timeline.of(table.concat(lines, "\n") .. "\n"):frame "kernels")
  categories.marker(nil, categories.COMMUNICATION)(frame, "name", "is_collective")
  return breakdown.collectives(frame, 2)
end

describe("collectives of a stage", function()
  it("are in a row where nothing lies between them", function()
    assert.same({ calls = 16, in_row = 12, p50_ns = 10 }, told(4, 7))
    assert.equal(0, told(1, 7).in_row)
  end)

  it("may have a stream of their own, and nothing beside them", function()
    assert.same({ calls = 8, ns = 80, alone_ns = 80, blocks = 24 }, told(2, 9).own)
    assert.same({ calls = 8, ns = 80, alone_ns = 0, blocks = 24 }, told(2, 9, true).own)
  end)
end)
