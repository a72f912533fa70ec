local digest = require "llmprof.digest"


describe("llmprof.digest", function()
  it("gives the digest of any bytes", function()
    assert.equal("ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=",
      digest.base64(digest.sha256 "abc"))
    assert.equal(32, #digest.sha256 "")
    assert.not_equal(digest.sha256 "a", digest.sha256 "a\0")
  end)

  it("writes Base64 of any bytes", function()
    assert.equal("", digest.base64 "")
    assert.equal("AP8K", digest.base64 "\0\255\n")
  end)

  it("takes text only", function()
    assert.error_matches(function() digest.sha256(nil) end, "bad argument #1 to 'sha256'")
    assert.error_matches(function() digest.base64 {} end, "bad argument #1 to 'base64'")
  end)
end)
