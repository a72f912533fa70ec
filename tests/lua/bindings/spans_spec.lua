local collectives = require "llmprof.collectives"
local frame = require "llmprof.frame"
local spans = require "llmprof.spans"

local function integers(columns)
  local list, rows = {}, 0
  for name, values in pairs(columns) do
    list[#list + 1] = { name = name, type = "integer", values = values }
    rows = #values
  end
  return frame.new(rows, list)
end


local function message(...)
  return (select(2, pcall(...)):gsub("^[^:]*:%d+: ", ""))
end


describe("llmprof.spans", function()
  local at = { start = "start", ["end"] = "until", key = "rank" }
  local steps

  before_each(function()
    steps = integers { start = { 0, 100, 0 }, rank = { 0, 0, 1 } }
    assert(spans.until_next(steps, at, "until"))
  end)

  it("says when the next span of the same key begins", function()
    assert.same({ 100, math.maxinteger, math.maxinteger }, steps:values "until")
  end)

  it("says which span a row is in, from 0", function()
    local rows = integers { time = { 5, 150, 150, false }, rank = { 0, 0, 1, 0 } }
    assert(spans.assign(rows, { time = "time", key = "rank" }, steps, at, "step"))
    assert.same({ 0, 1, 2, false }, rows:values "step")
  end)

  it("says how much of a span intervals cover", function()
    local some = integers { start = { 10, 90 }, ["end"] = { 20, 130 } }:union()
    local none = integers { start = {}, ["end"] = {} }:union()
    assert(spans.cover(steps, at, { some, none }, "covered"))
    assert.same({ 20, 30, 0 }, steps:values "covered")
  end)

  it("looks values up, and finds the least and the sum", function()
    local named = frame.new(2, { { name = "phase", type = "string", values = { "a", "b" } } })
    local rows = integers { span = { 1, 0, false, 9, 1 }, value = { 7, 5, 3, 2, 6 } }
    assert(spans.look_up(rows, "span", named, "phase", "phase"))
    named = nil -- luacheck: ignore 311
    collectgarbage()
    assert.same({ "b", "a", false, false, "b" }, rows:values "phase")
    assert.same({ 2 }, { #rows:where { phase = "b" } })
    assert(spans.least(steps, rows, "span", "value", "least"))
    assert.same({ 5, 6, false }, steps:values "least")
    assert(spans.total(steps, rows, "span", "value", "total"))
    assert.same({ 5, 13, false }, steps:values "total")
  end)

  it("measures steps", function()
    local ops = integers { step = { 0, 0, 1 }, start = { 10, 30, 120 }, ["end"] = { 20, 60, 170 },
      work = { 0, 1, 2 } }
    assert(spans.measure(steps, { rank = "rank", start = "start" }, ops,
      { step = "step", start = "start", ["end"] = "end", work = "work" }))
    assert.same({ 40, 50, 0 }, steps:values "busy")
    assert.same({ false, 60, false }, steps:values "idle")
    assert.same({ 1, 0, 0 }, steps:values "collectives")
  end)

  it("raises on misuse", function()
    assert.matches("which column is 'start'", message(spans.until_next, steps, {}, "x"))
    assert.matches("no column 'begin'", message(spans.until_next, steps, { start = "begin" }, "x"))
    assert.matches("a column 'until' already", message(spans.until_next, steps, at, "until"))
    assert.matches("llmprof.intervals expected", message(spans.cover, steps, at, { 1 }, "x"))
    assert.matches("llmprof.frame expected", message(spans.assign, steps, { time = "start" }, 7,
      at, "x"))
  end)
end)


describe("llmprof.collectives", function()
  local columns = { rank = "rank", start = "start", ["end"] = "end", key = "key" }
  local rows

  before_each(function()
    rows = integers { rank = { 0, 1, 0, 1 }, start = { 10, 30, 100, 90 },
      ["end"] = { 50, 51, 120, 121 }, key = { 7, 7, 7, 7 } }
    columns.ordinal = nil
    assert(collectives.number(rows, columns, "ordinal"))
    columns.ordinal = "ordinal"
  end)

  it("matches rows of several ranks", function()
    assert(collectives.match(rows, columns))
    assert.same({ 0, 0, 1, 1 }, rows:values "instance")
    assert.same({ 20, 0, 0, 10 }, rows:values "waiting")
    assert.same({ false, 20, 10, false }, rows:values "late")
    assert.same({ 21, 21, 21, 21 }, rows:values "transfer")
  end)

  it("looks at what came before", function()
    local kernels = frame.new(2, { { name = "rank", type = "integer", values = { 0, 0 } },
      { name = "start", type = "integer", values = { 60, 70 } },
      { name = "name", type = "string", values = { "a", "b" } } })
    assert(collectives.before(rows, columns, kernels,
      { rank = "rank", start = "start", name = "name" }))
    assert.same({ 0, 0, 2, 0 }, rows:values "before")
    assert.same({ false, false, 50, 51 }, rows:values "previous")
    local signatures = rows:values "signature"
    assert.equal(signatures[1], signatures[4])
    assert.is_true(signatures[3] ~= signatures[4])
    local follows = rows:values "follows"
    assert.same({ false, false, false }, { follows[1], follows[2], follows[4] })
    assert.equal("integer", math.type(follows[3]))
  end)

  it("fits clocks", function()
    local fit = assert(collectives.clock(rows, columns, 0, 1))
    assert.same({ 2, 51, 1.0, 0.0 }, { fit.count, fit.at, fit.offset, fit.drift })
    assert.same({ count = 0 }, collectives.clock(rows, columns, 0, 5))
  end)

  it("raises on misuse", function()
    assert.matches("which column is 'ordinal'", message(collectives.match, rows,
      { rank = "rank", start = "start", ["end"] = "end", key = "key" }))
    assert.matches("a number of rows", message(collectives.clock, rows, columns, 0, 1, 1 << 40))
    assert.matches("holds no strings", message(collectives.before, rows, columns, rows,
      { rank = "rank", start = "start", name = "key" }))
  end)
end)
