local classes = require "llmprof.classes"
local frame = require "llmprof.frame"

local function message(...)
  return (select(2, pcall(...)):gsub("^[^:]*:%d+: ", ""))
end


describe("llmprof.classes", function()
  local calls, made

  before_each(function()
    calls = frame.new(4, {
      { name = "start", type = "integer", values = { 0, 5, 30, 50 } },
      { name = "end", type = "integer", values = { 10, 20, 40, 60 } },
      { name = "name", type = "string", values = { "free", "launch", "malloc", "else" } },
    })
    made = classes.of(calls, "name", { { "launch", "never" }, { "malloc", "free" } })
  end)

  it("counts a moment in several rows for the first class", function()
    assert.same({ 15, 15 }, { made:within(0, 100) })
    assert.same({ 3, 5 }, { made:within(0, 8) })
    assert.same({ 0, 0 }, { made:within(60, 40) })
  end)

  it("leaves out what else was busy", function()
    local busy = frame.new(1, { { name = "start", type = "integer", values = { 8 } },
      { name = "end", type = "integer", values = { 35 } } }):union()
    assert.same({ 3, 10 }, { made:within(0, 100, busy) })
  end)

  it("refuses what makes no sense", function()
    assert.matches("a column of strings", message(classes.of, calls, "start", { {} }))
    assert.matches("from 1 to 8 classes", message(classes.of, calls, "name", {}))
    assert.matches("no column 'text'", message(classes.of, calls, "text", { {} }))
    calls:close()
    assert.is_false(pcall(made.within, made, 0, 1))
    made:close()
    assert.is_false(pcall(made.within, made, 0, 1))
  end)
end)
