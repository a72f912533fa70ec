-- Modules, layers and operators, from ranges that name them.
local modules = require "llmprof.analysis.kernels.modules"
local stages = require "llmprof.analysis.stages.find"
local marked = require "tests.lua.support.marked"
local timeline = require "tests.lua.support.timeline"

local function times(lines)
  local trace = timeline.of(lines)
  return modules.times(trace, stages.find(trace, { { name = "decode" } }, "no"))
end


local function picked(list, ...)
  local made = {}
  for i, row in ipairs(list) do
    made[i] = {}
    for place, key in ipairs { ... } do made[i][place] = row[key] or false end
  end
  return made
end


describe("ranges that name modules", function()
  it("have the work that was launched in them, with and without what is inside", function()
    local made = times(marked)
    assert.same({ { "model.layers.*", 165, 5, 2, 180, 50 }, { "model.layers.*.attn", 100, 100, 1,
      30, 30 }, { "model.layers.*.mlp", 60, 60, 2, 100, 42 } },
      picked(made.modules, "name", "gpu_ns", "gpu_self_ns", "calls", "host_ns", "host_self_ns"))
    assert.near(165 / 175, made.modules[1].share, 1e-9)
  end)

  it("have times of the CPU where no stage is marked", function()
    local made = times((marked:gsub("decode", "anything")))
    assert.same({ "whole run", "model.layers.*", 165, 2, 180 }, { made.modules[1].stage,
      made.modules[1].name, made.modules[1].gpu_ns, made.modules[1].calls,
      made.modules[1].host_ns })
  end)

  it("make layers and operators", function()
    local made = times(marked)
    assert.same({ { "model.layers.0", 120, 90 }, { "model.layers.1", 45, 90 } },
      picked(made.layers, "name", "gpu_self_ns", "host_ns"))
    assert.same({ { "aten::mm", 2, 60, 58, 58 } },
      picked(made.operators, "name", "calls", "gpu_self_ns", "host_ns", "host_self_ns"))
  end)

  it("are not looked at where none is", function()
    assert.is_nil(times("process 1 p\nthread 1 t\nrange 0 9 decode\ncall 1 2 id=1 "
      .. "cudaLaunchKernel\nkernel 3 4 call=1 short=k k()\n"))
  end)
end)
