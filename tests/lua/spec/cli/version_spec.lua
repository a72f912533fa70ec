local version = require "llmprof.version"

describe("llmprof.version", function()
  it("tells what this build is", function()
    assert.matches("^%d+%.%d+%.%d+$", version.version)
    assert.matches("^%a+ %d+%.", version.compiler)
  end)
end)
