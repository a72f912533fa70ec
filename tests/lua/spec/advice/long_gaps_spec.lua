local support = require "tests.lua.support.advice"


describe("advice long_gaps", function()
  -- so many gaps of 4 ms before attention, each in a step of its own, and one elsewhere
  local function said(count, step, given)
    local gaps = { { stage = "decode", ended_by = "mul", rep = 1, step = 1, ns = 5e6 } }
    for i = 1, count do
      gaps[#gaps + 1] = { stage = "decode", ended_by = "sdpa", line = "m/attention.py:7", rep = 1,
        step = step or i, ns = 4e6 + i * 1e5, host_ns = 3e6 }
    end
    return support.said("long_gaps", support.results {
      stages = { support.slow_decode(given) },
      gaps = gaps })
  end

  it("finds the place where the longest gaps of many steps end", function()
    assert.equal([[
the GPU waits long before sdpa at m/attention.py:7 in step after step of decode (decode, confidence medium)
- 5 of the 6 longest gaps end there, 4.10 ms to 4.50 ms, 21.50 ms together (timeline)
- the CPU spent 15.00 ms of that outside CUDA (timeline)
try: look at what the program calls there: a plan or a kernel that is rebuilt for each length, a search for the best kernel, a file, a lock
change: remove(gaps:where { stage = "decode", after = "sdpa", line = "m/attention.py:7", duration = { ">=", 4100000 } })
if these gaps go; shorter ones at the same place would, too, which is not counted
]], said(5))
  end)

  it("leaves longer steps and the time between steps to their rules", function()
    assert.equal("", said(5, nil, { between_steps = { idle_ns = 22e6, count = 9 } }))
    assert.equal("", said(5, nil, { slow_steps = { count = 3, of = 10, every = 3, first = 3,
      usual_ns = 1e6, excess_ns = 20e6, total_ns = 60e6, part = "host" } }))
  end)

  it("is silent about fewer, and about those of one step", function()
    assert.equal("", said(4))
    assert.equal("", said(5, 3))
  end)
end)
