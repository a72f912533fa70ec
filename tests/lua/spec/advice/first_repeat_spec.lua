local support = require "tests.lua.support.advice"


describe("advice first_repeat", function()
  local function said(repeats)
    return support.said("first_repeat", support.results { stages = { support.decode() },
      repeats = repeats })
  end

  it("finds a slow first repeat", function()
    assert.equal([[
the first repeat pays one-time costs (no stage, confidence high)
- the first repeat took 8.6 times as long as the others, 795.00 ms more (timeline)
try: serve a warm-up request of the usual shapes before the first user's; keep compile caches (TORCHINDUCTOR_CACHE_DIR) between starts; avoid shapes that compile again
]], said { count = 3, used = 2, slowdown = 8.57, first_is_outlier = true,
      first_excess_ns = 795e6 })
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
