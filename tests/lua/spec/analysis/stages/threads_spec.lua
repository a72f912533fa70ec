-- Stages that several threads run side by side, on streams of their own; ranges that are there
-- twice.
local invariants = require "llmprof.analysis.timeline.invariants"
local stages = require "llmprof.analysis.stages.find"
local timeline = require "tests.lua.support.timeline"
local waiting = require "llmprof.analysis.stages.idle_causes"

local DECLARED = { { name = "LLM:decode", step = "LLM:step" } }

-- Three threads on two streams, 20 steps of 12 launches each in ranges of a domain. twice: each
-- range is written twice.
local function lines(twice)
  local list, id = { "knows calls", "device 0 NVIDIA H200" }, 0
  local function range(from, to, thread, name)
    local line = ("range %d %d thread=%d domain=LLM %s"):format(from, to, thread, name)
    list[#list + 1] = line
    if twice then list[#list + 1] = line end
  end
  for thread = 1, 3 do
    local stream, from = thread == 3 and 2 or 1, 1000000 + thread * 40000
    for step = 0, 19 do
      local at = from + step * 120000
      for launch = 0, 11 do
        id = id + 1
        list[#list + 1] = ("call %d %d thread=%d id=%d cudaLaunchKernel"):format(at + launch * 8000,
          at + launch * 8000 + 4000, thread, id)
        list[#list + 1] = ("kernel %d %d call=%d stream=%d gemm"):format(at + launch * 8000 + 5000,
          at + launch * 8000 + 9000, id, stream)
      end
      range(at - 1000, at + 110000, thread, "step")
    end
    range(from - 2000, from + 20 * 120000, thread, "decode")
  end
  return table.concat(list, "\n") .. "\n"
end


describe("a stage of several threads", function()
  for _, twice in ipairs { false, true } do
    it("is that of each thread's range" .. (twice and ", there twice" or ""), function()
      local found = stages.find(timeline.of(lines(twice)), DECLARED, "auto")
      assert.equal(3, #found.instances)
      for _, instance in ipairs(found.instances) do
        assert.near(2402000, instance.wall, 10000)
        assert.is_true(instance.busy <= instance.wall and instance.idle >= 0)
        assert.same({ 20, 240, 240 }, { #instance.steps, instance.launches, instance.kernels })
        for i = 2, 20 do
          local step = instance.steps[i]
          assert.near(120000, step.stop - step.start, 1000)
        end
      end
      assert.same({ twice and 6 or 3, 1 }, { #stages.used_ranges(found), found.repeats.count })
    end)
  end

  it("is refused where it is busy for longer than it takes", function()
    local right = { wall = 10, busy = 10, idle = 0 }
    assert.is_nil(invariants.walls { found = { instances = { right } } })
    local seen = invariants.walls { found = { instances = { right,
      { wall = 10, busy = 11, idle = 0 } } } }
    assert.same({ 0.5, "1 of 2 stages are busy for longer than they take" },
      { seen.share, seen.text })
  end)

  it("numbers repeats by thread where each runs all stages", function()
    local found = stages.find(timeline.of [[
device 0 H200
range 0 10 thread=1 prefill
range 5 15 thread=2 prefill
range 20 30 thread=1 decode
range 25 35 thread=2 decode
range 40 50 thread=1 prefill
range 45 55 thread=2 prefill
range 60 70 thread=1 decode
range 65 75 thread=2 decode
]], { { name = "prefill" }, { name = "decode" } }, "no")
    local reps = {}
    for i, instance in ipairs(found.instances) do reps[i] = instance.rep end
    assert.same({ 1, 1, 1, 1, 2, 2, 2, 2 }, reps)
    assert.equal(2, found.repeats.count)
  end)
end)


-- The GPU waits 90 of 100 for thread 1 of process 1.
local ALONE = [[
knows calls
device 0 H200
range 0 100 decode
call 10 14 id=1 cudaLaunchKernel
kernel 20 30 call=1 a
]]

-- Thread 1 of another process launches nothing, and waits all the time.
local OTHER = "call 0 100 pid=2 id=1 cudaStreamSynchronize\n"

describe("threads of two processes with one number", function()
  it("are two", function()
    local function split(program)
      local trace = timeline.of(program)
      return waiting.classifier(trace, stages.find(trace, { { name = "decode" } }, "no"))(
        { start = 0, stop = 100 })
    end
    assert.same({ launch = 4, host = 86, sync = 0, memory = 0, other = 0 }, split(ALONE))
    assert.same(split(ALONE), split(ALONE .. OTHER))
  end)

  it("have their own calls where ranges of several threads overlap", function()
    local program = {}
    for pid = 1, 2 do
      for thread = 1, 2 do
        local settings = ("pid=%d thread=%d"):format(pid, thread)
        program[#program + 1] = ("range %d %d %s decode"):format(thread, 90 + thread, settings)
        program[#program + 1] = ("call %d %d %s id=%d cudaStreamSynchronize"):format(10 * thread,
          10 * thread + 5, settings, thread)
        program[#program + 1] = ("kernel 20 30 call=%d pid=%d device=%d a"):format(thread, pid, pid)
      end
    end
    local trace = timeline.of("knows calls\ndevice 1 H200\ndevice 2 H200\n"
      .. table.concat(program, "\n") .. "\n")
    local found = stages.find(trace, { { name = "decode" } }, "no")
    assert.same({ calls = 1, ns = 5 }, waiting.api_time(trace)(found.instances).sync)
  end)
end)
