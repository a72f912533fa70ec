local rank_record = require "tests.lua.support.rank_record"
local support = require "tests.lua.support.advice"

local engine, said, steps = rank_record.engine, rank_record.said, rank_record.steps

describe("advice graph_sizes", function()
  it("finds batches outside of graphs, padded ones, and no graphs at all", function()
    assert.equal("", said("graph_sizes", engine()))
    assert.truthy(said("graph_sizes", engine { steps = { steps(), steps { batch = 300, count = 10,
      graphed = 0 } } }):find("batches 300", 1, true))
    assert.truthy(said("graph_sizes", engine { steps = { steps { graphed = 0 } } }):find(
      "^decode runs without CUDA graphs"))
    assert.truthy(said("graph_sizes", engine { steps = { steps { batch = 5 } },
      padded = { { batch = 5, as = 8 } } }):find("5 as 8", 1, true))
  end)

  it("reads the rows of a graph off its norms", function()
    local function with_rows(rows)
      return said("graph_sizes", engine { steps = { steps { batch = 5 } } }, { kernels = {
        support.kernel { category = "norm", shapes = {
          { grid = { rows, 1, 1 }, block = { 512, 1, 1 }, calls = 100, total_ns = 1e6 } } } } })
    end
    assert.truthy(with_rows(16):find("batches 5 as 16 at least", 1, true))
    assert.equal("", with_rows(5))
    assert.equal("", with_rows(3)) -- several rows a block
    assert.equal("", with_rows(15)) -- several blocks a row
  end)
end)
