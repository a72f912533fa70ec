local nearest = require "llmprof.tables.suggest"

describe("llmprof.tables.suggest", function()
  local words = { "stats", "export", "doctor", "infer.batch" }

  it("finds what was meant", function()
    assert.equal("stats", nearest.find("stat", words))
    assert.equal("stats", nearest.find("STATS", words))
    assert.equal("export", nearest.find("exprot", words))
    assert.equal("doctor", nearest.find("doktor", words))
    assert.equal("infer.batch", nearest.find("batch", words))
  end)

  it("finds nothing far away", function()
    assert.is_nil(nearest.find("profile", words))
    assert.is_nil(nearest.find("", words))
    assert.is_nil(nearest.find("x", {}))
    assert.is_nil(nearest.find("c", { "a", "b" }))
    assert.is_nil(nearest.find("xy", { "ab" }))
    assert.is_nil(nearest.find("count", { "bound" }))
  end)

  it("takes the first of equals by the alphabet", function()
    assert.equal("cat", nearest.find("bat", { "rat", "cat" }))
  end)

  it("words a suggestion", function()
    assert.equal(" (did you mean 'stats'?)", nearest.suggestion("stast", words))
    assert.equal("", nearest.suggestion("profile", words))
  end)
end)
