-- Hardware samples of stages, by hand: tests/fixtures/make_traces.py has the samples, of
-- 1000 ns; the GPU's bandwidth is 1000 bytes per ns.
local sampled = require "llmprof.analysis.counters.sampled"
local stages = require "llmprof.analysis.stages.find"
local traces = require "tests.lua.support.traces"

local HARDWARE = { count = 1, memory = { per_s = 2e12 } }


-- By name what samples say of the stages; walls: mean time of each, kernels with counters.
local function of_small(declared, policy, walls, kernels)
  local trace, found = traces.open("small", declared, policy)
  local results = { stages = {}, hardware = HARDWARE }
  for i, stage in ipairs(declared or traces.declared) do
    results.stages[i] = { name = stage.name, parent = stage.parent,
      wall = { count = 2, mean_ns = walls and walls[stage.name] } }
  end
  sampled.add(results, trace, found, kernels or {})
  local by_name = {}
  for _, stage in ipairs(results.stages) do by_name[stage.name] = stage.sampled or false end
  trace:close()
  return by_name
end


describe("llmprof.analysis.counters.sampled", function()
  it("means what was sampled over the instances that count", function()
    local prefill = of_small().prefill
    assert.near(0.8, prefill.gpu, 1e-9)
    assert.near(0.6, prefill.sm, 1e-9)
    assert.near(0.3, prefill.tensor, 1e-9)
    assert.near(400000, prefill.dram_read_bytes, 1e-3)
    assert.near(100000, prefill.dram_write_bytes, 1e-3)
    assert.near(1, prefill.covered, 1e-9)
  end)

  it("takes of a sample at an end the part that is inside", function()
    local decode = of_small().decode -- 2130 ns
    assert.near(0.2, decode.gpu, 1e-9)
    assert.near(170400, decode.dram_read_bytes, 1e-3)
    assert.near(42600, decode.dram_write_bytes, 1e-3)
  end)

  it("says nothing of a stage that samples hardly cover", function()
    -- the first repeats of 4000 ns each lie before the first sample
    local all = of_small(nil, "no")
    assert.is_false(all.prefill)
    assert.is_false(all.decode)
  end)

  it("relates bytes and tensor time to the times of the other figures", function()
    local prefill = of_small(nil, nil, { prefill = 2000 }).prefill
    -- 500,000 bytes in 2000 ns at 2000 bytes per ns; 0.3 of 1000 ns
    assert.near(0.125, prefill.mbu.value, 1e-9)
    assert.near(0.15, prefill.hfu.value, 1e-9)
    assert.equal("tensor_s / time_s", prefill.hfu.formula)
  end)

  it("puts what counters say beside it", function()
    local made = of_small(nil, nil, nil, {
      { stage = "prefill", total_ns = 75, counters = { match = "exact", measured_calls = 4,
        dram_bytes_per_launch = 1000, shape_share = 1 } },
      { stage = "prefill", total_ns = 25 },
      { stage = "decode", total_ns = 25, counters = { match = "name", measured_calls = 4,
        dram_bytes_per_launch = 1000, shape_share = 1 } } })
    assert.near(2000, made.prefill.counted_bytes, 1e-9)
    assert.near(0.75, made.prefill.counted_share, 1e-9)
    assert.is_nil(made.decode.counted_bytes)
  end)

  it("leaves a trace without samples alone", function()
    local trace, found = traces.open "two_gpus"
    local results = { stages = { { name = stages.WHOLE_RUN } } }
    sampled.add(results, trace, found, {})
    assert.is_nil(results.stages[1].sampled)
  end)
end)
