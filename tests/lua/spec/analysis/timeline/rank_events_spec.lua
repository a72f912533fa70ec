-- What the page of ranks draws.
local clocks = require "llmprof.ranks.clocks"
local events = require "llmprof.analysis.timeline.events"
local pack = require "llmprof.pack"
local rank_events = require "llmprof.analysis.timeline.rank_events"
local examine = require("llmprof.ranks").examine
local rank_view = require "llmprof.analysis.serving.ranks"
local ranks = require "tests.lua.support.ranks"
local read = require "tests.lua.support.timeline_data"
local encode = require "llmprof.analysis.timeline.encode"
local stages = require "llmprof.analysis.stages.find"
local trace_file = require "llmprof.trace.file"

local function four()
  return select(2, ranks.examine(ranks.parts(ranks.four())))
end


describe("the events of ranks", function()
  it("are the steps and collectives of each, with waiting and transfer", function()
    local made = four()
    local page = read(rank_events.encode(made))
    local titles = {}
    for i, lane in ipairs(page.lanes) do titles[i] = lane.kind .. " " .. lane.title end
    assert.same({ "step rank 0, steps", "step rank 1, steps", "step rank 2, steps",
      "step rank 3, steps", "gpu rank 0, collectives", "gpu rank 1, collectives",
      "gpu rank 2, collectives", "gpu rank 3, collectives" }, titles)
    assert.equal(#made.collectives, page.gpu.count)
    local waiting, expected = 0, 0
    for row = 1, page.gpu.count do
      assert.is_true((page.gpu.waiting[row] or 0) <= page.gpu.duration[row])
      waiting = waiting + (page.gpu.waiting[row] or 0)
      expected = expected + (made.collectives:get(row, "waiting") or 0)
    end
    assert.is_true(waiting > 0)
    assert.equal(expected, waiting)
    assert.equal("nccl all-reduce sum bf16 ring ll", page.labels[page.gpu.label[1] + 1])
    assert.equal(0, page.busy.count)
  end)

  it("show a few decode steps first, by the numbers that the tables have", function()
    local page = read(rank_events.encode(four()))
    local seen = {}
    for row = 1, page.mark.count do
      local start = page.mark.start[row]
      if page.mark.lane[row] == 0 and start >= page.view.first and start < page.view.last then
        seen[#seen + 1] = page.labels[page.mark.label[row] + 1]
      end
    end
    assert.equal(4, #seen)
    for _, label in ipairs(seen) do assert.matches("^decode, step %d+$", label) end
  end)

  it("are as many as fit, the rest in shares", function()
    local most = encode.MOST
    encode.MOST = 40
    finally(function() encode.MOST = most end)
    local page = read(rank_events.encode(four()))
    assert.is_true(page.gpu.count + page.mark.count <= 40)
    assert.is_true(page.gpu.count > 0)
    assert.is_true(page.busy.count > 0)
  end)

  -- The timeline of one rank's trace with the lanes of all.
  local function beside(number)
    local files = ranks.four()
    local trace = trace_file.open(files[number + 1])
    local found = stages.find(trace, { { name = "prefill" }, { name = "decode" } }, false)
    local views, own = rank_view.beside(select(2, examine(ranks.parts(files), {})), trace)
    return read(events.encode { trace = trace, found = found, kernels = {}, collectives = own,
      ranks = views, layers = function() return {} end })
  end

  -- By start, what an event of lanes that `is_wanted` is: { duration, waiting }.
  local function by_start(page, is_wanted)
    local list, count = {}, 0
    for row = 1, page.gpu.count do
      if is_wanted(page.lanes[page.gpu.lane[row] + 1]) then
        list[page.gpu.start[row]] = { page.gpu.duration[row], page.gpu.waiting[row] or 0 }
        count = count + 1
      end
    end
    return list, count
  end

  it("lie beside a trace's own on its clock, whichever rank it is of", function()
    for _, number in ipairs { 0, 2 } do
      local page = beside(number)
      local own = by_start(page, function(lane) return lane.rank == nil end)
      local drawn, count = by_start(page, function(lane)
        return lane.rank == number and lane.kind == "gpu"
      end)
      assert.equal(1200, count)
      for start, event in pairs(drawn) do assert.same(event, own[start]) end
      for rank = 0, 3 do
        assert.equal(("rank %d, steps"):format(rank), page.lanes[rank + 1].title)
        assert.equal(("rank %d, collectives"):format(rank), page.lanes[rank + 5].title)
      end
    end
  end)

  it("take no more room beside a trace than it has", function()
    local most = encode.MOST
    encode.MOST = 2000
    finally(function() encode.MOST = most end)
    local page = beside(0)
    assert.is_true(page.gpu.count + page.api.count + page.range.count <= 2000)
    local shares = {}
    for _, lane in ipairs(page.busy.lane) do shares[lane] = (shares[lane] or 0) + 1 end
    for lane = 0, 7 do assert.equal(1024, shares[lane]) end
  end)

  it("are put back on a clock that drifts", function()
    local found = four().collectives
    local clock = { offset = 5000000, drift = 1e-4, at = 70000000 }
    local there = assert(pack.join({ found }, { clock }, { "start" }))
    local back = assert(pack.join({ there }, { clocks.inverse(clock) }, { "start" }))
    for row = 1, #found do
      assert.is_true(math.abs(found:get(row, "start") - there:get(row, "start")) > 1000000)
      assert.is_true(math.abs(found:get(row, "start") - back:get(row, "start")) <= 2)
    end
  end)

  it("are none beside a trace of another session", function()
    local trace = trace_file.open(ranks.VLLM)
    assert.is_nil(rank_view.beside(select(2, examine(ranks.parts(ranks.four()), {})),
      trace))
  end)

  it("are none of ranks without steps and collectives", function()
    assert.is_nil(rank_events.encode {})
  end)
end)
