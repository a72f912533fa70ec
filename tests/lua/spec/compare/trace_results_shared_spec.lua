-- Traces that several processes analyse: the same as by one.
local side = require "llmprof.compare.side"
local bounds = require "llmprof.bounds"
local clock = require "llmprof.io.clock"
local failure = require "tests.lua.support.failure"

local FILES = { "tests/fixtures/graphs/node.sqlite", "tests/fixtures/odd/no_nvtx.sqlite",
  "tests/fixtures/ranks4/rank0.sqlite" }


describe("llmprof.compare.side", function()
  local had, least, timestamp, results, own

  before_each(function()
    had, least, own = bounds.get "limits.threads", side.shares.least, {}
    timestamp, results = clock.timestamp, side.trace_results
    clock.timestamp = function() return "2026-01-01T00:00:00Z" end
    side.trace_results = function(path)
      own[#own + 1] = path
      return results(path)
    end
    side.shares.least = 0
  end)

  after_each(function()
    clock.timestamp, side.trace_results, side.shares.least = timestamp, results, least
    bounds.set("limits.threads", had)
  end)

  local function read(paths, threads)
    bounds.set("limits.threads", threads)
    own = {}
    local analyse, list = side.read_traces(paths), {}
    for i, path in ipairs(paths) do list[i] = analyse(path) end
    return list
  end

  it("has traces analysed by as many processes as threads may work", function()
    local alone = read(FILES, 1)
    assert.equal(3, #own)
    assert.same(alone, read(FILES, 2))
    assert.is_true(#own < 3)
    assert.same(alone, read(FILES, 3))
    assert.equal(1, #own)
    assert.equal(3, bounds.get "limits.threads")
  end)

  it("has one that is named twice analysed once", function()
    local list = read({ FILES[1], FILES[1] }, 1)
    assert.equal(1, #own)
    assert.equal(list[1], list[2])
  end)

  it("has small ones analysed by one", function()
    side.shares.least = least
    read(FILES, 3)
    assert.equal(3, #own)
  end)

  it("has as many beside each other as memory holds", function()
    local weight = side.shares.weight
    side.shares.weight = bounds.get "limits.bytes"
    read(FILES, 3)
    side.shares.weight = weight
    assert.equal(3, #own)
  end)

  it("says what is wrong with one when it is asked for", function()
    bounds.set("limits.threads", 2)
    local nothing = "tests/fixtures/odd/nothing.sqlite"
    local analyse = side.read_traces { nothing, FILES[1] }
    assert.equal("node.sqlite", analyse(FILES[1]).run.id)
    assert.same({ "nothing",
      nothing .. ": no GPU operation and no NVTX range: nothing to compare" },
      failure(analyse, nothing))
  end)

  it("goes no further when a signal came", function()
    side.trace_results = function()
      require("llmprof.process.errors").raise("interrupted", "interrupted")
    end
    assert.same({ "interrupted", "interrupted" }, failure(read, FILES, 2))
    assert.equal(2, bounds.get "limits.threads")
  end)
end)
