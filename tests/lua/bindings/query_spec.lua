-- llmprof.frame and the methods that make frames of frames.
local frame = require "llmprof.frame"

local function made()
  return frame.new(4, {
    { name = "name", type = "string", values = { "b", "a", "b" } },
    { name = "size", type = "integer", unit = "bytes", values = { 3, 1, false, 2 } },
    { name = "rate", type = "number", values = { 0.5, -1, 2 } },
  })
end


-- A column as one string, absent values as "-".
local function column(f, name)
  local texts = {}
  for i, value in ipairs(f:values(name)) do texts[i] = value and tostring(value) or "-" end
  return table.concat(texts, " ")
end


local function raises(message, f, ...)
  local ok, got = pcall(f, ...)
  assert.is_false(ok)
  assert.equal(message, (got:gsub("^[%w_/.]+:%d+: ", "")))
end


describe("frame:within", function()
  local function events()
    return frame.new(4, {
      { name = "start", type = "integer", values = { 10, 40, 20, 30 } },
      { name = "end", type = "integer", values = { 15, 45, 50, 35 } },
      { name = "tid", type = "integer", values = { 1, 2, 2, 1 } },
      { name = "name", type = "string", values = { "a", "b", "c", "d" } },
    })
  end

  it("gives the rows that lie within an interval, once for each", function()
    local inside = events():within { { start = 0, stop = 40 }, { start = 10, stop = 50 } }
    assert.equal("a d a c d b", column(inside, "name"))
    assert.equal("", column(events():within {}, "name"))
  end)

  it("may ask for what else a row must have", function()
    local inside = events():within({ { start = 0, stop = 100, tid = 2 } }, "tid")
    assert.equal("c b", column(inside, "name"))
  end)

  it("says what is wrong with an interval", function()
    local f = events()
    raises("an interval is a table", f.within, f, { 1 })
    raises("an interval has an integer 'stop'", f.within, f, { { start = 1 } })
    raises("an interval has an integer 'tid'", f.within, f, { { start = 1, stop = 2 } }, "tid")
    raises("column 'name' does not hold integers", f.within, f, {}, "name")
    raises("no column 'start' here", made().within, made(), {})
  end)
end)


