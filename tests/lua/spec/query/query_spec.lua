-- The query language: what every method gives.
local fs = require "llmprof.fs"
local query = require "llmprof.query"
local small = require "tests.lua.support.query"
local bundle = require "tests.lua.support.bundle"


-- A column as one string, absent values as "-".
local function column(frame, name)
  local texts = {}
  for i, value in ipairs(frame:values(name)) do texts[i] = value and tostring(value) or "-" end
  return table.concat(texts, " ")
end


-- As the prompt prints it.
local function printed(frame)
  return tostring(frame) .. "\n"
end


describe("where", function()
  local function durations(...)
    return column(small():where(...), "duration")
  end

  it("takes values, lists and absence", function()
    assert.equal("1000 2000 -", durations { stage = "decode" })
    assert.equal("4000 1000 2000 -", durations { stage = { "decode", "prefill" } })
    assert.equal("1000", durations { stage = false })
    assert.equal("4000 1000 2000 1000", durations { dur = true })
    assert.equal("2000", durations { stage = "decode", name = "gemm" })
    assert.equal("", durations { name = "nowhere" })
    assert.equal("", durations { name = {} })
  end)

  it("compares", function()
    assert.equal("4000 2000", durations { dur = { ">", 1000 } })
    assert.equal("2000", durations { dur = { ">", 1000, "<", 4000 } })
    assert.equal("4000 2000", durations("dur", ">=", 2000))
    assert.equal("1000 1000", durations("dur", "<", 2e3))
    assert.equal("1000 1000", durations("dur", 1000))
    assert.equal("4000 2000", durations { { "dur", "~=", 1000 } })
    assert.equal("4000 2000", durations { { "dur", "!=", 1000 } })
    assert.equal("2000", durations { { "dur", "=", 2000 } })
    assert.equal("4000", durations { { "dur", "~=", { 1000, 2000 } } })
    assert.equal("gemm add add copy(A*)", column(small():where { rate = true }, "name"))
  end)

  it("compares integers with fractions and with what no integer reaches", function()
    assert.equal("1000 1000", durations("dur", "<", 1000.5))
    assert.equal("4000 2000", durations("dur", ">", 1999.5))
    assert.equal("4000 2000", durations("dur", ">=", 1000.5))
    assert.equal("", durations("dur", "==", 1000.5))
    assert.equal("4000 1000 2000 1000", durations("dur", "~=", 1000.5))
    assert.equal("4000 1000 2000 1000", durations("dur", "<", math.huge))
    assert.equal("", durations("dur", ">", math.huge))
    assert.equal("4000 1000 2000 1000", durations("dur", ">", -math.huge))
  end)

  it("compares reals", function()
    assert.equal("-1.0 0.25", column(small():where("rate", "<", 0.5), "rate"))
    assert.equal("0.5", column(small():where { rate = 0.5 }, "rate"))
  end)

  it("looks for text and for patterns", function()
    assert.equal("4000 2000", durations { name = { "~", "em" } })
    assert.equal("-", durations { name = { "~", "(A*)" } })
    assert.equal("1000 1000", durations { name = { "~", "^a%l+$" } })
    assert.equal("", durations { name = { "~", "[" } })
    assert.equal("1000 1000 -", durations { name = { "!~", "gemm" } })
    assert.equal("4000", durations { stage = { "!~", "decode" } })
  end)

  it("calls a function", function()
    assert.equal("4000", durations(function(row)
      return row.name == "gemm" and row.dur > 2000
    end))
  end)

  it("stacks", function()
    assert.equal("2000", column(small():where { stage = "decode" }:where { name = "gemm" }
      :where("dur", ">", 0), "duration"))
  end)
end)


