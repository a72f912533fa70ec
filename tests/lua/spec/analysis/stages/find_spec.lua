local stages = require "llmprof.analysis.stages.find"
local timeline = require "tests.lua.support.timeline"
local traces = require "tests.lua.support.traces"

describe("llmprof.analysis.stages.find", function()
  it("finds the ranges of each stage, by start", function()
    local _, found = traces.open "small"
    local names = {}
    for i, instance in ipairs(found.instances) do
      names[i] = ("%s %d %d-%d%s"):format(instance.stage, instance.rep, instance.start,
        instance.stop, instance.used and "" or " unused")
    end
    assert.same({ "prefill 1 1000-5000 unused", "vision 1 1200-3000 unused",
      "decode 1 5000-9000 unused", "prefill 2 10000-11000", "vision 2 10100-10500",
      "decode 2 11000-13130", "prefill 3 20000-21000", "vision 3 20100-20500",
      "decode 3 21000-23130" }, names)
    assert.is_false(found.whole)
    assert.same({}, found.missing)
  end)

  it("counts what each launched, done in the range or behind it", function()
    local _, found = traces.open "small"
    local picked = traces.pick(found.instances, "wall", "busy", "idle", "gpu_time", "kernels",
      "copies", "launches")
    assert.same({ wall = 1000, busy = 290, idle = 710, gpu_time = 290, kernels = 2, copies = 1,
      launches = 3 }, picked[4])
    assert.same({ wall = 400, busy = 200, idle = 200, gpu_time = 200, kernels = 1, copies = 0,
      launches = 1 }, picked[5])
    assert.same({ wall = 2130, busy = 180, idle = 1950, gpu_time = 180, kernels = 2, copies = 1,
      launches = 3 }, picked[6])
  end)

  it("lets a stage begin when the GPU could, and end with its last operation", function()
    local _, found = traces.open("ahead", { { name = "LLM:prefill" }, { name = "LLM:decode" } })
    local list = {}
    for i = 3, 4 do
      local instance = found.instances[i]
      list[i - 2] = ("%s %d-%d, on the CPU %d-%d, idle %d"):format(instance.stage,
        instance.start, instance.stop, instance.host_start, instance.host_stop, instance.idle)
    end
    assert.same({ "LLM:prefill 201000-221200, on the CPU 201000-201500, idle 200",
      "LLM:decode 221200-320000, on the CPU 201600-320000, idle 56920" }, list)
  end)

  it("leaves a slow first repeat out", function()
    local _, found = traces.open "small"
    assert.same({ count = 3, used = 2, skipped_first = true, slowdown = 8000 / 3130,
      first_is_outlier = true, first_excess_ns = 4870, left_out = {
        { stage = "prefill", rep = 1, ns = 4000, usual_ns = 1000 },
        { stage = "decode", rep = 1, ns = 4000, usual_ns = 2130 } } }, found.repeats)
    assert.same({ 3, 5, 8, 10 }, stages.used_ranges(found))
  end)

  it("compares repeats by their times where one of them lost its steps", function()
    local lines = {}
    for number, steps in ipairs { 2, 3, 0 } do
      local from = number * 1000
      lines[#lines + 1] = ("range %d %d decode"):format(from, from + 900)
      for step = 1, steps do
        local at = from + 100 * step
        lines[#lines + 1] = ("range %d %d decode_step"):format(at, at + 90)
        lines[#lines + 1] = ("call %d %d id=%d cudaLaunchKernel"):format(at + 10, at + 20, at)
        lines[#lines + 1] = ("kernel %d %d call=%d gemm"):format(at + 30, at + 80, at)
      end
    end
    local found = stages.find(timeline.of("knows calls\ndevice 0 H200\n"
      .. table.concat(lines, "\n") .. "\n"), { { name = "decode", step = "decode_step" } }, "auto")
    assert.same({ 3, 3 }, { #found.instances, found.repeats.count })
  end)

  it("does as the policy says", function()
    local _, found = traces.open("small", nil, "no")
    assert.same({ 3, false }, { found.repeats.used, found.repeats.skipped_first })
    -- steps are repeats of their own, and all alike
    _, found = traces.open("small", { { name = "decode_step" } })
    assert.same({ 4, false }, { found.repeats.used, found.repeats.skipped_first })
    _, found = traces.open("small", { { name = "decode_step" } }, "yes")
    assert.same({ 3, true }, { found.repeats.used, found.repeats.skipped_first })
  end)

  it("leaves out what the capture ended in where another one of its stage is whole", function()
    local lines = "range %d %s prefill\ncall %d %d id=%d cudaLaunchKernel\nkernel %d %d call=%d k\n"
    local text = "knows calls\ndevice 0 H200\n"
    for i, stop in ipairs { "1900", "2900", "-" } do
      local at = i * 1000
      text = text .. lines:format(at, stop, at + 10, at + 20, i, at + 30, at + 300, i)
    end
    text = text .. "range 3400 3500 other\n"
    local found = stages.find(timeline.of(text), { { name = "prefill" } }, "auto")
    assert.same({ { stage = "prefill", rep = 3, cut = true, ns = 500, usual_ns = 900 } },
      found.repeats.left_out)
    assert.is_false(found.instances[3].used)
  end)

  it("ends a stage without an end where the next one begins", function()
    local found = stages.find(timeline.of [[
knows calls
device 0 H200
range 1000 - prefill
range 1100 1200 encode
call 1010 1020 id=1 cudaLaunchKernel
kernel 1030 1300 call=1 k
range 2000 2900 decode
call 2010 2020 id=2 cudaLaunchKernel
kernel 2030 2300 call=2 k
]], { { name = "prefill" }, { name = "encode", parent = "prefill" }, { name = "decode" } }, "auto")
    assert.equal(2000, found.instances[1].stop)
    assert.is_nil(found.repeats.cut)
  end)

  it("takes a range that goes on long after the GPU for one in which the capture ended", function()
    local text = "knows calls\ndevice 0 H200\n"
    local function found(stops)
      local lines = text
      for i, stop in ipairs(stops) do
        local at = i * 1000
        lines = lines .. ("range %d %d prefill\ncall %d %d id=%d cudaLaunchKernel\n"
          .. "kernel %d %d call=%d k\n"):format(at, stop, at + 10, at + 20, i, at + 30, at + 300, i)
      end
      return stages.find(timeline.of(lines), { { name = "prefill" } }, "auto")
    end
    local several = found { 1320, 2310, 9000 }
    assert.same({ { stage = "prefill", rep = 3, cut = true, ns = 300, usual_ns = 315 } },
      several.repeats.left_out)
    assert.is_nil(found({ 1900, 2900, 3900 }).repeats.left_out)
    local alone = found { 9000 }
    assert.same({ 8000, 7700 }, { alone.instances[1].wall, alone.instances[1].tail })
    -- what lies in it ends with it: the tool stopped
    text = text .. "range 1005 9000 layer\n"
    assert.same({ "prefill" }, found({ 9000 }).repeats.cut)
  end)

  it("keeps the only repeat", function()
    local _, found = traces.open("broken", nil, "yes")
    assert.same({ count = 1, used = 1, skipped_first = false, cut = { "decode" } }, found.repeats)
  end)

  it("names stages that are not there", function()
    local _, found = traces.open("small", { { name = "prefill" }, { name = "verify" } })
    assert.same({ "verify" }, found.missing)
  end)

  it("takes the whole run where no stage is there", function()
    local _, found = traces.open("small", { { name = "verify" } })
    assert.is_true(found.whole)
    assert.same({ "verify" }, found.missing)
    assert.same({ { name = "whole run" } }, found.declared)
    assert.same({ { stage = "whole run", start = 1400, stop = 30150, rep = 1, used = true,
      wall = 28750, busy = 1960, idle = 26790, gpu_time = 1960, kernels = 11, copies = 4,
      sets = 0, graphs = 0, launches = 15, done = 30150 } }, found.instances)
  end)
end)