describe("frame.new", function()
  it("makes columns of every type", function()
    local f = made()
    assert.same({ 4, "b a b -", "3 1 - 2", "0.5 -1.0 2.0 -" },
      { #f, column(f, "name"), column(f, "size"), column(f, "rate") })
    assert.same({ { name = "name", type = "string" },
      { name = "size", type = "integer", unit = "bytes" }, { name = "rate", type = "number" } },
      f:columns())
  end)

  it("may be empty", function()
    assert.equal(0, #frame.new(0, {}))
    assert.equal("", column(frame.new(0, { { name = "n", type = "integer", values = {} } }), "n"))
  end)

  it("refuses what does not fit", function()
    local function one(declared) return frame.new, 1, { declared } end
    raises("column 'n', row 1: a string does not fit",
      one { name = "n", type = "integer", values = { "x" } })
    raises("column 'n', row 1: a number does not fit",
      one { name = "n", type = "integer", values = { 1.5 } })
    raises("column 'n', row 1: a number does not fit",
      one { name = "n", type = "integer", values = { math.mininteger } })
    raises("column 'n', row 1: a number does not fit",
      one { name = "n", type = "string", values = { 1 } })
    raises("column 'n', row 1: a boolean does not fit",
      one { name = "n", type = "number", values = { true } })
    raises("column 'n': no type 'real'", one { name = "n", type = "real", values = {} })
    raises("column 'n' has no values", one { name = "n", type = "number" })
    raises("a column has a name and a type", one { name = "n" })
    raises("a list of columns expected", one(7))
    raises("bad argument #1 to 'llmprof.frame.new' (a number of rows)", frame.new, -1, {})
  end)
end)


describe("rows", function()
  it("are taken, sliced and selected", function()
    assert.equal("2 3 2", column(made():take { 4, 1, 4 }, "size"))
    assert.equal("1 -", column(made():slice(2, 3), "size"))
    assert.equal("3 1 - 2", column(made():slice(-5, 99), "size"))
    assert.equal("", column(made():slice(3, 2), "size"))
    assert.same({ "rate", "name" }, { made():select({ "rate", "name" }):columns()[1].name,
      made():select({ "rate", "name" }):columns()[2].name })
  end)

  it("are those that are there", function()
    for _, row in ipairs { 0, 5, "x", 1.5 } do
      raises("bad argument #2 to '?' (no such row)", made().take, made(), { row })
    end
    raises("no column 'nme' here", made().select, made(), { "nme" })
  end)

  it("are sorted", function()
    assert.equal("1 2 3 -", column(made():sort { { "size" } }, "size"))
    assert.equal("3 2", column(made():sort({ { "size", true } }, 2), "size"))
    assert.equal("a b b -", column(made():sort { { "name" }, { "size", true } }, "name"))
    raises("bad argument #2 to '?' ({ column, descending } expected)", made().sort, made(),
      { "size" })
    raises("bad argument #3 to '?' (a number of rows expected)", made().sort, made(), {}, -1)
  end)

  it("outlive the frame they were taken from", function()
    local view = made():sort({ { "size" } }):slice(1, 2):select { "name", "size" }
    collectgarbage()
    assert.same({ "a -", "1 2" }, { column(view, "name"), column(view, "size") })
  end)
end)


describe("groups", function()
  it("become frames", function()
    local groups = made():group { by = { "name" }, columns = { { "n", "count" },
      { "size", "sum", "size" }, { "p", "percentile", "rate", 50 },
      { "d", "distinct", "rate" } } }
    assert.same({ "b a -", "2 1 1", "3 1 2", "1.25 -1.0 -", "2 1 0" },
      { column(groups, "name"), column(groups, "n"), column(groups, "size"),
        column(groups, "p"), column(groups, "d") })
    assert.equal("bytes", groups:columns()[3].unit)
  end)

  it("refuse what cannot be computed", function()
    local function of(one) return made().group, made(), { by = { "name" }, columns = { one } } end
    raises("an aggregate has a name", of { 7, "count" })
    raises("no statistic 'average'", of { "x", "average", "size" })
    raises("of which column?", of { "x", "sum" })
    raises("column 'name' holds strings, not numbers", of { "x", "sum", "name" })
    raises("a percentile is between 0 and 100", of { "x", "percentile", "size", 101 })
    raises("an aggregate is { name, statistic, column, percentile }", of "sum")
    raises("option 'columns' is a list of columns", made().group, made(), { columns = "sum" })
  end)

  it("say when a sum does not fit", function()
    local f = frame.new(2, { { name = "n", type = "integer",
      values = { math.maxinteger, 1 } } })
    local ok, err = pcall(f.group, f, { columns = { { "n", "sum", "n" } } })
    assert.is_false(ok)
    assert.same({ "failed", "total of column 'n' is too large", "range" },
      { err.kind, err.message, err.code })
  end)

  it("get columns of their own", function()
    local f = made():extend({ "name" }, 3, { { name = "kind", type = "string",
      values = { "second", "first" } }, { name = "place", type = "number", values = { 2, 1, 9 } } })
    collectgarbage()
    assert.same({ "second first second -", "2.0 1.0 2.0 9.0" },
      { column(f, "kind"), column(f, "place") })
    assert.equal("3 -", column(f:where { kind = "second" }, "size"))
    assert.equal("first second second -", column(f:sort { { "kind" } }, "kind"))
    local ok, failure = pcall(f.extend, f, { "name" }, 2, {})
    assert.same({ false, "3 groups, not 2", "range" }, { ok, failure.message, failure.code })
  end)
end)


describe("llmprof.interrupt", function()
  local interrupt = require "llmprof.interrupt"

  it("protects as pcall does", function()
    assert.same({ true, 1, nil, 3, n = 4 }, table.pack(interrupt.protect(function()
      return 1, nil, 3
    end)))
    local err = {}
    assert.same({ false, err, n = 2 }, table.pack(interrupt.protect(function() error(err) end)))
    assert.is_false(interrupt.terminated())
  end)
end)


describe("database:columns", function()
  it("keeps the columns in order", function()
    local sqlite = require "llmprof.sqlite"
    local db = assert(sqlite.open "tests/fixtures/deepseek_ocr/run.sqlite")
    assert.same({ { { name = "z", values = { 1, 2 } }, { name = "a", values = { "x", false } } },
      2 }, { db:columns("SELECT 1 AS z, ? AS a UNION ALL SELECT 2, NULL", "x") })
    assert.same({ { { name = "n", values = {} } }, 0 }, { db:columns "SELECT 1 AS n WHERE 0" })
    raises("SQL statement wants 1 parameters, got 0", db.columns, db, "SELECT ?")
  end)
end)
