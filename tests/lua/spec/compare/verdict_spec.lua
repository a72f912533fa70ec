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
    local small, large = { { 10, 11, 12 } }, { { 20, 21, 22 } }
    assert.equal("11.00 -> 21.00: slower [8.37, 11.63]", said(small, large))
    assert.equal("21.00 -> 11.00: faster [-11.63, -8.37]", said(large, small))
    assert.equal("21.00 -> 11.00: slower [-11.63, -8.37]",
      said(large, small, { better = "higher" }))
    assert.equal("11.00 -> 21.00: more [8.37, 11.63]", said(small, large, { better = "amount" }))
  end)

  it("does not tell what overlaps", function()
    assert.equal("12.00 -> 12.67: can't tell [-2.19, 3.93], the interval holds 0",
      said({ { 10, 14, 12 } }, { { 11, 15, 12 } }))
  end)

  it("draws processes before repeats", function()
    local after = { { 12.4, 12.5 }, { 12.4, 12.5 } }
    assert.equal("11.05 -> 12.45: slower [0.25, 2.58]",
      said({ { 10, 10.1, 12, 12.1 } }, { { 12.4, 12.5, 12.4, 12.5 } }))
    assert.equal("11.05 -> 12.45: can't tell [-0.08, 2.88], the interval holds 0",
      said({ { 10, 10.1 }, { 12, 12.1 } }, after))
  end)

  it("gives the same interval every time", function()
    local function interval() return { verdict.interval({ { 1, 2, 3 } }, { { 2, 3, 4 } }) } end
    assert.same(interval(), interval())
  end)

  it("asks one sample for a difference far beyond the spread of the steps", function()
    local function one(after, spread)
      return said({ { 100 } }, { { after } }, { better = "lower", spread = spread })
    end
    assert.equal("100.00 -> 120.00: can't tell, one sample, and no steps show how much it varies",
      one(120, nil))
    assert.equal("100.00 -> 120.00: can't tell, one sample, and the steps vary by 10.0 %",
      one(120, 0.1))
    assert.equal("100.00 -> 140.00: slower, one sample; far more than the steps vary (10.0 %)",
      one(140, 0.1))
    assert.equal("100.00 -> 60.00: faster, one sample; far more than the steps vary (10.0 %)",
      one(60, 0.1))
  end)

  it("takes one sample of what does not vary at its word", function()
    local exact = { better = "count", exact = true }
    assert.equal("7.00 -> 9.00: more", said({ { 7 } }, { { 9 } }, exact))
    assert.equal("7.00 -> 6.00: fewer [-1.00, -1.00]", said({ { 7, 7 } }, { { 6, 6 } }, exact))
    assert.equal("7.00 -> 7.00: same [0.00, 0.00]", said({ { 7, 7 } }, { { 7, 7 } }, exact))
    assert.equal("8.00 -> 8.00: can't tell [-1.41, 1.41], the interval holds 0",
      said({ { 7, 9 } }, { { 8, 8 } }, exact))
  end)

  it("has no share of nothing", function()
    assert.is_nil(verdict.judge({ { 0 } }, { { 3 } }, { better = "count", exact = true }).share)
  end)
end)