describe("order", function()
  it("sorts by numbers and text, what is absent last", function()
    assert.equal("1000 1000 2000 4000 -", column(small():sort "dur", "duration"))
    assert.equal("4000 2000 1000 1000 -", column(small():sort "-dur", "duration"))
    assert.equal("-1.0 0.25 0.5 2.5 -", column(small():sort "rate", "rate"))
    assert.equal("prefill decode decode decode -", column(small():sort "-stage", "stage"))
    assert.equal("1000 1000 - 4000 2000", column(small():sort("name", "-dur"), "duration"))
  end)

  it("keeps the order of equals", function()
    assert.equal("2.5 -1.0", column(small():where { name = "add" }:sort "dur", "rate"))
  end)

  it("takes the first few of a sorting", function()
    assert.equal("4000 2000", column(small():sort("-dur"):top(2), "duration"))
    assert.equal("1000 1000 2000", column(small():sort("dur", "-rate"):head(3), "duration"))
    assert.equal("2.5 -1.0 -", column(small():sort("dur", "-rate"):head(3), "rate"))
    assert.equal("4000 2000", column(small():top(2, "dur"), "duration"))
    assert.equal("2000 4000 -", column(small():sort("dur"):tail(3), "duration"))
    assert.equal("4000 1000", column(small():head(2), "duration"))
    assert.equal("", column(small():sort("dur"):top(0), "duration"))
    assert.equal(5, #small():top(100, "dur"))
  end)
end)


describe("columns", function()
  it("are chosen, by alias too", function()
    assert.equal([[
duration ns  name
      4,000  gemm
]], printed(small():select("dur", "name"):head(1)))
    assert.equal("gemm add copy(A*)", column(small():unique "name", "name"))
    assert.equal("prefill decode decode - decode",
      column(small():unique("name", "stage"), "stage"))
  end)

  it("are lists, fields of rows, and described", function()
    local frame = small()
    assert.same({ 4000, 1000, 2000, 1000, false }, frame.dur)
    assert.same({ 2000, "decode" }, { frame[3].dur, frame[3].stage })
    assert.is_nil(frame[3].rate)
    assert.is_nil(frame[6])
    local fields = {}
    for name, value in pairs(frame[1]) do fields[#fields + 1] = name .. "=" .. tostring(value) end
    assert.equal("name=gemm stage=prefill duration=4000 rate=0.5", table.concat(fields, " "))
    assert.equal("string string integer number", column(frame:columns(), "type"))
    assert.equal("- - ns -", column(frame:columns(), "unit"))
  end)

  it("are computed", function()
    local made = small():with("half", function(row) return row.dur and row.dur / 2 end, "ns")
    assert.equal("2000.0 500.0 1000.0 500.0 -", column(made, "half"))
    assert.equal("prefill! decode! decode! - decode!", column(small():with("loud", function(row)
      return row.stage and row.stage .. "!"
    end), "loud"))
    assert.equal("0.5 0.125 0.25 0.125 -", column(small():share "dur", "share"))
  end)

  it("come with the rows", function()
    local seen = {}
    for row in small():where { name = "gemm" }:rows() do seen[#seen + 1] = row.duration end
    assert.same({ 4000, 2000 }, seen)
  end)
end)


describe("groups", function()
  it("have one statistic", function()
    local function by_name(statistic, ...)
      local group = small():group "name"
      return column(group[statistic](group, ...), "duration")
    end
    assert.equal("6000 2000 -", by_name("sum", "dur"))
    assert.equal("3000.0 1000.0 -", by_name("mean", "dur"))
    assert.equal("3000.0 1000.0 -", by_name("median", "dur"))
    assert.equal("2000 1000 -", by_name("min", "dur"))
    assert.equal("4000 1000 -", by_name("max", "dur"))
    assert.equal("1414.2135623731 0.0 -", by_name("std", "dur"))
    assert.equal("3500.0 1000.0 -", by_name("percentile", "dur", 75))
    assert.equal("2 1 0", by_name("distinct", "dur"))
  end)

  it("have several", function()
    assert.equal([[
stage    count  duration_sum ns  duration_p50 ns  rate_max
prefill      1            4,000            4,000      0.50
decode       3            3,000            1,500      2.50
             1            1,000            1,000     -1.00
]], printed(small():group("stage"):agg("count", "sum dur", "p50 dur", "max rate")))
    assert.equal([[
name      count  duration_sum ns  duration_mean ns  duration_median ns  ]]
      .. [[duration_min ns  duration_max ns  duration_std ns
gemm          2            6,000             3,000               3,000  ]]
      .. [[          2,000            4,000         1,414.21
add           2            2,000             1,000               1,000  ]]
      .. [[          1,000            1,000             0.00
copy(A*)      1
]], printed(small():group("name"):stats "dur"))
  end)

  it("are counted, by several columns too", function()
    assert.equal("2 2 1", column(small():group("name"):count(), "count"))
    assert.equal("1 1 1 1 1", column(small():group("name", "stage"):count(), "count"))
  end)

  it("do not name two columns the same", function()
    local made = small():where { dur = 1000 }:group("duration"):sum("dur", "rate")
    assert.same({ "duration", "count", "duration_sum", "rate" }, query.column_names(made))
  end)

  it("say what to ask of them", function()
    assert.equal("groups by name, stage: add count(), sum(column), stats(column), agg(...)",
      tostring(small():group("name", "stage")))
  end)
end)


describe("numbers of a whole frame", function()
  it("are Lua numbers", function()
    local frame = small()
    assert.same({ 8000, 2000.0, 1500.0, 1000, 4000, 3 }, { frame:sum "dur", frame:mean "dur",
      frame:median "dur", frame:min "dur", frame:max "dur", frame:distinct "name" })
    assert.equal(2.25, frame:sum "rate")
    assert.near(3400, frame:percentile("dur", 90), 1e-9)
    assert.near(1414.2136, frame:std "dur", 1e-3)
  end)

  it("are absent where there is no value", function()
    local none = small():where { name = "nowhere" }
    assert.same({ 0, 0 }, { none:sum "dur", none:distinct "name" })
    assert.same({}, { none:mean "dur", none:min "dur", none:percentile("dur", 50) })
    assert.same({}, { small():where { name = "copy(A*)" }:max "dur" })
  end)

  it("are one row as stats", function()
    assert.equal([[
count  sum ns  mean ns  median ns  min ns  max ns    std ns
    4   8,000    2,000      1,500   1,000   4,000  1,414.21
]], printed(small():stats "dur"))
  end)
end)


describe("pictures", function()
  it("are histograms in steps", function()
    assert.equal([[
from ns  to ns  count
  1,000  2,000      2  ████████████████████████████████████████
  2,000  3,000      1  ████████████████████
  3,000  4,000      1  ████████████████████
]], printed(small():hist("dur", 3)))
  end)

  it("are histograms in factors where values spread", function()
    local spread = query.from_rows({ { v = 1 }, { v = 5 }, { v = 50 }, { v = 1000 } },
      { { name = "v", type = "integer" } })
    assert.equal("1.0 10.0 100.0", column(spread:hist("v", 3), "from"):gsub("99999+%d*", "")
      :gsub("(%d+%.%d)%d+", "%1"))
    assert.equal("2 1 1", column(spread:hist("v", 3), "count"))
  end)

  it("are one bin for one value", function()
    assert.equal("2", column(small():where { name = "add" }:hist "dur", "count"))
  end)

  it("are bars beside rows", function()
    assert.equal([[
name      duration ns
gemm            4,000  ████████████████████████████████████████
add             1,000  ██████████
gemm            2,000  ████████████████████
add             1,000  ██████████
copy(A*)
]], printed(small():select("name", "dur"):plot "dur"))
  end)
end)


describe("diff", function()
  it("puts two frames of groups side by side", function()
    local before = small():where { stage = "decode" }:group("name"):sum "dur"
    local after = query.from_rows({ { name = "add", duration = 400 },
      { name = "fused", duration = 900 } },
      { { name = "name", type = "string" }, { name = "duration", type = "integer", unit = "ns" } })
    assert.equal([[
name      before ns  after ns  difference ns  change %
gemm          2,000                   -2,000    -100.0
fused                     900            900
add           1,000       400           -600     -60.0
copy(A*)
]], printed(before:diff(after)))
  end)

  it("compares counts where nothing else is common", function()
    local counts = small():group("name"):count()
    assert.equal("0 0 0", column(counts:diff(counts), "difference"))
  end)
end)


describe("printing", function()
  it("shows so many rows and says how many more there are", function()
    local rows = {}
    for i = 1, 120 do rows[i] = { n = i } end
    local frame = query.from_rows(rows, { { name = "n", type = "integer" } })
    local text = printed(frame)
    assert.equal("100\n… 20 more of 120 rows; show(n) prints more, save(file) writes all\n",
      text:match "\n(100\n.*)$")
    assert.equal("2\n… 118 more of 120 rows; show(n) prints more, save(file) writes all\n",
      printed(frame:show(2)):match "\n *(2\n.*)$")
    assert.equal("120", printed(frame:show()):match "(%S+)\n$")
    assert.equal("no rows\n", printed(frame:where { n = 0 }))
  end)

  it("chooses units by the largest value", function()
    local frame = query.from_rows({ { a = 5, b = 2500, c = 12345678, d = 12000000000 } }, {
      { name = "a", type = "integer", unit = "ns" },
      { name = "b", type = "integer", unit = "bytes" },
      { name = "c", type = "integer", unit = "ns" },
      { name = "d", type = "integer", unit = "ns" } })
    assert.equal([[
a ns    b B    c ms        d s
   5  2,500  12.346  12.000000
]], printed(frame))
    assert.equal([[
column  value
a ns    5
b B     2,500
c ms    12.346
d s     12.000000
]], printed(frame[1]))
  end)
end)


describe("save", function()
  local top = bundle.scratch(before_each, after_each)

  local function saved(name)
    local path = top() .. "/" .. name
    assert.equal(path .. ": 2 rows", small():select("name", "dur", "rate"):head(2):save(path))
    return assert(fs.read(path))
  end

  it("writes CSV, JSON and Markdown", function()
    assert.equal("name,duration,rate\ngemm,4000,0.5\nadd,1000,2.5\n", saved "x.csv")
    assert.equal([=[
[
  {
    "name": "gemm",
    "duration": 4000,
    "rate": 0.5
  },
  {
    "name": "add",
    "duration": 1000,
    "rate": 2.5
  }
]
]=], saved "x.json")
    assert.equal([[
| name   | duration ns | rate |
| :----- | ----------: | ---: |
| `gemm` |       4,000 | 0.50 |
| `add`  |       1,000 | 2.50 |
]], saved "x.md")
  end)
end)
