local advice = require "llmprof.advice"
local rule = require "llmprof.advice.preemptions"
local support = require "tests.lua.support.load_client"


describe("advice preemptions", function()
  local function of(page) return advice.apply({ rule }, support.results(4, { page = page })) end

  it("counts those of the window", function()
    local found = of(support.page).findings
    assert.equal(1, #found)
    assert.equal("3 preemptions in the window", found[1].evidence[1].text)
  end)

  it("is silent without any, abstains where they are not counted, and else not asked", function()
    local page = { path = "/m", samples = { { utc_ns = 1, preemptions = 2 },
      { utc_ns = 2, preemptions = 2 } } }
    assert.equal("no request was preempted", of(page).silent[1].why)
    page.samples[2].preemptions = nil
    assert.equal("the engine's page does not count preemptions", of(page).abstained[1].why)
    local lists = of(nil)
    assert.same({ 0, 0, 0 }, { #lists.findings, #lists.silent, #lists.abstained })
  end)
end)
