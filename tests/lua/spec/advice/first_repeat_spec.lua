local support = require "tests.lua.support.advice"


describe("advice first_repeat", function()
  local function said(repeats)
    local stage = support.decode { instances = { { rep = 1, wall_ns = 900e6 },
      { rep = 2, wall_ns = 100e6 }, { rep = 3, wall_ns = 110e6 } } }
    return support.said("first_repeat", support.results { stages = { stage }, repeats = repeats })
  end

  it("finds a slow first repeat, stage by stage", function()
    assert.equal([[
the first repeat pays one-time costs (no stage, confidence high)
- the first repeat took 8.6 times as long as the others, 795.00 ms more (timeline)
- 795.00 ms of it in decode (timeline)
try: serve a warm-up request of the usual shapes before the first user's; keep compile caches (TORCHINDUCTOR_CACHE_DIR) between starts; avoid shapes that compile again
]], said { count = 3, used = 2, slowdown = 8.57, first_is_outlier = true,
      first_excess_ns = 795e6 })
  end)

  it("adds up no ranks, which run side by side", function()
    local stage = support.decode { instances = { { rep = 1, wall_ns = 900e6 },
      { rep = 1, wall_ns = 900e6 }, { rep = 2, wall_ns = 100e6 }, { rep = 2, wall_ns = 100e6 },
      { rep = 3, wall_ns = 100e6 } } }
    local text = support.said("first_repeat", support.results { stages = { stage },
      ranks = { ranks = { { rank = 0, file = "a" }, { rank = 1, file = "a" } } },
      repeats = { count = 3, used = 2, slowdown = 9, first_is_outlier = true,
        first_excess_ns = 800e6 } })
    assert.truthy(text:find("- 800.00 ms of it in decode (timeline)", 1, true))
  end)

  it("is silent about a usual first repeat", function()
    assert.equal("", said { count = 3, used = 3, slowdown = 1.2, first_is_outlier = false,
      first_excess_ns = 20e6 })
  end)

  it("abstains without a second repeat", function()
    local missing = "abstains: there is no second repeat to compare the first with (infer.repeats)"
    assert.equal(missing, said { count = 1, used = 1 })
    assert.equal(missing, said { count = 1, used = 1, whole_run = true })
  end)
end)
