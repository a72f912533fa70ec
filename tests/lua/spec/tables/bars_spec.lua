local tables = require "llmprof.tables"

describe("a bar", function()
  it("draws in steps of an eighth of a column", function()
    assert.same({ "████", "██", "█▌", "▏", "" }, { tables.bar(1, 4), tables.bar(0.5, 4),
      tables.bar(0.375, 4), tables.bar(1 / 32, 4), tables.bar(0, 4) })
  end)

  it("shows something for anything above nothing", function()
    assert.equal("▏", tables.bar(1e-9, 4))
  end)
end)
