local support = require "tests.lua.support.advice"


describe("advice slow_steps", function()
  -- What is said of an engine's stage whose steps take this many ms, the GPU idle in half of each.
  local function said(list, changes, idle_unknown)
    local stage, instances = support.decode(), {}
    for i, ms in ipairs(list) do
      instances[i] = { start_ns = i, wall_ns = ms * 1e6, rep = 1, used = true,
        gpu_idle_ns = not idle_unknown and ms * 5e5 or nil }
    end
    stage.instances = instances
    local results = support.results { stages = { stage },
      engine = { name = "vllm", title = "vLLM" } }
    for key, value in pairs(changes or {}) do results[key] = value end
    return support.said("slow_steps", results)
  end

  local function steps(count, ...)
    local list = { ... }
    for i = #list + 1, count do list[i] = 45 end
    return list
  end

  it("finds a few that take many times as long as the others", function()
    local text = said(steps(40, 1080, 1340))
    assert.matches("a few steps of decode take many times as long as the others (decode, ", text,
      1, true)
    assert.matches("- 2 of 40 took 1.08 s to 1.34 s, half of all less than 45.00 ms (timeline)",
      text, 1, true)
    assert.matches("- 56 % of all its time are that; the GPU was idle for 1.21 s of it", text, 1,
      true)
    assert.matches("warm up with the lengths", text, 1, true)
  end)

  it("says that ranks are counted together, of which each runs each step", function()
    local stage, instances = support.decode(), {}
    for i = 1, 40 do
      instances[i] = { start_ns = i, wall_ns = (i <= 2 and 1080 or 45) * 1e6, rep = 1, used = true,
        rank = i % 2 }
    end
    stage.instances = instances
    assert.matches("- 2 of 40 steps, those of 2 ranks together, took 1.08 s to 1.08 s, half",
      support.said("slow_steps", support.results { stages = { stage },
        engine = { name = "vllm", title = "vLLM" } }), 1, true)
  end)

  it("does not say how long the GPU was idle where that is not known", function()
    assert.matches("- 56 %% of all its time are that %(timeline%)",
      said(steps(40, 1080, 1340), nil, true))
  end)

  it("takes what is long, or little of the time, for nothing", function()
    assert.equal("", said(steps(40, 440)))
    assert.equal("", said(steps(4000, 1080)))
    assert.equal("", said { 0.1, 0.1, 0.1, 99 })
  end)

  it("says nothing of a whole run, and of a stage without steps", function()
    assert.equal("", said(steps(40, 1080), { repeats = { whole_run = true, count = 1, used = 1 } }))
    assert.equal("", said({}))
  end)
end)
