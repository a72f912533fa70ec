-- The query language: what it says to mistakes.
local bundle = require "tests.lua.support.bundle"
local failure = require "tests.lua.support.failure"
local small = require "tests.lua.support.query"


-- The message and hint of what a method of the little frame raises.
local function said(method, ...)
  local frame, words = small(), table.pack(...)
  local err = failure(function() return frame[method](frame, table.unpack(words, 1, words.n)) end)
  assert.equal("usage", err[1])
  return { err[2], err[3] }
end


describe("a column that is not there", function()
  local all = "columns: name stage duration rate"

  it("is named with the nearest", function()
    local message = { "no column 'durration' here (did you mean 'duration'?)", all }
    assert.same(message, said("where", { durration = 1 }))
    assert.same(message, said("where", "durration", ">", 1))
    assert.same(message, said("sort", "-durration"))
    assert.same(message, said("group", "durration"))
    assert.same(message, said("select", "name", "durration"))
    assert.same(message, said("sum", "durration"))
    assert.same(message, said("top", 3, "durration"))
    assert.same(message, said("hist", "durration"))
    assert.same(message, said("values", "durration"))
    assert.same({ "no column 'zzzzzzzz' here", all }, said("unique", "zzzzzzzz"))
    assert.same({ "a column's name is a string, not a number" }, said("sum", 7))
  end)

  it("may have been meant as a method", function()
    assert.same({ "usage", "no column or method 'wher' here (did you mean 'where'?)", all },
      failure(function() return small().wher end))
    assert.same({ "usage", "no column 'nme' here (did you mean 'name'?)", all },
      failure(function() return small()[1].nme end))
    assert.same({ "usage", "no column 'nme' here (did you mean 'name'?)", all },
      failure(function() return small():where(function(row) return row.nme end) end))
  end)
end)


describe("where", function()
  it("refuses what is no condition", function()
    assert.same({ "where: which rows?",
      'for example: where { stage = "decode" } or where("dur", ">", 1e6)' }, said("where"))
    assert.same({ "where: a condition is column = value or { column, comparison, value }",
      'for example: where { stage = "decode", { "dur", ">", 1e6 } }' }, said("where", { "decode" }))
    assert.same({ "where: no comparison '=>'", "there are == ~= < <= > >= ~ and !~" },
      said("where", "dur", "=>", 1))
    assert.same({ "where: column 'duration': compared with nothing",
      "false stands for an absent value" }, said("where", "dur", ">", nil))
  end)

  it("refuses values that do not fit the column", function()
    assert.same({ "where: column 'duration' holds integers, not a string" },
      said("where", { dur = "long" }))
    assert.same({ "where: column 'name' holds strings, not a number" }, said("where", { name = 1 }))
    assert.same({ "where: strings compare with == and ~= only" },
      said("where", "name", "<", "m"))
    assert.same({ "where: '~' looks for text; column 'duration' holds numbers" },
      said("where", "dur", "~", "1"))
    assert.same({ "where: < takes one number, not a table" }, said("where", "dur", "<", { 1, 2 }))
    assert.same({ "where: column 'rate': not a number" }, said("where", "rate", "<", 0 / 0))
  end)
end)


describe("what is left out", function()
  it("is asked for", function()
    assert.same({ "group: by which columns?", 'for example: group("name")' }, said "group")
    assert.same({ "sort: by which columns?", 'for example: sort("-dur", "name")' }, said "sort")
    assert.same({ "select: which columns?", 'for example: select("name", "dur")' }, said "select")
    assert.same({ "unique: of which columns?", 'for example: unique("name")' }, said "unique")
    assert.same({ "diff: with which other frame?", "a:diff(b)" }, said "diff")
    assert.same({ "with: a name and a function are expected",
      'for example: with("mean", function(r) return r.dur / r.count end, "ns")' },
      said("with", "x"))
  end)
end)


describe("numbers of rows", function()
  it("are whole and not negative", function()
    assert.same({ "head: a number of rows is expected" }, said("head", -1))
    assert.same({ "tail: a number of rows is expected" }, said("tail", 1.5))
    assert.same({ "head: a number of rows is expected" }, said("top", "dur"))
    assert.same({ "top: a number of rows is expected" }, said("top", {}, "dur"))
    assert.same({ "show: a number of rows is expected" }, said("show", "all"))
    assert.same({ "hist: one bin at least" }, said("hist", "dur", 0))
  end)
end)


