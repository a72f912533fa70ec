local uneven_steps = require "llmprof.analysis.stages.uneven_steps"

-- 60 steps of about 10 ms, some of them longer by so much.
local function lengths(longer)
  local list = {}
  for i = 1, 60 do list[i] = 10e6 + (i * 7919 % 13) * 1e4 + (longer[i] or 0) end
  return list
end

local function every(count, first, ns)
  local longer = {}
  for i = first, 60, count do longer[i] = ns end
  return longer
end


describe("slow steps again and again", function()
  it("are every so many", function()
    local found = uneven_steps.find(lengths(every(10, 10, 20e6)))
    assert.same({ { 10, 20, 30, 40, 50, 60 }, 10 }, { found.places, found.every })
    assert.near(20e6, found.excess_ns, 1e5)
    assert.near(120e6, found.total_ns, 1e6)
    assert.near(10e6, found.usual_ns, 1e5)
  end)

  it("are so though single others are slow, or some places are missed", function()
    local longer = every(6, 3, 5e6)
    longer[4], longer[21] = 30e6, nil
    assert.equal(6, uneven_steps.find(lengths(longer)).every)
    longer[29] = 40e6
    assert.equal(6, uneven_steps.find(lengths(longer)).every)
    assert.equal(20, uneven_steps.find(lengths(every(20, 20, 5e6))).every) -- three of them
  end)

  it("are so though other steps shift them", function()
    local longer = {}
    for _, place in ipairs { 7, 14, 21, 29, 36, 43, 51 } do longer[place] = 5e6 end
    assert.equal(7, uneven_steps.find(lengths(longer)).every)
  end)

  it("are several in a row", function()
    local longer = {}
    for place = 20, 25 do longer[place] = 8e6 end
    local found = uneven_steps.find(lengths(longer))
    assert.same({ 1, 20, 6 }, { found.groups, found.places[1], #found.places })
    assert.is_nil(found.every)
  end)

  it("are none where nothing repeats", function()
    assert.is_nil(uneven_steps.find(lengths {}))
    assert.is_nil(uneven_steps.find(lengths { [9] = 20e6 }))
    assert.is_nil(uneven_steps.find(lengths { [5] = 20e6, [9] = 20e6, [30] = 20e6, [37] = 20e6 }))
    assert.is_nil(uneven_steps.find { 1, 9, 1, 9, 1, 9 })
  end)

  -- Steps of 10 ms, every fourth with 5 ms before its range or inside, in which the GPU works or
  -- waits for the CPU.
  local function of(before, works)
    local instance, at = { stage = "decode", rep = 1, used = true, steps = {} }, 0
    for i = 1, 24 do
      local more = i % 4 == 0 and 5e6 or 0
      local host = at + (before and more or 0)
      instance.steps[i] = { start = at, stop = at + 10e6 + more, host_start = host,
        host_stop = at + 10e6 + more }
      at = at + 10e6 + more
    end
    local function busy(from, to) return works and to - from - 2e6 or 8e6 end
    return uneven_steps.of({ instances = { instance },
      busy = function() return { covered = function(_, from, to) return busy(from, to) end } end },
      "decode", function(span)
        return { host = span.stop - span.start - busy(span.start, span.stop), launch = 0 }
      end)
  end

  it("say where they are longer, and what takes the time", function()
    assert.same({ count = 6, of = 24, every = 4, first = 3, excess_ns = 5e6, total_ns = 30e6,
      usual_ns = 10e6, where = "before", part = "host" }, of(true, false))
    local inside = of(false, true)
    assert.same({ "inside", "gpu", 5e6 }, { inside.where, inside.part, inside.excess_ns })
  end)
end)
