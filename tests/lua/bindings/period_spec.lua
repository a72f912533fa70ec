local period = require "llmprof.period"
local trace = require "llmprof.trace"

describe("llmprof.period", function()
  local opened, kernels

  setup(function()
    opened = assert(trace.open "tests/fixtures/unmarked/whole.sqlite")
    kernels = assert(opened:frame "gpu")
  end)
  teardown(function() opened:close() end)

  local function graphs()
    local list = assert(period.rhythms(kernels, { "kind", "name" }, 8))
    for _, rhythm in ipairs(list) do
      if kernels:get(rhythm.row, "kind") == "graph" then return rhythm, list end
    end
  end

  it("finds what comes back, with its first row", function()
    local rhythm = graphs()
    rhythm.spread = ("%.3f"):format(rhythm.spread)
    assert.same({ row = 310, distances = 60, runs = 2, longest = 30, period = 9344465,
      span = 560553818, spread = "0.008" }, rhythm)
  end)

  it("cuts a group into cycles", function()
    local cycles = assert(period.cycles(kernels, { "kind", "name" }, graphs().row))
    assert.equal(62, #cycles)
    assert.equal(1, cycles[1].likeness)
    assert.is_true(cycles[31].likeness < 0.6) -- a prefill lies in it
    assert.is_nil(cycles[#cycles].next)
    assert.equal(cycles[2].first, cycles[1].next)
    assert.is_nil(cycles[1].head_last)
  end)

  it("raises on misuse", function()
    local function message(...)
      return select(2, pcall(...)):gsub("^[^:]*:%d+: ", "")
    end
    assert.matches("at least one column", message(period.rhythms, kernels, {}, 4))
    assert.matches("no column 'grid'", message(period.rhythms, kernels, { "grid" }, 4))
    assert.matches("at least 1", message(period.rhythms, kernels, { "name" }, 0))
    assert.matches("no such row", message(period.cycles, kernels, { "name" }, 0))
    assert.matches("number expected", message(period.cycles, kernels, { "name" }, "x"))
  end)
end)
