-- Another stream whose kernels hold later ones up, and another program's turns on the GPU.
local neighbours = require "llmprof.analysis.stages.neighbours"
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
    if other[4] then
      add("call 1145 1150 id=91 cudaLaunchKernel")
      add("kernel %d %d call=91 stream=9 %s", other[2], other[2] + 10, other[4])
    end
  end
  local trace = timeline.of(table.concat(lines, "\n") .. "\n")
  local found = stages.find(trace, DECLARED, "no")
  return neighbours.stream(trace, "decode_step", steps.of(found, DECLARED[1]))
end


describe("work of another stream", function()
  -- The second step's kernels are launched at 1225 and run from 1500 on.
  local late = { 1130, 1150, 1500 }

  it("holds up what is launched already, where it outlasts its step", function()
    -- 1140 to 1150 the main stream works; from 1225 on a kernel is launched and waits
    assert.same({ calls = 1, kernel = "large", ns = 1500 - 1215 },
      found_in({ 1140, 1500, "large" }, late))
  end)

  it("is told by the largest of its kernels", function()
    local held = found_in({ 1140, 1500, "large", "small" }, late)
    assert.same({ "large", 2 }, { held.kernel, held.calls })
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


describe("another program's turns on the GPU", function()
  -- Three kernels in turn, 100 us each, but for those with these numbers.
  local function told(longer)
    local lines, at = { "knows calls", "device 0 H200" }, 1000
    for i = 1, 90 do
      local stop = at + (longer[i] or 100000)
      lines[#lines + 1] = ("kernel %d %d %s"):format(at, stop, ({ "a", "b", "c" })[i % 3 + 1])
      at = stop + 5
    end
    local frame = assert(timeline.of(table.concat(lines, "\n") .. "\n"):frame "kernels")
    frame:compute { name = "is_collective", type = "integer", steps = { 0 } }
    return neighbours.program(frame, 2)
  end

  it("are launches of several kernels that last longer by about one time", function()
    local made = told { [10] = 2100000, [20] = 1600000, [30] = 2600000, [41] = 2100000,
      [54] = 2200000 }
    assert.same({ 2.5, 3, 2e6, 5050000, 1600000, 250000 }, { made.calls, made.kinds, made.p50_ns,
      made.excess_ns, made.from_ns, made.usual_ns })
    table.sort(made.names)
    assert.same({ "a", "b", "c" }, made.names)
  end)

  it("are none of one kernel, of few, and where times differ by much", function()
    assert.is_nil(told { [3] = 2100000, [12] = 2100000, [24] = 2100000, [36] = 2100000,
      [48] = 2100000 })
    assert.is_nil(told { [10] = 2100000, [20] = 2100000, [30] = 2100000 })
    assert.is_nil(told { [10] = 700000, [20] = 700000, [30] = 9100000, [41] = 9100000,
      [54] = 9100000 })
    assert.is_nil(told {})
  end)

  it("are none where a step has more work: its launches follow each other", function()
    assert.is_nil(told { [40] = 2100000, [41] = 1600000, [42] = 2600000, [43] = 2100000,
      [44] = 2200000 })
  end)
end)
