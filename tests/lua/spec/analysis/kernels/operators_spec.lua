-- Operators of one run on the timeline of another.
local bundle = require "tests.lua.support.bundle"
local fs = require "llmprof.fs"
local joined = require "llmprof.analysis.kernels.operators"
local operators = require "llmprof.run.operators"
local stages = require "llmprof.analysis.stages.find"
local timeline = require "tests.lua.support.timeline"
local told_twice = require "tests.lua.support.told_twice"
local trace_file = require "llmprof.trace.file"

local DECLARED = { { name = "prefill" }, { name = "decode" } }


describe("llmprof.analysis.kernels.operators", function()
  local scratch = bundle.scratch(before_each, after_each)

  local function recorded(profile)
    local path = scratch() .. "/run.pt.trace.json"
    assert(fs.write(path, profile))
    return assert(operators.load(path))
  end

  -- How many launches there are, joined an operator, the right one, and the right module.
  local function judge(here, profile)
    local trace, truth = told_twice.timeline(here)
    local ops = joined.find(trace, stages.find(trace, DECLARED, "no"), recorded(profile))
    local found = { all = #ops, joined = 0, right = 0, module = 0, order = 0 }
    for row = 1, #ops do
      local operator, one = ops:get(row, "operator"), truth[ops:get(row, "start")]
      if operator then found.joined = found.joined + 1 end
      if operator == one.one[3] then found.right = found.right + 1 end
      if ops:get(row, "module") == one.module then found.module = found.module + 1 end
      if ops:get(row, "joined_by") == "order" then found.order = found.order + 1 end
    end
    return found
  end

  it("joins more repeats and steps than were recorded, streams in any order", function()
    local found = judge(told_twice.program(3, 12),
      told_twice.profile(told_twice.program(1, 4), true))
    assert.equal(3 * 13 * 56, found.all)
    assert.same({ all = found.all, joined = found.all, right = found.all, module = found.all,
      order = found.all }, found)
  end)

  it("does without ranges around stages", function()
    local found = judge(told_twice.program(2, 12), told_twice.profile(told_twice.program(1, 4)))
    assert.equal(found.all, found.right)
  end)

  it("passes over what one run lacks and the other does not know", function()
    local here = told_twice.damage(told_twice.program(3, 12), 41, told_twice.dropped)
    here = told_twice.damage(here, 97, told_twice.joined_by_another)
    local there = told_twice.damage(told_twice.program(1, 4), 59, told_twice.dropped)
    local found = judge(here, told_twice.profile(there, true))
    assert.is_true(found.joined < found.all) -- nobody launched the strangers there
    assert.is_true(found.joined >= 0.95 * found.all)
    assert.is_true(found.right >= 0.99 * found.joined)
    assert.is_true(found.module >= 0.85 * found.all)
  end)

  it("joins by name alone what only one operator launches", function()
    local given = recorded(told_twice.profile(told_twice.program(1, 4), true))
    given.launches = nil
    table.insert(given.operators, { name = "Activity Buffer Request", calls = 1, host_self_ns = 1,
      host_total_ns = 1, kernels = { { name = "void act<1>(float)", calls = 1, device_ns = 10 } } })
    local trace, truth = told_twice.timeline(told_twice.program(2, 3))
    local ops = joined.find(trace, stages.find(trace, DECLARED, "no"), given)
    for row = 1, #ops do
      local one = truth[ops:get(row, "start")].one
      local name = one[1]
      local several = name == "gemm" or name:find("copy", 1, true) == 6
      assert.equal(not several and one[3] or nil, ops:get(row, "operator"))
      assert.equal(not several and "name" or nil, ops:get(row, "joined_by"))
    end
  end)

  it("joins kernels of a graph by names that one operator launches outside of it", function()
    local trace = timeline.of [[
process 1 python
thread 1 main
call 10 20 id=1 cudaLaunchKernel
range 0 50 prefill
call 110 120 id=2 cudaGraphLaunch
call 130 140 id=3 cudaLaunchKernel
range 100 150 decode
kernel 21 25 call=1 stream=7 short=k act
kernel 121 125 call=2 stream=7 short=k act
kernel 141 145 call=3 stream=7 short=k act
]]
    local ops = joined.find(trace, stages.find(trace, DECLARED, "no"), { operators = {},
      launches = { kernels = { "act" }, operators = { "aten::silu" }, places = {
        { kernel = 0, operator = 0 }, { kernel = 0 } }, stages = {
        { name = "prefill", order = "0" }, { name = "decode", order = "1 1" } } } })
    local order = assert(ops:sort { { "start", false } })
    assert.same({ "order", "name", nil }, { order:get(1, "joined_by"), order:get(2, "joined_by"),
      order:get(3, "joined_by") or nil })
    assert.same({ "aten::silu", "aten::silu" }, { order:get(1, "operator"),
      order:get(2, "operator") })
  end)

  it("joins nothing by lists of kernels that were cut", function()
    local given = recorded(told_twice.profile(told_twice.program(1, 1)))
    given.launches = nil
    given.operators[1].kernels = nil
    local trace = told_twice.timeline(told_twice.program(1, 1))
    assert.is_nil(joined.find(trace, stages.find(trace, DECLARED, "no"), given))
  end)

  it("sums up what joined, with the idle time before it", function()
    local trace = told_twice.timeline(told_twice.program(2, 2))
    local found = stages.find(trace, DECLARED, "no")
    local made = joined.summary(trace, found,
      joined.find(trace, found, recorded(told_twice.profile(told_twice.program(1, 2), true))))
    assert.same({ launches = 2 * 3 * 56, gpu_time_ns = 2 * 3 * 56 * 4 }, made.by_order)
    assert.same({ 0, 2 * 3 * 56, 2 * 3 * 56 * 4 },
      { made.by_name.launches, made.launches, made.gpu_time_ns })
    local of = {}
    for _, row in ipairs(made.operators) do of[row.stage .. " " .. row.name] = row end
    assert.same({ stage = "decode", name = "aten::mm", launches = 72, gpu_time_ns = 288,
      share = 72 / 224, outside_ns = of["decode aten::mm"].outside_ns }, of["decode aten::mm"])
    assert.equal(made.outside_ns, made.joined_outside_ns)
    local outside, idle = 0, 0
    for _, row in ipairs(made.operators) do outside = outside + row.outside_ns end
    assert.equal(made.outside_ns, outside)
    for _, instance in ipairs(found.instances) do idle = idle + instance.idle end
    assert.is_true(outside > 0 and outside <= idle)
  end)

  it("names the line that launched most of each", function()
    local trace = trace_file.open "tests/fixtures/torch/lines.json"
    local found, operators_of = stages.find(trace, DECLARED, "no"), {}
    for i, name in ipairs { "gemm", "embed" } do
      operators_of[i] = { name = "of " .. name, calls = 1, host_self_ns = 1, host_total_ns = 1,
        kernels = { { name = name, calls = 1, device_ns = 1 } } }
    end
    local made = joined.summary(trace, found,
      joined.find(trace, found, { operators = operators_of }))
    local of = {}
    for _, row in ipairs(made.operators) do of[row.name] = row.line .. " " .. row["function"] end
    assert.same({ ["of gemm"] = "m/model.py:5 forward", ["of embed"] = "m/model.py:9 forward" },
      of)
  end)

  it("takes no harm from numbers that name nothing", function()
    local given = recorded(told_twice.profile(told_twice.program(1, 1), true))
    local trace = told_twice.timeline(told_twice.program(1, 1))
    local found = stages.find(trace, DECLARED, "no")
    given.launches.modules = nil
    given.launches.places[1].kernel, given.launches.places[2].operator = 10 ^ 6, 10 ^ 6
    given.launches.stages[1].order = "0 " .. ("9"):rep(400) .. " 777 1 2 3"
    local ops = joined.find(trace, found, given)
    assert.is_true(joined.summary(trace, found, ops).by_order.launches > 0)
  end)

  it("joins nothing where nothing ran, or no repeat counts", function()
    local given = recorded(told_twice.profile(told_twice.program(1, 1), true))
    local empty = told_twice.timeline {}
    assert.is_nil(joined.find(empty, { whole = true, instances = {}, declared = {} }, given))
    local trace = told_twice.timeline(told_twice.program(1, 1))
    local found = stages.find(trace, DECLARED, "no")
    local ops = joined.find(trace, found, given)
    for _, instance in ipairs(found.instances) do instance.used = false end
    assert.is_nil(joined.summary(trace, found, ops))
  end)

  it("keeps as many launches as it says", function()
    local most = operators.MOST_LAUNCHES
    operators.MOST_LAUNCHES = 100
    finally(function() operators.MOST_LAUNCHES = most end)
    local given = recorded(told_twice.profile(told_twice.program(1, 2), true)).launches
    assert.equal(3 * 56 - 100, given.left_out)
    assert.same({ "prefill", "decode" }, { given.stages[1].name, given.stages[2].name })
    assert.equal(44, select(2, given.stages[2].order:gsub("%d+", "")))
  end)
end)
