-- Kernels of another stream that outlast their step and hold later ones up.
local other_streams = require "llmprof.analysis.stages.other_streams"
local stages = require "llmprof.analysis.stages.find"
local steps = require "llmprof.analysis.stages.steps"
local timeline = require "tests.lua.support.timeline"

local DECLARED = { { name = "decode", step = "decode_step" } }

-- Four steps of 100 ns that launch two kernels each of 20 ns, ahead of the GPU; and one kernel of
-- another stream that the first of them launches.
local function found_in(other, begins)
  local lines = { "knows calls", "device 0 H200", "range 1000 1900 decode" }
  local function add(...) lines[#lines + 1] = string.format(...) end
  local id, at = 0, begins[1]
  for step = 1, 4 do
    local from = 1000 + step * 100
    add("range %d %d decode_step", from, from + 60)
    for i = 1, 2 do
      id = id + 1
      add("call %d %d id=%d cudaLaunchKernel", from + 10 * i, from + 10 * i + 5, id)
      at = begins[id] or at
      add("kernel %d %d call=%d k", at, at + 20, id)
      at = at + 20
    end
  end
  if other then
    add("call 1135 1140 id=90 cudaLaunchKernel")
    add("kernel %d %d call=90 stream=9 %s", other[1], other[2], other[3])
  end
  local trace = timeline.of(table.concat(lines, "\n") .. "\n")
  local found = stages.find(trace, DECLARED, "no")
  return other_streams.of(trace, "decode_step", steps.of(found, DECLARED[1]))
end


describe("work of another stream", function()
  -- The second step's kernels are launched at 1225 and run from 1500 on.
  local late = { 1130, 1150, 1500 }

  it("holds up what is launched already, where it outlasts its step", function()
    -- 1140 to 1150 the main stream works; from 1225 on a kernel is launched and waits
    assert.same({ calls = 1, kernel = "large", ns = 1500 - 1215 },
      found_in({ 1140, 1500, "large" }, late))
  end)

  it("holds nothing up where the CPU has launched nothing", function()
    local held = found_in({ 1140, 1200, "large" }, late)
    assert.equal(0, held.ns)
  end)

  it("is none where its step is done later, nor a collective", function()
    assert.is_nil(found_in({ 1135, 1160, "large" }, late))
    assert.is_nil(found_in({ 1140, 1500, "ncclDevKernel_AllReduce" }, late))
    assert.is_nil(found_in(nil, late))
  end)
end)
