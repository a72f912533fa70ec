local keys = require "llmprof.tables.keys"

describe("llmprof.tables.keys", function()
  local words = { "stats", "export", "doctor", "infer.batch" }

  it("finds what was meant", function()
    assert.equal("stats", keys.nearest("stat", words))
    assert.equal("stats", keys.nearest("STATS", words))
    assert.equal("export", keys.nearest("exprot", words))
    assert.equal("doctor", keys.nearest("doktor", words))
    assert.equal("infer.batch", keys.nearest("batch", words))
  end)

  it("finds nothing far away", function()
    assert.is_nil(keys.nearest("profile", words))
    assert.is_nil(keys.nearest("", words))
    assert.is_nil(keys.nearest("x", {}))
    assert.is_nil(keys.nearest("c", { "a", "b" }))
    assert.is_nil(keys.nearest("xy", { "ab" }))
    assert.is_nil(keys.nearest("count", { "bound" }))
  end)

  it("takes the first of equals by the alphabet", function()
    assert.equal("cat", keys.nearest("bat", { "rat", "cat" }))
  end)

  it("words a suggestion", function()
    assert.equal(" (did you mean 'stats'?)", keys.suggestion("stast", words))
    assert.equal("", keys.suggestion("profile", words))
  end)
end)
