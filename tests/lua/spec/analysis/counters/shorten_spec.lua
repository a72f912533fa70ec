local plan = require "llmprof.analysis.counters.plan"

describe("llmprof.analysis.counters.plan", function()
  local OPTIONS = { ["infer.repeats"] = {}, ["infer.warmup"] = {}, ["infer.max_new_tokens"] = {},
    ["dataset.sampling.num_samples_per_epoch"] = {} }
  local CFG = { run = {}, ncu = {}, infer = { repeats = 3, warmup = 1, max_new_tokens = 17 },
    dataset = { sampling = { num_samples_per_epoch = 2 } }, load = { rounds = 5 } }

  local function texts(declared, tokens)
    local said = {}
    for i, way in ipairs(plan.ways(declared, CFG, tokens)) do
      said[i] = plan.shortened_text(way.changes) or "all"
    end
    return said
  end

  it("does once what was done often, then generates fewer tokens", function()
    local once = "infer.repeats=1 instead of 3, "
      .. "dataset.sampling.num_samples_per_epoch=1 instead of 2, infer.warmup=0 instead of 1"
    assert.same({ "all", once, once .. ", infer.max_new_tokens=8 instead of 17",
      once .. ", infer.max_new_tokens=4 instead of 17" }, texts(OPTIONS, 17))
  end)

  it("changes what the recipe declares, and tokens only where it may", function()
    assert.same({ "all" }, texts({}, 17))
    assert.same({ "all", "infer.repeats=1 instead of 3" }, texts({ ["infer.repeats"] = {} }))
    assert.same({ "all" }, texts({ ["infer.max_new_tokens"] = {} }))
  end)

  it("knows the tokens of a capture", function()
    assert.equal(17, plan.tokens(CFG))
    assert.equal(9, plan.tokens { run = { representative_max_new_tokens = 9 }, ncu = {},
      infer = { max_new_tokens = 17 } })
    assert.is_nil(plan.tokens { run = {}, ncu = {} })
  end)

  it("counts launches, those of decode by its steps", function()
    local ways = plan.ways(OPTIONS, CFG, 17)
    local counted = { launches = 600, stepped = 0.8 } -- 100 in each of 6 runs
    assert.equal(700, plan.launches(ways[1], ways[1], counted))
    assert.equal(100, plan.launches(ways[2], ways[1], counted))
    assert.near(20 + 80 * 7 / 16, plan.launches(ways[3], ways[1], counted), 1e-9)
  end)
end)
