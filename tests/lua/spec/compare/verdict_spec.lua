local verdict = require "llmprof.compare.verdict"

-- "before -> after: verdict [low, high] why" with two digits.
local function said(before, after, given)
  local made = verdict.judge(before, after, given or { better = "lower" })
  local interval = made.low and (" [%.2f, %.2f]"):format(made.low, made.high) or ""
  return ("%.2f -> %.2f: %s%s%s"):format(made.before, made.after, made.verdict, interval,
    made.why and ", " .. made.why or "")
end

describe("llmprof.compare.verdict", function()
  it("tells what lies apart", function()
    assert.equal("", said({ { 10, 11, 12 } }, { { 20, 21, 22 } }))
    assert.equal("", said({ { 20, 21, 22 } }, { { 10, 11, 12 } }))
    assert.equal("", said({ { 20, 21, 22 } }, { { 10, 11, 12 } }, { better = "higher" }))
  end)

  it("does not tell what overlaps", function()
    assert.equal("", said({ { 10, 14, 12 } }, { { 11, 15, 12 } }))
  end)

  it("draws processes before repeats", function()
    local repeats = { { 10, 10.1, 12, 12.1 } }
    local processes = { { 10, 10.1 }, { 12, 12.1 } }
    local after = { { 12.4, 12.5 }, { 12.4, 12.5 } }
    assert.equal("", said(repeats, { { 12.4, 12.5, 12.4, 12.5 } }))
    assert.equal("", said(processes, after))
  end)

  it("gives the same interval every time", function()
    local function interval() return { verdict.interval({ { 1, 2, 3 } }, { { 2, 3, 4 } }) } end
    assert.same(interval(), interval())
  end)

  it("asks one repeat for a difference far beyond the spread of its steps", function()
    local function one(after, spread)
      return said({ { 100 } }, { { after } }, { better = "lower", spread = spread })
    end
    assert.equal("", one(120, nil))
    assert.equal("", one(120, 0.1))
    assert.equal("", one(140, 0.1))
    assert.equal("", one(60, 0.1))
  end)

  it("takes what does not vary at its word", function()
    local exact = { better = "count", exact = true }
    assert.equal("", said({ { 7 } }, { { 9 } }, exact))
    assert.equal("", said({ { 7, 7 } }, { { 6, 6 } }, exact))
    assert.equal("", said({ { 7, 7 } }, { { 7, 7 } }, exact))
    assert.equal("", said({ { 7, 9 } }, { { 8, 8 } }, exact))
  end)

  it("has no share of nothing", function()
    assert.is_nil(verdict.judge({ { 0 } }, { { 3 } }, { better = "count", exact = true }).share)
  end)
end)
