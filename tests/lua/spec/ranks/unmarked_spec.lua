-- Steps of several ranks that nothing marks, and layers beside which other collectives run.
local decoding = require "tests.lua.support.decoding"
local rank_view = require "llmprof.analysis.serving.ranks"
local ranks = require "llmprof.ranks"
local timeline = require "tests.lua.support.timeline"

local function examine(given)
  local trace = timeline.of(decoding.lines(given))
  return (ranks.examine({ rank_view.part(trace, "run.sqlite", rank_view.knowledge()) }, {}))
end

local function layers_of(record)
  local seen, count = {}, 0
  for _, layer in ipairs(record.layers) do
    if layer.layer and layer.phase == "decode" and not seen[layer.layer] then
      seen[layer.layer], count = true, count + 1
    end
  end
  return count
end

describe("steps that nothing marks", function()
  it("are inferred for each of several ranks", function()
    local record = examine { ranks = 2, layers = 4, steps = 12 }
    assert.equal("inferred", record.source)
    for _, group in ipairs(record.stages) do
      if group.phase == "decode" then
        assert.equal(2, #group.ranks)
        assert.truthy(group.count >= 10)
        assert.truthy(math.abs(group.mean_ns - 190000) < 20000) -- 10 kernels, 8 all-reduces
      end
    end
    assert.equal(12 * 8, record.totals.matched)
  end)

  it("are none where nothing is regular", function()
    assert.is_nil(examine({ ranks = 2, layers = 4, steps = 1 }).source)
  end)
end)

describe("layers", function()
  it("are told though an all-gather runs beside them, elsewhere in each step", function()
    local record = examine { ranks = 2, layers = 6, steps = 12, marked = true,
      beside = function(step) return step % 6 end }
    assert.equal("labels", record.source)
    assert.equal(6, layers_of(record))
    assert.equal(12 * 12 + 12, record.totals.matched)
    local all = 0
    for _, layer in ipairs(record.layers) do -- the all-gathers are of no layer
      assert.equal(layer.layer and 2 * 2 * 12 or 2 * 12, layer.collectives)
      all = all + layer.collectives
    end
    assert.equal(record.totals.count, all)
  end)

  it("are the same without", function()
    assert.equal(6, layers_of(examine { ranks = 2, layers = 6, steps = 12, marked = true }))
  end)
end)
