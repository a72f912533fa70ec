-- The section about a load, as Markdown and in the page.
local chapters = require "llmprof.report.chapters"
local html = require "llmprof.report.html"
local markdown = require "llmprof.report.write.markdown"
local support = require "tests.lua.support.served"


describe("the section about a load", function()
  local function said(rate, changes)
    return markdown.render(chapters.content(support.results(rate, changes), "load", {}))
  end

  it("has what was sent and answered, what clients saw, and the engine's numbers", function()
    local text = said(4, { page = support.page, met = 75 })
    assert.matches("| poisson, 4.00/s |      100 |      100 |      0 |   4.00 |", text, 1, true)
    assert.matches(" 75.0 |   3.00 |", text, 1, true)
    assert.matches("Good requests are within TTFT 30.0 ms and TPOT 6.0 ms: 75 of 100.", text, 1,
      true)
    assert.matches("| whole answer | 100 |", text, 1, true)
    assert.matches("| requests waiting ", text, 1, true)
    assert.matches("Of the engine's page 1 looks failed: /metrics does not end.", text, 1, true)
  end)

  it("warns of a rate that was not held, of a queue, and of failures", function()
    local text = said(8, { held = 6, seconds = 40, failed = 3 })
    assert.matches("The rate was not held: 6.00/s were sent of 8.00/s planned.", text, 1, true)
    assert.matches("6.00/s were sent and 2.50/s answered: requests queued up", text, 1, true)
    assert.matches("3 of 103 requests failed: too busy", text, 1, true)
    assert.is_nil(said(8):find("queued up", 1, true))
  end)

  it("is in the page, and nowhere without a load", function()
    local results = support.results(4)
    assert.matches('<details class="chapter" id="load">', html.render(results, {}), 1, true)
    results.load = nil
    assert.is_nil(html.render(results, {}):find('id="load"', 1, true))
  end)
end)
