local markdown = require "llmprof.markdown"

local columns = {
  { title = "Kernel", max = 16, code = true },
  { title = "Time (ms)", align = "right" },
  { title = "Bound" },
}

describe("llmprof.markdown", function()
  it("renders a table and its footnotes", function()
    local got, notes, count = markdown.table(columns, {
      { "gemm", "1,234.50", "compute" },
      { "void at::native::fill<4>(Params)", "0.25", false },
      { "void at::native::fill<4>(Params)", "-1" },
      { "f(a|b)", nil, "中" },
    })
    assert.equal([[
| Kernel                   | Time (ms) | Bound   |
| :----------------------- | --------: | :------ |
| `gemm`                   |  1,234.50 | compute |
| `void at::n…rams)` [^k1] |      0.25 |         |
| `void at::n…rams)` [^k1] |        -1 |         |
| <code>f(a\|b)</code>     |           | 中      |
]], got)
    assert.equal("[^k1]: `void at::native::fill<4>(Params)`\n", notes)
    assert.equal(1, count)
  end)

  it("lets footnotes of several tables go on counting", function()
    local one = { { title = "x", max = 2 } }
    local got, notes, count = markdown.table(one, { { "abc" }, { "abd" } },
      { prefix = "op", first = 5 })
    assert.equal([[
| x         |
| :-------- |
| a… [^op5] |
| a… [^op6] |
]], got)
    assert.equal("[^op5]: abc\n[^op6]: abd\n", notes)
    assert.equal(2, count)
  end)

  it("has no footnotes when nothing was shortened", function()
    local got, notes, count = markdown.table({ { title = "<b>" } }, {})
    assert.equal("| &lt;b&gt; |\n| :-------- |\n", got)
    assert.is_nil(notes)
    assert.equal(0, count)
  end)

  it("escapes text and code", function()
    assert.equal("\\# 1 &lt; 2", markdown.escape "# 1 < 2")
    assert.equal("`` a` ``", markdown.code "a`")
  end)

  it("refuses wrong arguments", function()
    local function refuses(message, ...)
      local arguments = table.pack(...)
      assert.has_error(function()
        markdown.table(table.unpack(arguments, 1, arguments.n))
      end, message)
    end
    local one = { { title = "a" } }
    refuses("bad argument #1 to 'table' (table expected, got nil)", nil, {})
    refuses("bad argument #1 to 'table' (no columns)", {}, {})
    refuses("column 1 is not a table", { "a" }, {})
    refuses("column 1 has no title", { {} }, {})
    refuses("invalid align 'top'", { { title = "a", align = "top" } }, {})
    refuses("option 'max': integer expected, got string", { { title = "a", max = "x" } }, {})
    refuses("'max' must not be negative", { { title = "a", max = -1 } }, {})
    refuses("row 1 is not a table", one, { "a" })
    refuses("row 2, column 1: string expected, got number", one, { { "a" }, { 1 } })
    refuses("row 1, column 1: string expected, got boolean", one, { { true } })
    refuses("row 1 has 2 cells for 1 columns", one, { { "a", "b" } })
    refuses("bad argument #3 to 'table' (option 'prefix': letters and digits expected)",
      one, {}, { prefix = "a]" })
    refuses("bad argument #3 to 'table' (option 'first' must not be negative)",
      one, {}, { first = -1 })
  end)
end)
