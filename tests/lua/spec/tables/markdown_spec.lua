local markdown = require "llmprof.markdown"

local columns = {
  { title = "Kernel", max = 16, code = true },
  { title = "Time (ms)", align = "right" },
  { title = "Bound", align = "center" },
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
| Kernel                   | Time (ms) |  Bound  |
| :----------------------- | --------: | :-----: |
| `gemm`                   |  1,234.50 | compute |
| `void at::n…rams)` [^k1] |      0.25 |         |
| `void at::n…rams)` [^k1] |        -1 |         |
| <code>f(a\|b)</code>     |           |   中    |
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

  it("counts a footnote once, and does not widen a table by a long cell", function()
    local rows = {}
    for i = 1, 200 do rows[i], rows[200 + i] = { "kernel<" .. i }, { "kernel<" .. i } end
    local _, notes, count = markdown.table({ { title = "k", max = 5 } }, rows)
    assert.equal(200, count)
    assert.is_truthy(notes:find("[^k200]: kernel&lt;200\n", 1, true))
    local got = markdown.table({ { title = "k" } }, { { ("x"):rep(20000) }, { "y" } })
    assert.equal(3 * (100 + 5) + 20000 + 5, #got)
  end)

  local function each(render, cases)
    for _, case in ipairs(cases) do assert.equal(case[2], render(case[1]), case[1]) end
  end

  it("escapes text", function()
    each(markdown.escape, { { "", "" }, { "plain text, 1.5", "plain text, 1.5" },
      { "a<b> && &amp;", "a&lt;b&gt; &amp;&amp; &amp;amp;" },
      { "*p[0] `x` ~T $1 a|b c\\d", "\\*p\\[0] \\`x\\` \\~T \\$1 a\\|b c\\\\d" },
      { "vector_add__2", "vector_add__2" }, { "_Z3f_ __init__", "\\_Z3f\\_ \\_\\_init\\_\\_" },
      { "中_x", "中\\_x" }, { "a\nb\r\nc\rd\n", "a<br>b<br>c<br>d<br>" },
      { "  a b ", "&nbsp;&nbsp;a b&nbsp;" }, { "a\tb", "a b" }, { "   ", "&nbsp;&nbsp;&nbsp;" },
      { "\27[0m\xff", "\u{fffd}\\[0m\u{fffd}" }, { "https://a.b/_c", "https:\\//a.b/\\_c" },
      { "www.a.b C:/x", "www\\.a.b C:/x" } })
  end)

  it("escapes what means something where a line starts", function()
    each(markdown.escape, { { "# a", "\\# a" }, { "C #", "C \\#" }, { "C# a#1", "C# a#1" },
      { "- a", "\\- a" }, { "-1", "-1" }, { "---", "\\---" }, { "-", "\\-" }, { "+ a", "\\+ a" },
      { "a - b", "a - b" }, { "===", "\\===" }, { "1. a", "1\\. a" }, { "12) a", "12\\) a" },
      { "1.5 ms", "1.5 ms" }, { "a 1. b", "a 1. b" }, { "1.", "1\\." },
      { "1234567890. a", "1234567890. a" } })
    assert.equal("| k   |\n| :-- |\n| # a |\n| 1.  |\n",
      (markdown.table({ { title = "k" } }, { { "# a" }, { "1." } })))
  end)

  it("fences code", function()
    each(markdown.code, { { "", "" }, { "void f<4>(int*)", "`void f<4>(int*)`" },
      { "a`b", "``a`b``" }, { "`a``", "``` `a`` ```" }, { " a ", "`  a  `" }, { " a", "` a`" },
      { "  ", "`  `" }, { "a\\", "`a\\`" }, { "a\tb\1", "`a b\u{fffd}`" },
      { "a|*b", "<code>a\\|\\*b</code>" }, { "a\n`b`", "<code>a<br>\\`b\\`</code>" } })
  end)
end)
