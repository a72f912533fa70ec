local fitted = require "llmprof.tables.fit"

describe("llmprof.tables.fit", function()
  it("draws in steps of an eighth of a column", function()
    assert.same({ "████", "██", "█▌", "▏", "" }, { fitted.bar(1, 4), fitted.bar(0.5, 4),
      fitted.bar(0.375, 4), fitted.bar(1 / 32, 4), fitted.bar(0, 4) })
  end)

  it("shows something for anything above nothing", function()
    assert.equal("▏", fitted.bar(1e-9, 4))
  end)
end)
