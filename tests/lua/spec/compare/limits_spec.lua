local failure = require "tests.lua.support.failure"
local limits = require "llmprof.compare.limits"
local sides = require "tests.lua.support.sides"

local before, slower = sides.decode({ 100 }, { 101 }, { 102 }),
  sides.decode({ 110 }, { 111 }, { 112 })
local noisy = sides.decode({ 95 }, { 105 }, { 125 })

local function outcomes(text, after, strict)
  local rows = limits.check(limits.parse(text), before, after, strict)
  local said, broken = {}, limits.counts({ { limits = rows } }).broken
  for i, row in ipairs(rows) do said[i] = ("%s: %s"):format(row.limit, row.outcome) end
  return table.concat(said, "; "), broken
end

describe("llmprof.compare.limits", function()
  it("reads a list", function()
    local list = limits.parse " decode.ms > +3%, prefill.kernels>+0,ttft<200 us,"
    for i, limit in ipairs(list) do
      list[i] = { limit.metric.path, limit.operator, limit.kind, limit.number }
    end
    assert.same({ { "decode.ms", ">", "share", 0.03 }, { "prefill.kernels", ">", "difference", 0 },
      { "ttft", "<", "value", 0.2 } }, list)
  end)

  it("compares shares, amounts and values", function()
    assert.same({ "decode.ms>+3%: broken", 1 }, { outcomes("decode.ms>+3%", slower) })
    assert.same({ "decode.ms>+20%: kept", 0 }, { outcomes("decode.ms>+20%", slower) })
    assert.same({ "decode.ms>+9ms: broken; decode.ms>+0.021s: kept", 1 },
      { outcomes("decode.ms>+9ms, decode.ms>+0.021s", slower) })
    assert.same({ "decode.ms>110ms: broken; decode.ms<110ms: kept", 1 },
      { outcomes("decode.ms>110ms, decode.ms<110ms", slower) })
    assert.same({ "decode.kernels>+0: kept; decode.kernels<-1: kept", 0 },
      { outcomes("decode.kernels>+0, decode.kernels<-1", slower) })
  end)

  it("breaks no limit on what nobody can tell, unless strict", function()
    assert.same({ "decode.ms>+3%: can't tell", 0 }, { outcomes("decode.ms>+3%", noisy) })
    assert.same({ "decode.ms>+3%: broken", 1 }, { outcomes("decode.ms>+3%", noisy, true) })
    assert.same({ "decode.ms>+90%: kept", 0 }, { outcomes("decode.ms>+90%", noisy, true) })
  end)

  it("keeps no limit that the interval goes beyond, but what is the same", function()
    assert.same({ "decode.ms>+10%: can't tell; decode.ms<+9%: can't tell", 0 },
      { outcomes("decode.ms>+10%, decode.ms<+9%", slower) })
    assert.equal("the interval holds the limit",
      limits.check(limits.parse "decode.ms>+10%", before, slower)[1].why)
    assert.same({ "decode.ms>+10%: broken", 1 }, { outcomes("decode.ms>+10%", slower, true) })
    assert.same({ "decode.ms>+0.1%: kept", 0 }, { outcomes("decode.ms>+0.1%", before) })
  end)

  it("cannot tell of totals where one side alone tells of how many steps they are", function()
    local known = sides.decode(100)
    known.results.stages[1].steps = 63
    local list = limits.parse "decode.ms>+3%, decode.ms>200ms"
    local function of(strict)
      local rows = limits.check(list, known, sides.decode(10), strict)
      return { rows[1].outcome, rows[2].outcome }
    end
    assert.same({ "can't tell", "kept" }, of(false))
    assert.same({ "broken", "kept" }, of(true))
  end)

  it("takes any change from nothing to be beyond a share", function()
    local none, some = sides.decode(1), sides.decode(1)
    none.results.stages[1].instances[1].kernels = 0
    local list = limits.parse "decode.kernels>+100%"
    assert.equal("broken", limits.check(list, none, some)[1].outcome)
    assert.equal("kept", limits.check(list, none, none)[1].outcome)
  end)

  local hint = "write decode.ms>+3%, prefill.kernels>+0 or ttft>200ms"
  for text, message in pairs {
    [""] = "--fail-on: '': not a limit",
    ["decode.ms"] = "--fail-on: 'decode.ms': not a limit",
    ["decode.ms>fast"] = "--fail-on: 'decode.ms>fast': not a limit",
    ["decode.ms>+1.2.3%"] = "--fail-on: 'decode.ms>+1.2.3%': not a limit",
    ["decode.ms>3%"] = "--fail-on: 'decode.ms>3%': a share is one of the value before: +3% or -3%",
    ["decode.ms>+3"] = "--fail-on: 'decode.ms>+3': "
      .. "decode.ms is a time: its unit is %, ns, us, ms or s",
    ["decode.ms>+3 min"] = "--fail-on: 'decode.ms>+3 min': "
      .. "decode.ms is a time: its unit is %, ns, us, ms or s",
    ["decode.kernels>+3ms"] =
      "--fail-on: 'decode.kernels>+3ms': decode.kernels has no unit, not 'ms'",
    ["tokens_per_s<-3ms"] =
      "--fail-on: 'tokens_per_s<-3ms': tokens_per_s has the unit tokens/s, not 'ms'",
  } do
    it("refuses '" .. text .. "'", function()
      assert.same({ "usage", message, hint }, failure(limits.parse, text))
    end)
  end

  it("refuses a figure that a side lacks", function()
    assert.same({ "usage", "--fail-on: 'prefill.ms>+3%': side has no stage 'prefill'",
      "llmprof compare without --fail-on shows what there is" },
      failure(outcomes, "prefill.ms>+3%", slower))
  end)
end)
