local bars = require "llmprof.tables.bars"

describe("llmprof.tables.bars", function()
  it("draws in steps of an eighth of a column", function()
    assert.same({ "████", "██", "█▌", "▏", "" }, { bars.bar(1, 4), bars.bar(0.5, 4),
      bars.bar(0.375, 4), bars.bar(1 / 32, 4), bars.bar(0, 4) })
  end)

  it("shows something for anything above nothing", function()
    assert.equal("▏", bars.bar(1e-9, 4))
  end)
end)
