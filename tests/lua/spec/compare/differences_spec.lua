local differences = require "llmprof.compare.differences"
local sides = require "tests.lua.support.sides"

local function said(before, after)
  local lines = {}
  for i, row in ipairs(differences.list(before, after)) do
    lines[i] = ("%s, %s: %s -> %s"):format(row.group, row.name, tostring(row.before),
      tostring(row.after))
  end
  return table.concat(lines, "\n")
end

describe("llmprof.compare.differences", function()
  it("says nothing of what is the same", function()
    assert.equal("", said(sides.decode(1), sides.decode(2)))
  end)

  it("lists model, machine, clocks and capture", function()
    local before, after = sides.decode(1), sides.decode(1)
    local function results(side, fields)
      for key, value in pairs(fields) do side.results[key] = value end
    end
    results(before, { model = { name = "A", dtype = "bf16" },
      environment = { driver = "580", devices = { { name = "H100" }, { name = "H100" } } },
      hardware = { clock = { hz = 1.98e9 } },
      repeats = { count = 3, skipped_first = true },
      integrity = { verdict = "good", checks = { { name = "clocks", level = "ok" } } } })
    results(after, { model = { name = "B", dtype = "bf16" },
      environment = { devices = { { name = "H200" } }, gpus = { { power_limit_w = 700.0 } } },
      hardware = { clock = { hz = 1.2e9 } },
      repeats = { count = 1, skipped_first = false },
      integrity = { verdict = "poor", checks = { { name = "clocks", level = "problem",
        text = "held down in 80 % of 10 samples" } } } })
    assert.equal([[
model, model: A -> B
machine, GPU: 2 x H100 -> H200
machine, driver: 580 -> nil
clocks, held while a kernel ran: 1980 MHz -> 1200 MHz
clocks, throttling: not held down -> held down in 80 % of 10 samples
clocks, power limit W: nil -> 700
capture, repeats: 3 -> 1
capture, first repeat left out: yes -> no
capture, integrity: good -> poor]], said(before, after))
  end)

  it("lists how much each stage had to do", function()
    local before, after = sides.decode(1), sides.decode(1)
    before.results.stages[1].steps, after.results.stages[1].steps = 15, 9
    before.results.stages[1].tokens = 15
    assert.equal("work, decode steps: 15 -> 9", said(before, after))
  end)

  it("lists the workload's settings, and the configuration that they do not repeat", function()
    local before, after = sides.decode(1), sides.decode(1)
    before.metrics = { batch = 1, options = { attention = "sdpa", seed = 0 } }
    after.metrics = { batch = 4, options = { attention = "eager", seed = 0 } }
    before.config = { infer = { batch = 1, attention = "sdpa" }, out = "a",
      nsys = { trace = { "cuda", "nvtx" } } }
    after.config = { infer = { batch = 4, attention = "eager" }, out = "b",
      nsys = { trace = { "cuda" } }, mode = "light" }
    assert.equal([[
workload, attention: sdpa -> eager
workload, batch: 1 -> 4
configuration, mode: nil -> light
configuration, nsys.trace: [cuda, nvtx] -> [cuda] ]], said(before, after) .. " ")
  end)

  it("compares no settings where a side does not record them", function()
    local before, after = sides.decode(1), sides.decode(1)
    before.metrics, before.config = { batch = 1 }, { mode = "deep" }
    after.name = "bare"
    assert.equal("", said(before, after))
    assert.same({ "bare does not record its configuration or its workload's settings." },
      differences.unknown(before, after))
    assert.equal(1, #differences.unknown(after, after))
  end)
end)
