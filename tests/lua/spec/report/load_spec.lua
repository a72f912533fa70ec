-- The section about a load, as Markdown and in the page.
local chapters = require "llmprof.report.chapters"
local report = require "tests.lua.support.reports"
local markdown = require "llmprof.report.write.markdown"
local rows = require "llmprof.report.rows"
local support = require "tests.lua.support.load_client"


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
    assert.matches("1 samples of the engine's page failed: /metrics does not end.", text, 1, true)
  end)

  it("warns of a rate that was not held, of a queue, and of failures", function()
    local text = said(8, { held = 6, seconds = 40, failed = 3 })
    assert.matches("The rate was not held: 6.00/s were sent of 8.00/s planned.", text, 1, true)
    assert.matches("6.00/s were sent and 2.50/s answered: requests queued up", text, 1, true)
    assert.matches("3 of 103 requests failed: too busy", text, 1, true)
    assert.is_nil(said(8):find("queued up", 1, true))
  end)

  it("takes requests that fail for no queue, and few of them for no rate", function()
    local text = said(8, { count = 8, failed = 4, seconds = 1.5 })
    assert.is_nil(text:find("queued up", 1, true))
    assert.is_nil(said(200, { count = 10, held = 100, seconds = 0.1 }):find("not held", 1, true))
  end)

  it("says that requests were not sent, or that nobody knows of them", function()
    local results = support.results(8, { failed = 3 })
    results.load.requests = 113
    local text = markdown.render(chapters.content(results, "load", {}))
    assert.matches("10 of 113 requests were not sent: the server had ended.", text, 1, true)
    results.load = { kind = "command", duration_ns = 2e9, unread = "load.command wrote rubbish" }
    text = markdown.render(chapters.content(results, "load", {}))
    assert.matches("Load.command wrote rubbish.", text, 1, true)
    assert.is_nil(text:find("0.00", 1, true))
  end)

  it("sees no trend in steps that are of other requests, and whose tokens a second are", function()
    local results = support.results(4)
    local tpot = { mean_ns = 4e6, count = 90, source = "ranges", trend = "shorter",
      slope_ns_per_token = -482 }
    results.latency = { tpot = tpot, tokens_per_s = { mean = 1215, count = 1, batch = 4.6 } }
    local function notes()
      local list = {}
      for i, row in ipairs(rows.latency(results)) do list[i] = row.note end
      return list
    end
    assert.same({ "steps marked on the timeline", "in decode steps; batch 4.6" }, notes())
    results.load = nil
    assert.same({ "steps marked on the timeline; each 482 ns shorter than the one before",
      "batch 4.6" }, notes())
  end)

  it("is in the page, and nowhere without a load", function()
    local results = support.results(4)
    local page = report("page", results, { "all" })
    assert.truthy(page:find('<details class="chapter" id="load">', 1, true))
    results.load = nil
    assert.is_nil(report("page", results, { "all" }):find('id="load"', 1, true))
  end)
end)
