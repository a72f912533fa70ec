local statistics = require "llmprof.statistics"

describe("llmprof.statistics", function()
  it("describes values; std is the sample's, as nsys stats has it", function()
    assert.same({ count = 4, total = 20, mean = 5, min = 2, max = 8, std = math.sqrt(20 / 3) },
      statistics.describe { 2, 4, 6, 8 })
    assert.same({ count = 1, total = 7, mean = 7, min = 7, max = 7 }, statistics.describe { 7 })
    assert.is_nil(statistics.describe {})
  end)

  it("takes the middle, or the mean of the two middles", function()
    assert.equal(3, statistics.median { 5, 1, 3 })
    assert.equal(2.5, statistics.median { 4, 1, 2, 3 })
    assert.is_nil(statistics.median {})
  end)

  it("leaves the list as it was", function()
    local values = { 3, 1, 2 }
    statistics.median(values)
    statistics.percentile(values, 90)
    assert.same({ 3, 1, 2 }, values)
  end)

  it("interpolates percentiles between closest ranks", function()
    local values = { 40, 10, 30, 20, 50 }
    assert.equal(10, statistics.percentile(values, 0))
    assert.equal(30, statistics.percentile(values, 50))
    assert.equal(46, statistics.percentile(values, 90))
    assert.equal(50, statistics.percentile(values, 100))
    assert.equal(7, statistics.percentile({ 7 }, 99))
    assert.is_nil(statistics.percentile({}, 50))
  end)

  it("gives a percentile of as many values as it needs", function()
    local function kept(count)
      local values = {}
      for i = 1, count do values[i] = i end
      return statistics.add_percentiles({ p99_ns = "old" }, values)
    end
    assert.same({}, kept(1))
    assert.same({ p50_ns = 5.0 }, kept(9))
    assert.same({ p50_ns = 50.0, p90_ns = 89.2 }, kept(99))
    assert.equal(99.01, kept(100).p99_ns)
  end)

  it("fits a line", function()
    assert.same({ 2.0, 0.0 }, { statistics.slope { { 1, 3, 5, 7 } } })
    assert.same({ 0.0, 0.0 }, { statistics.slope { { 4, 4, 4 }, { 9, 9, 9 } } })
    assert.is_nil(statistics.slope { { 1, 2 }, { 1 } })
  end)

  it("fits a line through all but a few outliers", function()
    local values = {}
    for i = 1, 30 do values[i] = 100 + 2 * i end
    values[1], values[7], values[30] = 300, 900, 20
    assert.same({ 2.0, 0.0 }, { statistics.slope { values } })
    local slope, err = statistics.slope { { 14, 9, 15, 10, 16 } }
    assert.is_true(math.abs(slope) < err)
  end)

  it("leaves a warm-up out of the line", function()
    -- us of vLLM's decode steps on an H200: the first ones are slow, and the context hardly counts
    local taken = { { 3227, 3043, 2926, 2976, 3197, 3210, 3022, 2855, 2703, 2796, 2714, 2672, 2750,
      2780, 2975, 3082, 2726, 2727, 2863, 2804, 2708, 2688, 2764, 2717, 2770, 2822, 2993, 2722,
      2832, 2915 }, { 3159, 3029, 3043, 2802, 2853, 2778, 2799, 2837, 2720, 2642, 2773, 2782, 2754,
      2878, 2971, 3038, 2744, 3058, 3013, 3093, 2704, 2984, 2688, 2776, 2968, 2777, 2808, 2733,
      2635, 2743 } }
    for _, more in ipairs { 0, 20, -20 } do
      local lists = {}
      for run, steps in ipairs(taken) do
        lists[run] = {}
        for i, us in ipairs(steps) do lists[run][i] = us + more * i end
      end
      assert.near(more, statistics.slope(lists), 2)
    end
  end)

  it("fits a line through many values", function()
    local values = {}
    for i = 1, 3000 do values[i] = 7 * i + i % 3 end
    assert.near(7, statistics.slope { values }, 1e-3)
  end)

  it("adds up", function()
    assert.equal(0, statistics.sum {})
    assert.equal(6, statistics.sum { 1, 2, 3 })
  end)
end)
