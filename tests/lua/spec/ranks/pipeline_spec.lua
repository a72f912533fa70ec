-- Bubbles of pipelines whose schedule is known.
local pipelined = require "tests.lua.support.pipelined"
local rank_report = require "llmprof.report.ranks"
local rank_part = require "llmprof.ranks.part"
local rank_view = require "llmprof.analysis.serving.ranks"
local ranks = require "llmprof.ranks"
local timeline = require "tests.lua.support.timeline"

local MS = 1000000

local function named(stage, place)
  return ("worker dp0_pp%d_tp%d"):format(stage, place)
end

local function examine(given)
  local trace = timeline.of(pipelined.lines(given))
  return (ranks.examine({ rank_part.of(trace, "run.sqlite", rank_view.knowledge()) }, {}))
end

local function shares(record)
  local list = {}
  for i, stage in ipairs(record.pipeline.stages) do list[i] = ("%.2f"):format(stage.share) end
  return table.concat(list, " ")
end

describe("pipelines", function()
  it("of equal stages are idle for (p - 1) / (m + p - 1) of their time", function()
    local record = examine { stages = 4, width = 1, batches = 9, name = named,
      work = { MS, MS, MS, MS } }
    assert.equal("names", record.pipeline.told_by)
    assert.equal("0.25 0.25 0.25 0.25", shares(record)) -- 3 / 12
    local first, last = record.pipeline.stages[1], record.pipeline.stages[4]
    assert.truthy(math.abs(first.busy_ns - 9 * MS) < 0.05 * MS)
    assert.truthy(math.abs(record.pipeline.active_ns - 12 * MS) < 0.1 * MS)
    assert.truthy(last.in_p2p_ns > 0.9 * last.bubble_ns) -- it waits in a receive
    assert.truthy(first.in_p2p_ns < 0.01 * first.bubble_ns) -- it has sent all
    assert.same({}, record.left_out)
  end)

  it("of one batch at a time work on one stage after the other", function()
    local record = examine { stages = 2, width = 1, batches = 1, name = named, work = { MS, MS } }
    assert.equal("0.50 0.50", shares(record))
  end)

  it("wait for their slowest stage", function()
    local record = examine { stages = 2, width = 1, batches = 50, name = named,
      work = { MS, 3 * MS } }
    assert.equal("0.67 0.01", shares(record))
    assert.truthy(rank_report.verdict({ ranks = record }):find(
      "Pipeline: stage 0 (rank 0) works on nothing for 67 %", 1, true))
  end)

  it("are told by who meets in all-reduces, where names say nothing", function()
    local record = examine { stages = 2, width = 2, batches = 9, work = { MS, MS } }
    assert.equal("collectives", record.pipeline.told_by)
    assert.same({ { 0, 1 }, { 2, 3 } }, { record.pipeline.stages[1].ranks,
      record.pipeline.stages[2].ranks })
    assert.same({ 0, 0, 1, 1 }, { record.ranks[1].pp, record.ranks[2].pp, record.ranks[3].pp,
      record.ranks[4].pp })
    assert.equal("0.10 0.10", shares(record)) -- 1 / 10
    assert.truthy(record.verdict.text:find "^balanced within each stage: ")
    assert.equal(18, record.totals.matched) -- sends and receives are none of them
    assert.equal(0, record.totals.unmatched)
  end)

  it("are told by ncclSend and ncclRecv", function()
    local given = { stages = 3, width = 1, batches = 4, work = { MS, MS, MS },
      ranges = { send = "ncclSend", receive = "ncclRecv" } }
    assert.equal("0.33 0.33 0.33", shares(examine(given))) -- 2 / 6
  end)

  it("are told by ranks that work in turn", function()
    local record = examine { stages = 2, width = 1, batches = 1, work = { MS, MS } }
    assert.equal("turns 0.50 0.50", record.pipeline.told_by .. " " .. shares(record))
  end)

  it("are not told of ranks whose sends may be an all-to-all", function()
    local record = examine { stages = 2, width = 1, batches = 9, work = { MS, MS } }
    assert.is_nil(record.pipeline)
    assert.is_nil(record.ranks[1].bubble_ns)
  end)

  it("have no bubbles where all work all the time", function()
    local record = examine { stages = 2, width = 2, batches = 200, name = named,
      work = { MS, MS } }
    for _, stage in ipairs(record.pipeline.stages) do assert.truthy(stage.share < 0.02) end
  end)
end)
