local advice = require "llmprof.advice"
local rule = require "llmprof.advice.kv_room"
local support = require "tests.lua.support.load_client"


describe("advice kv_room", function()
  local function asked(page) return advice.apply({ rule }, support.results(4, { page = page })) end

  local function of(kv, waiting)
    return asked { path = "/m", samples = { { utc_ns = 1, running = 4, waiting = waiting,
      kv_use = kv }, { utc_ns = 2, running = 4, waiting = waiting, kv_use = kv } } }
  end

  it("finds a queue beside a cache that is mostly free", function()
    assert.equal("requests wait while most of the KV cache is free", of(0.2, 3).findings[1].title)
  end)

  it("counts preemptions of the window", function()
    local found = asked(support.page).findings
    assert.equal(1, #found)
    assert.equal("3 preemptions in the window", found[1].evidence[1].text)
  end)

  it("says why not, and is not asked without the engine's page", function()
    assert.equal("no requests wait", of(0.2, 0).silent[1].why)
    assert.equal("up to 80 % of the KV cache is in use", of(0.8, 3).silent[1].why)
    assert.equal("the engine's page lacks KV use, running or waiting requests",
      of(nil, 3).abstained[1].why)
    local lists = asked(nil)
    assert.same({ 0, 0, 0 }, { #lists.findings, #lists.silent, #lists.abstained })
  end)
end)
