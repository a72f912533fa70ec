local dataflow = require "llmprof.process.dataflow"
local running_cost = require "llmprof.analysis.stages.running_cost"

local EPOCH, S = 1700000000 * 10 ^ 9 // 1, 10 ^ 9 // 1

-- A stage of one instance from `from` to `to`, in s of the trace.
local function stage(name, from, to, more)
  local ns = (to - from) * S
  local made = { name = name, repeats = 1, wall = { count = 1, mean_ns = ns },
    instances = { { used = true, start_ns = from * S, wall_ns = ns } } }
  for key, value in pairs(more or {}) do made[key] = value end
  return made
end


-- Samples every 0.2 s from -2 to 20 s of the trace, of what draw(s) draws, in W; counted: with the
-- counter of energy, which began long before.
local function samples(draw, counted)
  local list, joules = {}, 5000
  for i = 0, 110 do
    local s = i / 5 - 2
    list[i + 1] = { index = 0, t_ns = i * S // 5, time_ns = EPOCH + math.floor(s * S),
      power_w = draw(s), utilization_percent = draw(s) > 100 and 90 or 0,
      energy_j = counted and joules or nil }
    joules = joules + draw(s) / 5
  end
  return list
end


-- 100 W, and 500 W from 4 to 14 s.
local function draw(s) return s >= 4 and s < 14 and 500 or 100 end


local function cost(more)
  local state = { environment = { devices = { { id = 0 } } }, hardware = { count = 2 },
    stages = { stage("prefill", 2, 4, { tokens = 100 }),
      stage("decode", 4, 14, { tokens = 50, steps = 50 }) },
    trace = { info = function() return { epoch = EPOCH } end },
    price = { per_hour = 3.6, currency = "EUR" } }
  for key, value in pairs(more or {}) do state[key] = value end
  dataflow.run({ running_cost }, state)
  return state.running_cost
end


describe("llmprof.analysis.stages.running_cost", function()
  it("prices the time of all GPUs by token", function()
    local made = cost()
    assert.same({ per_hour = 3.6, currency = "EUR", source = "price.per_hour" }, made.price)
    assert.near(2 * 2e-3 / 100 * 1e6, made.stages[1].per_million_tokens, 1e-9)
    assert.near(2 * 10e-3 / 50 * 1e6, made.stages[2].per_million_tokens, 1e-9)
    assert.near(2 * 12e-3 / 50 * 1e6, made.per_million_tokens, 1e-9)
  end)

  it("counts the first token of each sequence, which its prefill makes", function()
    assert.equal(52, cost({ metrics = { batch = 2 } }).tokens)
    assert.is_nil(cost({ metrics = { batch = 2 }, stages = { stage("prefill", 2, 4) } }))
  end)

  it("counts a prompt of an engine that is prefilled in two steps once", function()
    local function step(name, context, work)
      return { stage = name, rank = 0, used = true, context = context, work = work }
    end
    local made = cost { stages = { stage("prefill", 2, 4, { tokens = 0 }),
        stage("mixed", 4, 6, { tokens = 3 }), stage("decode", 6, 7, { tokens = 5 }) },
      found = { by_engine = {}, instances = { step("prefill", 3, 2048), step("mixed", 2, 700),
        step("decode", 0, 5) } } }
    assert.equal(2 + 3 + 2 + 5, made.tokens)
  end)

  it("counts tokens of a server by its client, where no step was recorded", function()
    local made = cost { metrics = { batch = 2 }, found = { own = true, by_engine = true,
      instances = { { stage = "prefill", rep = 1, wall = 2 }, { stage = "decode", rep = 1 } } } }
    assert.equal(2 + 50, made.tokens)
  end)

  it("takes stages that do not say how many repeats they had", function()
    local own = stage("decode", 4, 14, { tokens = 50, steps = 50 })
    own.repeats = nil
    assert.truthy(cost({ repeats = { used = 1 }, stages = { own } }))
  end)

  it("takes an example from conf/hardware, and says so", function()
    local made = cost { price = {}, hardware = { count = 1, name = "NVIDIA H200" } }
    assert.same({ true, "conf/hardware/h200.yaml", "USD" },
      { made.price.example, made.price.source, made.price.currency })
    assert.is_nil(cost { price = {}, hardware = { count = 1, name = "unknown" } })
  end)

  it("reads energy off the counter, by stage and token", function()
    local made = cost { samples = samples(draw, true) }
    assert.near(200, made.stages[1].energy_j, 1)
    assert.near(5000, made.stages[2].energy_j, 1)
    assert.near(100, made.stages[2].energy_j_per_token, 0.1)
    assert.near(0.2, made.stages[2].idle_share, 0.01)
    assert.near(104, made.energy_j_per_token, 0.1)
    assert.same({ "counter", 100 }, { made.energy_source, made.idle_w })
  end)

  it("else adds up the power that was sampled", function()
    local made = cost { samples = samples(draw) }
    assert.near(5000, made.stages[2].energy_j, 50)
    assert.equal("power", made.energy_source)
  end)

  it("gives no energy to what samples do not tell apart", function()
    local short = { stage("prefill", 2, 2.1, { tokens = 100 }),
      stage("decode", 4, 14, { tokens = 50, steps = 50 }) }
    local made = cost { samples = samples(draw, true), stages = short }
    assert.is_nil(made.stages[1].energy_j)
    assert.near(100, made.stages[2].energy_j_per_token, 0.1)
    made = cost { samples = samples(draw), stages = { stage("decode", 4, 5, { tokens = 5,
      steps = 5 }) } }
    assert.is_nil(made.energy_j_per_token)
    assert.equal("it ran shorter than 2.0 s, which is what samples of its power tell apart",
      made.no_energy)
  end)

  it("says why there is no energy", function()
    local without = samples(draw)
    for _, sample in ipairs(without) do sample.time_ns = nil end
    local several = samples(draw)
    several[2].index = 1
    for why, more in pairs {
      ["nothing sampled the power of the GPU"] = {},
      ["its samples of power have no wall-clock times, as an older llmprof took them"] =
        { samples = without },
      ["which of the sampled GPUs ran it is not known"] = { samples = several },
      ["the timeline has no wall clock"] = { samples = samples(draw),
        trace = { info = function() return {} end } },
    } do
      assert.equal(why, cost(more).no_energy)
    end
  end)
end)
