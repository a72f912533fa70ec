local range_name = require "llmprof.trace.nvtx_names"


describe("llmprof.trace.nvtx_names", function()
  it("escapes what means something to ncu", function()
    assert.equal("decode/", range_name.ncu_filter "decode")
    assert.equal("a\\/b\\*c\\@d\\,e\\[f\\]g\\+/", range_name.ncu_filter "a/b*c@d,e[f]g+")
  end)

  it("knows a stage by its text, whatever its domain is called", function()
    for _, name in ipairs { "decode", "LLM:decode", "my engine:decode", "domain 77:decode",
      "DECODE", "LLM:Decode" } do
      assert.equal("decode", range_name.role(name), name)
    end
    assert.equal("worker: decode", range_name.role "worker: decode")
  end)

  it("writes a range of a domain as each tool wants it", function()
    assert.equal("LLM@decode_all/", range_name.ncu_filter "LLM:decode_all")
    assert.equal("decode_all@LLM", range_name.nsys_capture "LLM:decode_all")
    assert.equal("decode_all@LLM", range_name.nsys_capture "decode_all@LLM")
    assert.equal("decode", range_name.nsys_capture "decode")
  end)

  it("takes a colon for text where the range is in the default domain", function()
    assert.equal("step:1/", range_name.ncu_filter("step:1", true))
    assert.equal("step: 1/", range_name.ncu_filter "step: 1")
  end)

  it("knows whose steps make tokens", function()
    assert.same({ "token", "token", "step" }, { range_name.step "decode",
      range_name.step "LLM:decode", range_name.step "denoise" })
  end)

  it("reads a stage's name in the tools' form", function()
    assert.equal("LLM:prefill", range_name.canonical "LLM@prefill")
    assert.equal("prefill", range_name.canonical "prefill")
    assert.equal("a@b@c", range_name.canonical "a@b@c")
  end)
end)
