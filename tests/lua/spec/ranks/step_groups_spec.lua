-- Steps that are known, grouped.
local frame = require "llmprof.frame"
local rank_part = require "llmprof.ranks.part"
local rank_view = require "llmprof.analysis.serving.ranks"
local stages = require "llmprof.analysis.stages.find"
local step_groups = require "llmprof.ranks.step_groups"
local timeline = require "tests.lua.support.timeline"

local MEASURES = { "length", "interval", "idle", "busy", "gpu_time", "comm_time", "comm_hidden",
  "waiting", "transfer", "kernels", "moves", "collectives", "graphed", "idle_sync", "idle_launch",
  "idle_memory", "idle_other", "cpu" }

-- Steps of decode, each with its rank and its length.
local function steps_of(list)
  local columns = { { name = "world", type = "integer", values = {} },
    { name = "phase", type = "string", values = {} } }
  for i, name in ipairs(MEASURES) do
    columns[2 + i] = { name = name, type = "integer", values = {} }
  end
  for row, step in ipairs(list) do
    columns[1].values[row], columns[2].values[row] = step[1], "decode"
    for i = 1, #MEASURES do columns[2 + i].values[row] = i == 1 and step[2] or 0 end
  end
  return assert(frame.new(#list, columns))
end

local function lengths(rank, count)
  local list = {}
  for i = 1, count do list[i] = { rank, 100 * i } end
  return list
end

describe("groups of steps", function()
  it("leave out the repeats that stages leave out, with one rank as with several", function()
    local lines, declared = { "knows calls", "device 0 H200" }, { { name = "prefill" } }
    for number, ms in ipairs { 300, 10, 10 } do
      local from = number * 1000000000
      lines[#lines + 1] = ("range %d %d prefill"):format(from, from + ms * 1000000)
      lines[#lines + 1] = ("call %d %d id=%d cudaLaunchKernel"):format(from + 10, from + 20, number)
      lines[#lines + 1] = ("kernel %d %d call=%d gemm"):format(from + 30,
        from + ms * 1000000 - 10, number)
    end
    local trace = timeline.of(table.concat(lines, "\n") .. "\n")
    local found = stages.find(trace, declared, "auto")
    local knowledge = rank_view.knowledge(declared, nil, found)
    knowledge.uncounted = rank_view.uncounted(trace, found)
    local record = rank_view.record({ rank_part.of(trace, "run.sqlite", knowledge) }, knowledge)
    local group = record.stages[1]
    assert.same({ "prefill", 2 }, { group.phase, group.count })
    assert.near(10e6, group.mean_ns, 100)
    assert.near(10e6, group.ranks[1].mean_ns, 100)
    assert.equal(2, #record.step_rows)
  end)

  it("have percentiles of as many steps as these need", function()
    local few = step_groups.list(steps_of(lengths(0, 9)), { "phase" })[1]
    assert.same({ 9, 500.0, 900 }, { few.count, few.p50_ns, few.max_ns })
    assert.is_nil(few.p90_ns)
    assert.is_nil(step_groups.list(steps_of(lengths(0, 1)), { "phase" })[1].p50_ns)
    assert.equal(910.0, step_groups.list(steps_of(lengths(0, 10)), { "phase" })[1].p90_ns)
  end)

  it("count a step that several ranks make once", function()
    local function of(count)
      local both = lengths(0, count)
      table.move(lengths(1, count), 1, count, count + 1, both)
      return step_groups.list(steps_of(both), { "phase" })[1]
    end
    assert.same({ 6, 350.0 }, { of(6).count, of(6).p50_ns })
    assert.is_nil(of(6).p90_ns)
    assert.is_nil(of(6).ranks[1].p90_ns)
    assert.equal(10, of(10).count)
    assert.near(910, of(10).p90_ns, 1e-9)
    assert.is_nil(of(1).p50_ns)
  end)

  it("are of all steps where a rank has few of them, and none is then the slowest", function()
    local both = lengths(0, 8)
    both[#both + 1] = { 1, 3600 }
    local made = step_groups.list(steps_of(both), { "phase" })[1]
    assert.same({ 9, 800.0 }, { made.count, made.mean_ns })
    assert.is_nil(made.slowest_rank)
    assert.is_nil(made.spread_ns)
    assert.same({ 450.0, 3600.0 }, { made.ranks[1].mean_ns, made.ranks[2].mean_ns })
    table.move({ { 1, 400 }, { 1, 400 }, { 1, 400 }, { 1, 400 } }, 1, 4, 10, both)
    made = step_groups.list(steps_of(both), { "phase" })[1]
    assert.same({ 8, 1, 1040.0, 590.0 }, { made.count, made.slowest_rank, made.slowest_ns,
      made.spread_ns })
  end)
end)
