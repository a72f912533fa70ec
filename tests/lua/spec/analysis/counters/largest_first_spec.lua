local plan = require "llmprof.analysis.counters.plan"

describe("llmprof.analysis.counters.plan", function()
  local WANTED = { prefill = true, decode = true }

  -- Instances of stages of repeats: { "prefill decode", ... }.
  local function found(repeats, fields)
    local list = {}
    for rep, names in ipairs(repeats) do
      for stage in names:gmatch "%a+" do
        list[#list + 1] = { stage = stage, rep = rep, parent = stage == "sam" and "prefill" or nil }
      end
    end
    local made = { instances = list }
    for key, value in pairs(fields or {}) do made[key] = value end
    return made
  end

  local function kernels(prefill, decode)
    return { { stage = "prefill", total_ns = prefill }, { stage = "decode", total_ns = decode } }
  end

  it("takes the largest stage from one repeat, those before it from the next", function()
    local order = plan.range_order(WANTED, found { "prefill sam decode", "prefill sam decode" },
      kernels(1, 2))
    assert.same({ count = 2, largest = 2 }, order)
    assert.equal("2|3", plan.used_instances(order, 1))
    assert.equal("4|5", plan.used_instances(order, 2))
    assert.equal("3|4|5", plan.used_instances({ count = 3, largest = 3 }, 1))
    assert.equal("2|3|4", plan.used_instances({ count = 3, largest = 2 }, 1))
  end)

  it("has nothing to do where the largest comes first, or is alone", function()
    local two = found { "prefill decode", "prefill decode" }
    assert.is_nil(plan.range_order(WANTED, two, kernels(2, 1)))
    assert.is_nil(plan.range_order({ decode = true }, two, kernels(1, 2)))
    assert.is_nil(plan.range_order({}, two, {}))
  end)

  it("counts no ranges that differ from repeat to repeat, or that ncu has not", function()
    local list = kernels(1, 2)
    assert.is_nil(plan.range_order(WANTED, found { "prefill decode", "prefill" }, list))
    assert.is_nil(plan.range_order(WANTED, found { "prefill decode decode" }, list))
    assert.is_nil(plan.range_order(WANTED, found({ "prefill decode" }, { whole = true }), list))
    assert.is_nil(plan.range_order(WANTED, found({ "prefill decode" }, { inferred = {} }), list))
    local ranks = found { "prefill decode" }
    ranks.instances[1].rank, ranks.instances[2].rank = 0, 1
    assert.is_nil(plan.range_order(WANTED, ranks, list))
    assert.is_nil(plan.range_order(WANTED, { instances = { { stage = "prefill" } } }, list))
  end)
end)
