local verdict = require "llmprof.compare.verdict"

-- "before -> after: verdict [low, high], why", with two digits.
local function said(before, after, given)
  local made = verdict.judge(before, after, given or { better = "lower" })
  local interval = made.low and (" [%.2f, %.2f]"):format(made.low, made.high) or ""
  return ("%.2f -> %.2f: %s%s%s"):format(made.before, made.after, made.verdict, interval,
    made.why and ", " .. made.why or "")
end

describe("llmprof.compare.verdict", function()
  it("tells what lies apart", function()
    local small, large = { { 10 }, { 11 }, { 12 } }, { { 21 }, { 22 }, { 23 } }
    assert.equal("11.00 -> 22.00: slower [7.20, 15.59]", said(small, large))
    assert.equal("22.00 -> 11.00: faster [-12.90, -8.70]", said(large, small))
    assert.equal("22.00 -> 11.00: slower [-12.90, -8.70]",
      said(large, small, { better = "higher" }))
    assert.equal("11.00 -> 22.00: more [7.20, 15.59]", said(small, large, { better = "neither" }))
  end)

  it("does not tell what overlaps", function()
    assert.equal("12.00 -> 12.67: can't tell [-3.27, 6.39], the interval holds 0",
      said({ { 10 }, { 14 }, { 12 } }, { { 11 }, { 15 }, { 12 } }))
  end)

  it("counts a process once, however many repeats it has", function()
    local few = said({ { 10 }, { 12 } }, { { 12.4 }, { 14 } })
    assert.equal(few, said({ { 9, 11 }, { 12, 12, 12 } }, { { 12.4, 12.4 }, { 14 } }))
    assert.matches("can't tell", few)
  end)

  it("is Welch's where one side has far less noise", function()
    local judged = verdict.judge({ { 90 }, { 100 }, { 110 } }, { { 99.9 }, { 100 }, { 100.1 } },
      { better = "lower" })
    assert.near(2.0004, judged.df, 1e-4)
    assert.near(-22.0666, judged.low, 1e-4)
    assert.near(28.3147, judged.high, 1e-4)
  end)

  it("takes the noise of the side that shows any", function()
    assert.equal("11.00 -> 15.00: slower [0.73, 8.18]",
      said({ { 10 }, { 11 }, { 11.2 }, { 11.8 } }, { { 15 } }))
  end)

  it("holds one process on each side against what single runs are assumed to differ by", function()
    assert.equal("100.00 -> 140.00: slower, beyond the 10 % that single runs are assumed to "
      .. "differ by", said({ { 100, 101, 99 } }, { { 140, 140 } }))
    assert.equal("100.00 -> 90.00: can't tell, within the 10 % that single runs are assumed to "
      .. "differ by", said({ { 100 } }, { { 90 } }))
    assert.equal("100.00 -> 90.00: faster, beyond the 2.5 % that single runs are assumed to "
      .. "differ by", said({ { 100 } }, { { 90 } }, { better = "lower", assumed = 0.025 }))
    assert.equal(0.1, verdict.judge({ { 100 } }, { { 90 } }, { better = "lower" }).assumed)
    assert.matches("^0.00 %-> 3.00: slower", said({ { 0 } }, { { 3 } }))
  end)

  it("calls the same samples the same", function()
    assert.equal("100.00 -> 100.00: same", said({ { 99, 101 } }, { { 99, 101 } }))
    assert.matches("^11.00 %-> 11.00: same [^,]*,[^,]*$",
      said({ { 10 }, { 12 } }, { { 10 }, { 12 } }))
    assert.matches("can't tell", said({ { 99, 101 } }, { { 100, 100 } }))
  end)

  it("is told how much processes differ", function()
    local noise = { before = 3, after = 4, df = 2, from = "others" }
    local function judge(after)
      return verdict.judge({ { 100 } }, { { after } }, { better = "lower", noise = noise })
    end
    assert.same({ "slower", "others", 2 }, { judge(130).verdict, judge(130).noise, judge(130).df })
    assert.near(130 - 100 - 5 * 4.302653, judge(130).low, 1e-4)
    assert.equal("can't tell", judge(121).verdict)
  end)

  it("takes what does not vary at its word", function()
    local exact = { better = "count", exact = true }
    assert.equal("7.00 -> 9.00: more", said({ { 7 } }, { { 9 } }, exact))
    assert.equal("7.00 -> 6.00: fewer", said({ { 7, 7 } }, { { 6, 6 } }, exact))
    assert.equal("7.00 -> 7.00: same", said({ { 7, 7 } }, { { 7, 7 } }, exact))
    assert.equal("8.00 -> 8.00: can't tell [-6.38, 31.49], the interval holds 0",
      said({ { 7 }, { 9 } }, { { 8 }, { 8 } }, exact))
  end)

  it("takes differences, where a mean is not above 0", function()
    -- Welch's t with variances 1 and 1 of 2 each
    assert.equal("0.71 -> 20.71: slower [15.70, 24.30]",
      said({ { 0 }, { math.sqrt(2) } }, { { 20 }, { 20 + math.sqrt(2) } }))
  end)

  it("has intervals without an end", function()
    local judged = verdict.judge({ { 1e-100 }, { 1e100 } }, { { 1 } }, { better = "lower" })
    assert.same({ "can't tell" }, { judged.verdict, judged.high })
    assert.near(-1e100 / 2, judged.low, 1e90)
  end)

  it("has no noise where no sample differs", function()
    assert.equal("7.00 -> 7.00: same [0.00, 0.00]", said({ { 7 }, { 7 } }, { { 7 }, { 7 } }))
    assert.equal("7.00 -> 8.00: slower [1.00, 1.00]", said({ { 7 }, { 7 } }, { { 8 }, { 8 } }))
    assert.equal("0.00 -> 0.00: same [0.00, 0.00]", said({ { 0 }, { 0 } }, { { 0 }, { 0 } }))
  end)

  it("corrects for how many were tested", function()
    local rows = {}
    for i, p in ipairs { 0.04, 0.001, 0.02, 0.5 } do
      rows[i] = { p = p, verdict = "slower" }
    end
    rows[5] = { verdict = "can't tell" }
    verdict.correct(rows)
    local found = {}
    for i, row in ipairs(rows) do found[i] = { row.verdict, row.holm_p } end
    assert.same({ { "can't tell", 0.08 }, { "slower", 0.004 }, { "can't tell", 0.06 },
      { "slower", 0.5 }, { "can't tell" } }, found)
    assert.equal("4 were tested: with as many, one looks like this by chance", rows[1].why)
  end)

  it("has no share of nothing", function()
    assert.is_nil(verdict.judge({ { 0 } }, { { 3 } }, { better = "count", exact = true }).share)
  end)
end)
