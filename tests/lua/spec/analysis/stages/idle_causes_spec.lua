-- What the CPU is not held to account for: idle time within replays of CUDA graphs.
local breakdown = require "llmprof.analysis.stages.breakdown"
local find = require "llmprof.analysis.stages.find"
local timeline = require "tests.lua.support.timeline"
local summary = require "llmprof.analysis.stages.summary"
local waiting = require "llmprof.analysis.stages.idle_causes"

-- Two replays, launched one after the other, 30 of 100 idle in each, 20 between them; then an
-- eager kernel that is launched late.
local REPLAYS = [[
range 0 400 thread=1 decode
call 10 20 id=1 cudaGraphLaunch
call 20 30 id=2 cudaGraphLaunch
kernel 30 60 call=1 node=1 a
kernel 90 130 call=1 node=2 b
kernel 150 180 call=2 node=1 a
kernel 210 250 call=2 node=2 b
call 300 310 id=3 cudaLaunchKernel
kernel 320 400 call=3 c
]]

describe("idle time", function()
  local function split_of(lines)
    local trace = timeline.of("knows calls graph_nodes\nthread 1 pid=1 main\n" .. lines)
    local found = find.find(trace, { { name = "decode" } }, "no")
    return waiting.classifier(trace, found)(found.instances[1])
  end

  it("within replays, and before those that were launched, is the graph's", function()
    -- before the first: 10 of the program, 10 in its launch, 10 until it begins
    assert.same({ graph = 10 + 30 + 20 + 30, launch = 10 + 10, host = 10 + 50 + 10, sync = 0,
      memory = 0, other = 0 }, split_of(REPLAYS))
  end)

  it("is the CPU's where no graph is replayed", function()
    assert.is_nil(split_of((REPLAYS:gsub("cudaGraphLaunch", "cudaLaunchKernel"))).graph)
  end)

  it("is nobody's where no call was recorded", function()
    local trace = timeline.of "kernel 10 40 a\nkernel 60 90 a\n"
    local found = find.find(trace, { { name = "decode" } }, "no")
    local list = summary.list(found, { found = found })
    breakdown.add(list, trace, found, {})
    assert.equal(20, list[1].gpu_idle_ns)
    for _, field in ipairs { "waiting", "waits", "api", "between_steps" } do
      assert.is_nil(list[1][field])
    end
  end)

  it("within replays makes no stage launch-bound", function()
    local function bound(graph)
      local stage = { waiting = { launch_ns = 60 - graph, host_ns = 0, graph_ns = graph } }
      summary.find_bound(stage, 0.6, 0.6 - graph / 100)
      return stage.bound, stage.bound_reason
    end
    assert.same({ "both", "the GPU is idle 60 % of the time, 20 % of the time within replays of "
      .. "graphs" }, { bound(20) })
    assert.equal("launch", (bound(5)))
  end)
end)
