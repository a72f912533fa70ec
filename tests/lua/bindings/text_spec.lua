local text = require "llmprof.text"

local kernel = "void at::native::elementwise<4>(Params)"

-- What is made of texts and numbers is tested in C: here is what is asked for, and how.
describe("llmprof.text", function()
  it("measures, truncates, pads and wraps by columns", function()
    assert.equal(4, text.width "中文")
    assert.equal(2, text.width "a\0\27b")
    assert.equal("void at::nati…Params)", text.truncate(kernel, 21))
    assert.equal("void at::nati…Params)", text.truncate(kernel, 21, "middle"))
    assert.equal("void at::native::ele…", text.truncate(kernel, 21, "end"))
    assert.equal("中  |", text.pad("中", 4) .. "|")
    assert.equal("  中", text.pad("中", 4, "right"))
    assert.same({ "one", "", "two" }, text.wrap("one\n\ntwo\n", 8))
    assert.same({}, text.wrap("", 5))
  end)

  it("cleans what would move a terminal's cursor", function()
    assert.equal("a b �[31mc", text.clean "a\tb\n\27[31mc")
    assert.equal("a\tb\n�[31mc", text.clean_lines "a\tb\n\27[31mc")
  end)

  it("shows numbers", function()
    assert.equal("3", text.number(2.5))
    assert.equal("0.13", text.number(0.125, 2))
    assert.equal("1,234,567.50", text.number(1234567.5, 2, ","))
    assert.equal("9223372036854775807", text.number(math.maxinteger))
    assert.equal("-9,223,372,036,854,775,808", text.count(math.mininteger))
    assert.equal("35,512", text.count(35512.0))
    assert.equal("35512", text.count(35512, ""))
    assert.equal("1245.00 µs", text.duration(1245000, { unit = "us" }))
    assert.equal("127,771.6", text.duration(127771591377,
      { unit = "ms", digits = 1, separator = ",", bare = true }))
    assert.equal("150.75 GB", text.bytes(150754820096))
    assert.equal("140.40 GiB", text.bytes(150754820096, { binary = true }))
    assert.equal("12,345.6 tok/s", text.rate(12345.5625, "tok/s",
      { unit = "", digits = 1, separator = "," }))
    assert.equal("35.2%", text.percent(0.35156))
    assert.equal("100%", text.percent(1, 0))
  end)

  it("gives a column one unit", function()
    assert.equal("us", text.unit("duration", 999600, 1))
    assert.equal("ms", text.unit("duration", 999600, 0))
    assert.equal("GB", text.unit("bytes", 5e9))
    assert.equal("GiB", text.unit("binary", 5e9))
    assert.equal("T", text.unit("rate", 5e12))
  end)

  it("refuses what is not a finite number", function()
    for _, bad in ipairs { 0 / 0, 1 / 0, -1 / 0 } do
      assert.has_error(function() text.number(bad) end,
        "bad argument #1 to 'number' (number is not finite)")
    end
    assert.has_error(function() text.duration(nil) end,
      "bad argument #1 to 'duration' (number expected, got nil)")
    assert.has_error(function() text.count(1.5) end,
      "bad argument #1 to 'count' (number has no integer representation)")
  end)

  it("refuses wrong arguments", function()
    assert.has_error(function() text.number(1, 21) end,
      "bad argument #2 to 'number' (digits must be 0 to 20)")
    assert.has_error(function() text.duration(1, { digits = -2 }) end,
      "bad argument #2 to 'duration' (digits must be 0 to 20)")
    assert.has_error(function() text.duration(1, { unit = "min" }) end,
      "bad argument #2 to 'duration' (no unit 'min' here)")
    assert.has_error(function() text.bytes(1, { unit = "kB", binary = true }) end,
      "bad argument #2 to 'bytes' (no unit 'kB' here)")
    assert.has_error(function() text.truncate("a", -1) end,
      "bad argument #2 to 'truncate' (columns must be 0 to 1048576)")
    assert.has_error(function() text.truncate("a", 1, "left") end,
      "bad argument #3 to 'truncate' (invalid option 'left')")
    assert.has_error(function() text.pad("a", 1 << 60) end,
      "bad argument #2 to 'pad' (columns must be 0 to 1048576)")
    assert.has_error(function() text.unit("percent", 1) end,
      "bad argument #1 to 'unit' (invalid option 'percent')")
  end)
end)
