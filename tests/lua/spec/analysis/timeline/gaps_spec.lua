-- The longest times in which the GPU did nothing.
local frame = require "llmprof.frame"
local gaps = require "llmprof.analysis.timeline.gaps"
local rows = require "llmprof.report.rows"
local stages = require "llmprof.analysis.stages.find"
local timeline = require "tests.lua.support.timeline"

local function longest(lines, given)
  local trace = timeline.of("knows calls\nthread 1 pid=1 main\n" .. lines)
  local made = { trace = trace, kernels = {}, layers = function() return {} end,
    found = stages.find(trace, { { name = "prefill" }, { name = "decode", step = "step" } },
      { skip_first = false }) }
  for key, value in pairs(given or {}) do made[key] = value end
  return gaps.longest(made)
end

local ONE = [[
range 0 100000 thread=1 prefill
range 100000 300000 thread=1 decode
range 100000 200000 thread=1 step
range 200000 300000 thread=1 step
call 1000 1100 id=1 cudaLaunchKernel
kernel 2000 50000 call=1 one<int>
call 50000 60000 id=9 cudaStreamSynchronize
call 110000 119000 id=2 cudaLaunchKernel
kernel 120000 190000 call=2 two
call 195000 259000 id=3 cudaLaunchKernel
kernel 260000 300000 call=3 one<int>
]]


describe("the longest gaps", function()
  it("say when, where, what the CPU was in, and what ran around them", function()
    local list = longest(ONE, { kernels = { { name = "one<int>", label = "one" } },
      layers = function(window)
        return { { start = window.first, stop = window.last + 1, index = 4 } }
      end })
    assert.equal(3, #list)
    assert.same({ rep = 1, start_ns = 50000, ns = 70000, stage = "decode", step = 0, layer = 4,
      launch_ns = 9000, sync_ns = 10000, memory_ns = 0, other_ns = 0, host_ns = 51000,
      call = "cudaStreamSynchronize", call_ns = 10000, before = "one", ended_by = "two" }, list[1])
    assert.same({ 190000, 70000, "cudaLaunchKernel", 64000 }, { list[2].start_ns, list[2].ns,
      list[2].call, list[2].call_ns })
    assert.same({ "no CUDA call (73 %)", "cudaLaunchKernel (91 %)" },
      { rows.gaps({ gaps = list })[1].cpu, rows.gaps({ gaps = list })[2].cpu })
  end)

  it("say in which function samples of the CPU were taken, else towards which it went", function()
    local times = { 49000, 51000, 60500, 70000, 80000, 130000 } -- the second to fifth lie in it
    local pids = { 1, 1, 1, 1, 2, 1 }
    local samples = assert(frame.new(#times, {
      { name = "time", type = "integer", values = times },
      { name = "pid", type = "integer", values = pids } }))
    local plain = timeline.of("knows calls\nthread 1 pid=1 main\n" .. ONE)
    local asked = {}
    local fake = { has = function() return true end,
      knows = function() return false end,
      frame = function(_, name)
        return name == "cpu_samples" and samples or plain:frame(name)
      end,
      stack_functions = function(_, inside)
        asked[#asked + 1] = #inside
        return frame.new(2, { { name = "name", type = "string", values = { "main", "tokenize" } },
          { name = "self", type = "integer", values = { 0, 2 } },
          { name = "total", type = "integer", values = { 3, 2 } } })
      end }
    local list = longest(ONE, { trace = fake })
    assert.same({ 4, 0, 0 }, asked)
    assert.same({ 4, "tokenize", 2 }, { list[1].samples, list[1].sampled, list[1].sampled_count })
    assert.equal("no CUDA call (73 %), in tokenize in 2 of 4 samples",
      rows.gaps({ gaps = list })[1].cpu)
    list[1]["function"] = "forward"
    assert.equal("no CUDA call (73 %), on the way to forward", rows.gaps({ gaps = list })[1].cpu)
  end)

  it("are as many as are told, the longest, of all repeats", function()
    local lines = {}
    for i = 0, 40 do
      lines[#lines + 1] = ("range %d %d thread=1 decode"):format(i * 100000, i * 100000 + 90000)
      lines[#lines + 1] = ("kernel %d %d x"):format(i * 100000, i * 100000 + 1000)
      lines[#lines + 1] = ("kernel %d %d x"):format(i * 100000 + 20000 + i, i * 100000 + 90000)
    end
    local list = longest(table.concat(lines, "\n") .. "\n")
    assert.equal(gaps.MOST, #list)
    for i, gap in ipairs(list) do assert.equal(19000 + 41 - i, gap.ns) end
  end)

  it("are none of a GPU that is never idle", function()
    assert.same({}, longest "range 0 5000 thread=1 decode\nkernel 0 5000 x\n")
  end)
end)
