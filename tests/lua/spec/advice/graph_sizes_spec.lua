local rank_record = require "tests.lua.support.rank_record"

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
end)
