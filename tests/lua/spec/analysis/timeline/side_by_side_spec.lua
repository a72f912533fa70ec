-- Two processes whose stages run at the same time: what is counted of each is its own.
local integrity = require "llmprof.analysis.timeline.integrity"
local stages = require "llmprof.analysis.stages.find"
local timeline = require "tests.lua.support.timeline"
local traces = require "tests.lua.support.traces"
local waiting = require "llmprof.analysis.stages.idle_causes"
local breakdown = require "llmprof.analysis.stages.breakdown"

-- Two decodes of three steps each in both processes; a step launches a kernel and
-- waits for it.
local function lines()
  local list, id = { "knows calls" }, 0
  local function add(...) list[#list + 1] = string.format(...) end
  for process = 1, 2 do
    add("device %d NVIDIA H200", process - 1)
    add("process %d python", process)
    add("thread %d pid=%d main", process, process)
    for decode = 0, 1 do
      local from = decode * 1000 + process
      add("range %d %d thread=%d pid=%d decode", from, from + 700, process, process)
      for step = 0, 2 do
        local at = from + 10 + step * 200
        id = id + 1
        add("range %d %d thread=%d pid=%d decode_step", at, at + 190, process, process)
        add("call %d %d thread=%d pid=%d id=%d cudaLaunchKernel_v7000", at + 10, at + 20, process,
          process, id)
        add("kernel %d %d call=%d pid=%d device=%d gemm(float *)", at + 30, at + 130, id, process,
          process - 1)
        add("call %d %d thread=%d pid=%d id=%d cudaStreamSynchronize_v3020", at + 40, at + 140,
          process, process, id + 100)
      end
    end
  end
  return table.concat(list, "\n") .. "\n"
end


describe("stages of two processes side by side", function()
  local trace = timeline.of(lines())
  local found = stages.find(trace, traces.declared, "no")

  local function decodes()
    local list = {}
    for _, instance in ipairs(found.instances) do
      if instance.stage == "decode" then list[#list + 1] = instance end
    end
    return list
  end

  it("are found, two of each", function()
    local pids = {}
    for i, instance in ipairs(decodes()) do pids[i] = instance.pid end
    table.sort(pids)
    assert.same({ 1, 1, 2, 2 }, pids)
  end)

  it("have their own steps, none of which is idle", function()
    local given = integrity.judge { trace = trace, found = found }
    for _, check in ipairs(given.checks) do
      if check.name == "work" then
        assert.same({ "ok", "repeats and steps of a stage run about as many kernels" },
          { check.level, check.text })
        return
      end
    end
    error "the check work is missing"
  end)

  it("have their own calls", function()
    local time = waiting.api_time(trace)(decodes())
    assert.same({ calls = 3, ns = 300 }, time.sync)
    assert.same({ calls = 3, ns = 30 }, time.launch)
  end)

  it("wait for the GPU once a step", function()
    local kernels = { { name = "gemm(float *)", category = "gemm" } }
    local groups = breakdown.waits_grouper(trace, found.ops, kernels)(decodes())
    local calls = 0
    for _, group in ipairs(groups) do calls = calls + group.calls end
    assert.equal(3, calls)
  end)
end)