describe("statistics", function()
  local function of_groups(method, ...)
    local group, words = small():group "stage", { ... }
    local err = failure(function() return group[method](group, table.unpack(words)) end)
    return { err[2], err[3] }
  end

  it("are of numbers", function()
    assert.same({ "sum: column 'name' holds text, not numbers" }, said("sum", "name"))
    assert.same({ "hist: column 'name' holds text, not numbers" }, said("hist", "name"))
    assert.same({ "plot: column 'name' holds text, not numbers" }, said("plot", "name"))
    assert.same({ "share: column 'name' holds text, not numbers" }, said("share", "name"))
    assert.same({ "top: column 'name' holds text, not numbers" }, said("top", 3, "name"))
    assert.same({ "mean: column 'name' holds text, not numbers" }, of_groups("mean", "name"))
    assert.same({ "stats: column 'name' holds text, not numbers" }, of_groups("stats", "name"))
  end)

  it("are of a column", function()
    assert.same({ "sum: of which column?", 'for example: sum("dur")' }, of_groups "sum")
  end)

  it("have percentiles between 0 and 100", function()
    local refused = { "percentile: a number between 0 and 100 is expected",
      'for example: percentile("dur", 99)' }
    assert.same(refused, said("percentile", "dur", 101))
    assert.same(refused, said("percentile", "dur"))
    assert.same(refused, of_groups("percentile", "dur", -1))
  end)

  it("are known by name in agg", function()
    local hint = 'for example: agg("count", "sum dur", "p99 dur"); there are '
      .. "count distinct sum mean median min max std and pN"
    assert.same({ "agg: 'average dur' is no statistic of a column", hint },
      of_groups("agg", "average dur"))
    assert.same({ "agg: 'sum' is no statistic of a column", hint }, of_groups("agg", "sum"))
    assert.same({ "agg: '' is no statistic of a column", hint }, of_groups "agg")
    assert.same({ "at most 8 percentiles" }, of_groups("agg", "p1 dur", "p2 dur", "p3 dur",
      "p4 dur", "p5 dur", "p6 dur", "p7 dur", "p8 dur", "p9 dur"))
  end)
end)


describe("hist and plot", function()
  it("need values", function()
    local none = small():where { name = "copy(A*)" }
    assert.same({ "usage", "hist: column 'duration' has no values" },
      failure(function() return none:hist "dur" end))
    assert.same({ "usage", "plot: column 'name' holds text, not numbers" },
      failure(function() return small():plot "name" end))
  end)
end)


describe("with", function()
  it("makes columns of numbers or text", function()
    assert.same({ "with: column 'x': a table is no value" },
      said("with", "x", function() return {} end))
  end)
end)


describe("diff", function()
  it("needs one row for each key", function()
    assert.same({ "diff: several rows of a frame have the same key", "group it by name first" },
      said("diff", small():group("name"):sum "dur"))
  end)

  it("needs common columns", function()
    local numbers = small():select "dur"
    assert.same({ "diff: the frames share no text column to match rows by",
      'for example: a:group("name"):sum("dur"):diff(b:group("name"):sum("dur"))' },
      said("diff", numbers))
    assert.same({ "diff: the frames share no column of numbers" },
      said("diff", small():unique "name"))
  end)
end)


describe("save", function()
  local top = bundle.scratch(before_each, after_each)

  it("knows three kinds of files", function()
    assert.same({ "save: 'x.xlsx' ends in none of .csv .json .md .txt",
      'for example: save("kernels.csv")' }, said("save", "x.xlsx"))
    assert.same({ "save: 'nil' ends in none of .csv .json .md .txt",
      'for example: save("kernels.csv")' }, said("save"))
  end)

  it("says why a file cannot be written", function()
    local path = top() .. "/nowhere/x.csv"
    local err = failure(function() return small():save(path) end)
    assert.equal("failed", err[1])
    assert.equal("No such file or directory", err[2]:match ": ([^:]+)$")
  end)
end)


describe("a frame", function()
  it("does not change", function()
    assert.same({ "usage", "frames do not change: 'x' cannot be set",
      'with("name", function(row) ... end) makes a frame with one more column' },
      failure(function() small().x = 1 end))
  end)

  it("is what methods are called on", function()
    assert.same({ "usage", "a frame is expected", "methods are called with a colon: f:top(10)" },
      failure(function() return small().where { dur = 1 } end))
  end)
end)
