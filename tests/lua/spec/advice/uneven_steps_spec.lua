local support = require "tests.lua.support.advice"


describe("advice uneven_steps", function()
  local function said(changes)
    local stage = support.decode()
    stage.slow_steps = { count = 6, of = 63, every = 10, first = 10, excess_ns = 20e6,
      total_ns = 120e6, usual_ns = 25e6, where = "before", part = "host" }
    for key, value in pairs(changes or {}) do stage.slow_steps[key] = value end
    return support.said("uneven_steps", support.results { stages = { stage } })
  end

  it("finds steps that are longer again and again", function()
    local text = said()
    assert.matches("6 of 63 steps, every 10th, are 20.00 ms longer, before the step, CPU outside "
      .. "CUDA (decode, confidence high)", text, 1, true)
    assert.matches("- the first of them is step 10; half of all steps take less than 25.00 ms",
      text, 1, true)
    assert.matches("- 7.1 % of the time of all steps are that", text, 1, true)
    assert.matches("gc.freeze", text, 1, true)
  end)

  it("says what it knows of the place, the pattern and the part", function()
    assert.matches("every 2nd, are 300.00 µs longer, inside the step, the GPU works longer",
      said { every = 2, where = "inside", part = "gpu", excess_ns = 3e5 }, 1, true)
    assert.matches("every 11th, are", said { every = 11 }, 1, true)
    assert.matches("every 23rd, are", said { every = 23 }, 1, true)
  end)

  it("is silent about little of the time, and where the part is not known", function()
    assert.equal("", said { total_ns = 20e6 })
    local without = support.results { stages = { support.decode() } }
    assert.equal("", support.said("uneven_steps", without))
  end)
end)
