local tables = require "llmprof.tables"

-- One declaration for every format.
local columns = {
  { key = "name", title = "kernel", type = "text", max = 12, code = true },
  { key = "calls", title = "calls", type = "integer" },
  { key = "total_ns", title = "total ms", scale = 1e-6, digits = 2 },
  { key = "std_ns", title = "std ms", scale = 1e-6, digits = 1 },
}

local rows = {
  { name = 'f<a, "b">|x', calls = 12345, total_ns = 1234567890, std_ns = 2500000 },
  { name = "a_very_long_kernel_name", calls = 1, total_ns = 5000 },
}


describe("llmprof.tables", function()
  it("writes Markdown", function()
    assert.equal([[
| kernel                          |  calls | total ms | std ms |
| :------------------------------ | -----: | -------: | -----: |
| <code>f&lt;a, "b"&gt;\|x</code> | 12,345 | 1,234.57 |    2.5 |
| `a_very_…name` [^k1]            |      1 |     0.01 |        |

[^k1]: `a_very_long_kernel_name`
]], tables.render("md", columns, rows))
  end)

  it("leaves an optional column out for people, where no row has it", function()
    local list = { columns[2], { key = "note", title = "", type = "text", optional = true } }
    local noted = { { calls = 1 }, { calls = 2, note = "late" } }
    assert.equal("| calls |\n| ----: |\n|     1 |\n", tables.render("md", list, { noted[1] }))
    assert.equal("calls\n    1\n    2  late\n", tables.render("table", list, noted))
    assert.equal("calls,note\n1,\n", tables.render("csv", list, { noted[1] }))
  end)

  it("writes HTML, with bars, short names and the ids that are asked for", function()
    local bars = table.move(columns, 1, #columns, 1, {})
    bars[5] = { key = "share", title = "share %", scale = 100, digits = 0, bar = true }
    local shares = { { name = rows[1].name, share = 0.256 }, { name = rows[2].name, share = 7 } }
    assert.equal([[
<table><thead><tr><th scope="col">kernel</th><th scope="col" class="n">calls</th>]]
      .. [[<th scope="col" class="n">total ms</th><th scope="col" class="n">std ms</th>]]
      .. [[<th scope="col" class="n">share %</th></tr></thead>
<tbody>
<tr id="row-26"><td><code>f&lt;a, &quot;b&quot;&gt;|x</code></td><td class="n"></td>]]
      .. [[<td class="n"></td><td class="n"></td><td class="n w26">26</td></tr>
<tr><td><span title="a_very_long_kernel_name"><code>a_very_…name</code></span></td>]]
      .. [[<td class="n"></td><td class="n"></td><td class="n"></td>]]
      .. [[<td class="n w100">700</td></tr>
</tbody></table>
]], tables.render("html", bars, shares, { row = function(row)
      return row.share < 1 and ' id="row-26"' or ""
    end }))
  end)

  it("keeps a name like a book out of a page", function()
    local page = tables.render("html", columns, { { name = ("x"):rep(20000) } })
    assert.is_true(#page < 1500)
  end)

  it("writes a table for the terminal", function()
    assert.equal([[
kernel         calls  total ms  std ms
f<a, "b">|x   12,345  1,234.57     2.5
a_very_…name       1      0.01
]], tables.render("table", columns, rows))
  end)

  it("writes ids without thousands separators", function()
    local ids = { { key = "pid", title = "PID", type = "id" },
      { key = "name", title = "name", type = "text" } }
    local row = { { pid = 1234567, name = "x" }, { name = "y" } }
    assert.equal("    PID  name\n1234567  x\n         y\n", tables.render("table", ids, row))
  end)

  it("writes CSV named by key with the rows' own values", function()
    assert.equal('name,calls,total_ns,std_ns\n'
      .. '"f<a, ""b"">|x",12345,1234567890,2500000\n'
      .. 'a_very_long_kernel_name,1,5000,\n', tables.render("csv", columns, rows))
  end)

  it("writes JSON in the order of the columns, absent as null", function()
    assert.equal([=[
[
  {
    "name": "f<a, \"b\">|x",
    "calls": 12345,
    "total_ns": 1234567890,
    "std_ns": 2500000
  },
  {
    "name": "a_very_long_kernel_name",
    "calls": 1,
    "total_ns": 5000,
    "std_ns": null
  }
]
]=], tables.render("json", columns, rows))
  end)

  it("writes no rows as a header", function()
    assert.equal("kernel  calls  total ms  std ms\n", tables.render("table", columns, {}))
    assert.equal("name,calls,total_ns,std_ns\n", tables.render("csv", columns, {}))
    assert.equal("[]\n", tables.render("json", columns, {}))
  end)

  it("rounds half away from zero, or as C does where asked", function()
    local function shown(value, exact)
      return tables.cell({ key = "a", digits = 1, exact = exact }, { a = value })
    end
    assert.same({ "0.3", "0.2" }, { shown(0.25), shown(0.25, true) })
    assert.same({ "-1.3", "-1.2" }, { shown(-1.25), shown(-1.25, true) })
    assert.same({ "inf", "-inf" }, { shown(math.huge), shown(-math.huge) })
  end)

  it("keeps numbers whole in CSV", function()
    local function csv(value)
      return tables.render("csv", { { key = "a", title = "a" } }, { { a = value } })
    end
    assert.equal("a\n0.1\n", csv(0.1))
    assert.equal("a\n0.3\n", csv(0.1 + 0.2))
    assert.equal("a\n9007199254740993\n", csv(9007199254740993))
  end)

  it("has no control characters in CSV, and no formulas where that is asked for", function()
    local columns_here = { { key = "a", title = "=a", type = "text" }, { key = "n", title = "n" } }
    local row = { { a = "=cmd|' /C calc'!A0", n = -5 }, { a = "\27]0;x\7\r\n+1\u{202e}", n = 1 },
      { a = "-2.5" }, { a = "@x" }, { a = "\t=x" } }
    local escaped = '\n"\u{fffd}]0;x\u{fffd}\n+1\\u{202e}",1\n-2.5,\n'
    assert.equal("a,n\n=cmd|' /C calc'!A0,-5" .. escaped .. "@x,\n\t=x,\n",
      tables.render("csv", columns_here, row))
    assert.equal("a,n\n'=cmd|' /C calc'!A0,-5" .. escaped .. "'@x,\n'\t=x,\n",
      tables.render("csv", columns_here, row, { safe = true }))
  end)

  it("fits the terminal", function()
    local list = { { key = "n", title = "n" }, { key = "text", title = "text", type = "text" } }
    local row = { { n = 1, text = "abcdefghijklmnopqrstuvwxyz0123456789" } }
    assert.equal("n  text\n1  abcdefghijklmn…3456789\n", tables.render("table", list, row,
      { columns = 25 }))
  end)

  describe("on a narrow terminal", function()
    local wide = {
      { key = "n", title = "n" }, { key = "name", title = "kernel", type = "text" },
      { key = "none", title = "part", type = "text" }, { key = "calls", title = "calls" },
      { key = "share", title = "share %" },
      { key = "full", title = "full name", type = "text", lesser = true } }
    local list = { { n = 1, name = ("k"):rep(30), calls = 20, share = 3,
      full = ("long "):rep(20) } }

    it("leaves out lesser columns, empty ones, then those at the right, and says so", function()
      local text = tables.render("table", wide, list, { columns = 54 })
      assert.equal(("n  kernel%s  calls  share %%\n1  %s     20        3\n"):format((" "):rep(24),
        ("k"):rep(30)) .. "2 columns do not fit here: part, full name. A wider\n"
        .. "terminal, a file or a pipe gets all.\n", text)
      text = tables.render("table", wide, list, { columns = 42, more = "Ask." })
      assert.matches("^n  kernel +calls\n1  k+ +20\n3 columns do not fit", text)
      assert.matches("part, share %%, full name. Ask.\n$", (text:gsub("\n(.)", " %1")))
      for line in text:gmatch "[^\n]+" do assert.is_true(#line <= 42) end
    end)

    it("cuts names where that saves a column", function()
      local short = { wide[1], wide[2], wide[4], wide[5] }
      assert.equal("n  kernel                     calls  share %\n"
        .. "1  kkkkkkkkkkkkkkkk…kkkkkkkk     20        3\n",
        tables.render("table", short, list, { columns = 44 }))
    end)

    it("wraps a text that says so", function()
      local help = { { key = "a", title = "a", type = "text" },
        { key = "b", title = "b", type = "text", wraps = true } }
      assert.equal("a    b\none  aaaa bbbb cccc\n     dddd eeee\ntwo  x\n", tables.render("table",
        help, { { a = "one", b = "aaaa bbbb cccc dddd eeee" }, { a = "two", b = "x" } },
        { columns = 20 }))
    end)

    it("gives files and pipes everything", function()
      assert.matches("full name\n", tables.render("table", wide, list), 1, true)
      assert.matches("full\n", tables.render("csv", wide, list, { columns = 20 }), 1, true)
    end)
  end)

  it("does not pad every row for a text that is long beyond reason", function()
    local list = { { key = "a", title = "a", type = "text" }, { key = "b", title = "b" } }
    local long = ("x"):rep(300000)
    local said = tables.render("table", list, { { a = long, b = 1 }, { a = "y", b = 2 } })
    assert.matches("\n" .. long .. "  1\n", said, 1, true)
    assert.is_true(#said < #long + 10000)
  end)

  it("aligns by display width and shows no control characters", function()
    local list = { { key = "a", title = "a", type = "text" }, { key = "b", title = "b" } }
    assert.equal("a     b\n日本  1\né     2\n", (tables.render("table", list,
      { { a = "日本", b = 1 }, { a = "é\n", b = 2 } })))
  end)
end)
