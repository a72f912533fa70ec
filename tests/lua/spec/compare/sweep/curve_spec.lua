local report = require "llmprof.compare.sweep"
local support = require "tests.lua.support.load_client"


-- Rows of runs at these rates; changes by rate.
local function rows_of(rates, changes)
  local runs = {}
  for i, rate in ipairs(rates) do
    runs[i] = { label = "load.rate=" .. rate, short = "rate=" .. rate,
      load = report.point(support.results(rate, (changes or {})[rate])) }
  end
  return report.curve_rows(runs)
end


local function marks(rows)
  local list = {}
  for i, row in ipairs(rows) do list[i] = row.mark or "" end
  return list
end


describe("the load-latency curve", function()
  it("is none of runs without a load, or of one", function()
    assert.same({}, report.curve_rows { { label = "a" }, { label = "b" } })
    assert.same({}, rows_of { 4 })
  end)

  it("has its knee before the rate that is not answered as fast", function()
    local rows = rows_of({ 8, 2, 4, 1 }, { [8] = { seconds = 25 } })
    assert.same({ "", "", "knee", "beyond" }, marks(rows))
    assert.equal("Knee: 4.00/s are answered as they come; of 8.00/s they are not, or wait three "
      .. "times as long.", report.sentence(rows))
  end)

  it("has it before TTFT is three times as long, and before requests fail", function()
    assert.same({ "knee", "beyond", "beyond" },
      marks(rows_of({ 1, 2, 4 }, { [2] = { ttft_ms = 70 }, [4] = { ttft_ms = 90 } })))
    assert.same({ "", "knee", "beyond" }, marks(rows_of({ 1, 2, 4 }, { [4] = { failed = 1 } })))
  end)

  it("has none where all rates are answered, or not even the least", function()
    local rows = rows_of { 1, 2 }
    assert.same({ "", "" }, marks(rows))
    assert.equal("No knee up to 2.00/s: sweep higher rates.", report.sentence(rows))
    rows = rows_of({ 1, 2 }, { { seconds = 1000 }, { seconds = 1000 } })
    assert.equal("No knee: even 1.00/s are more than is answered.", report.sentence(rows))
  end)

  it("says so where a lower load is slower", function()
    local rows = rows_of({ 1, 2, 4, 8 }, { [2] = { ttft_ms = 200 }, [8] = { failed = 1 } })
    assert.same({ "", "slow", "knee", "beyond" }, marks(rows))
    assert.matches(" 1 lower rate was slower than that: something else went on",
      report.sentence(rows))
  end)

  it("is in what a sweep prints, and writes", function()
    local made = { runs = {}, stages = {},
      loads = rows_of({ 2, 4, 8 }, { [8] = { seconds = 25 } }) }
    assert.matches("load.rate=4 +4.00 +4.00 +40.0 .* knee\n", report.text(made))
    assert.matches('x%-axis %["2.00/s", "4.00/s %(knee%)", "8.00/s"%]',
      report.markdown(made, "r", "llmprof sweep"))
    assert.matches('"mark": "knee"', report.json(made))
  end)
end)
