-- Requests beside steps that are known.
local frame = require "llmprof.frame"
local requests = require "llmprof.ranks.requests"

local MS = 1000000
local EPOCH = 1795339005808544971

-- Steps of one rank: { begin ms, last ms, requests in prefill, their tokens }.
local function steps_of(list)
  local columns = {}
  for i, name in ipairs { "world", "begin", "last", "context", "context_tokens", "interval" } do
    columns[i] = { name = name, type = "integer", values = {} }
  end
  for row, step in ipairs(list) do
    local before = list[row - 1]
    local values = { 0, step[1] * MS, step[2] * MS, step[3], step[4],
      before and (step[2] - before[2]) * MS or false }
    for i, value in ipairs(values) do columns[i].values[row] = value end
  end
  return assert(frame.new(#list, columns))
end

-- A prompt of 100, decode, one of 100 beside it, and two more at once.
local STEPS = { { 10, 20, 1, 100 }, { 20, 23, 0, 0 }, { 23, 26, 0, 0 }, { 26, 38, 1, 101 },
  { 38, 41, 0, 0 }, { 41, 44, 0, 0 }, { 50, 90, 2, 200 }, { 90, 93, 0, 0 } }

local GROUPS = { { phase = "decode", generation = 1, count = 5, interval_ns = 3 * MS } }

local function request(sent, ttft, ms, more)
  local made = { ttft_ms = ttft, ms = ms, tpot_ms = 3, tokens = 5,
    sent_utc_ns = sent and EPOCH + sent * MS }
  for key, value in pairs(more or {}) do made[key] = value end
  return made
end

local function of(list, epoch, prompt)
  return requests.of({ prompt_tokens = prompt or 100, repeats = { { requests = list } } }, GROUPS,
    steps_of(STEPS), epoch or EPOCH)
end

describe("requests", function()
  it("have the steps that overlap them, and their prefill step", function()
    local made = of { request(9, 12, 36), request(24, 15, 21), request(45, 46, 49) }
    local first, second, third = made.single[1], made.single[2], made.single[3]
    assert.same({ 9 * MS, 0, 6, 0 }, { first.sent_ns, first.first_step, first.steps,
      first.prefill_step })
    assert.same({ 2, 4, 3 }, { second.first_step, second.steps, second.prefill_step })
    assert.same({ 6, 2, 6 }, { third.first_step, third.steps, third.prefill_step })
    assert.truthy(made.attributable:find("3 of 3 requests", 1, true))
  end)

  it("are stalled by the prefill of others while they are in decode", function()
    local made = of { request(9, 12, 36), request(24, 15, 21) }
    assert.equal(9 * MS, made.single[1].stall_ns) -- 12 ms in place of 3
    assert.equal(0, made.single[2].stall_ns)
  end)

  it("are not attributed where token counts fit none or several", function()
    assert.is_nil(of({ request(9, 12, 36) }, EPOCH, 512).single[1].prefill_step) -- chunks
    local wide = of { request(9, 82, 90) } -- any of three
    assert.is_nil(wide.single[1].prefill_step)
    assert.truthy(wide.attributable:find("0 of 1 requests", 1, true))
    assert.is_nil(of({ request(9, 12, 36, { prompt_tokens = 150 }) }).single[1].prefill_step)
  end)

  it("are told apart by their order where as many tokens were prefilled as sent", function()
    local steps = steps_of { { 10, 20, 1, 100 }, { 20, 30, 2, 150 }, { 30, 40, 1, 50 },
      { 45, 48, 0, 0 } }
    local function waits(list)
      local made = requests.of({ prompt_tokens = 100, repeats = { { requests = list } } }, GROUPS,
        steps, EPOCH)
      local found = {}
      for i, one in ipairs(made.single) do
        found[i] = { one.prefill_step, one.prefill_steps, one.queue_ns and one.queue_ns // MS,
          one.prefill_ns and one.prefill_ns // MS }
      end
      return found, made.attributable
    end
    local list = { request(7, 20, 40), request(8, 24, 40), request(9, 35, 40) }
    local made, said = waits(list)
    assert.same({ { 0, 1, 0, 10 }, { 1, 1, 10, 10 }, { 1, 2, 10, 20 } }, made)
    assert.truthy(said:find("the order of the requests tells", 1, true))
    list[3].prompt_tokens = 99 -- one token too many was prefilled
    assert.same({}, waits(list)[3])
    list[3].prompt_tokens, list[2].ttft_ms = 100, 20 -- its token was there before
    assert.same({}, waits(list)[3])
  end)

  it("without a time, or of another time, meet the steps in their means only", function()
    local made = of { request(nil, 12, 36) }
    assert.is_nil(made.single)
    assert.truthy(made.attributable:find "when requests were sent is not in")
    made = of { request(3600000, 12, 36) }
    assert.is_nil(made.single)
    assert.truthy(made.attributable:find "no step of the capture ran")
    assert.truthy(made.agrees)
  end)

  it("have percentiles of as many as they need", function()
    local list = {}
    for i = 1, 24 do list[i] = request(9, 12 + i, 36) end
    local made = of(list)
    assert.same({ 24, 24.5 * MS }, { made.ttft.count, made.ttft.p50_ns })
    assert.equal(33.7 * MS, made.ttft.p90_ns)
    assert.is_nil(made.ttft.p99_ns)
    assert.is_nil(of({ request(9, 12, 36) }).tpot.p50_ns)
  end)

  it("have the times of all their tokens, not of a round's mean", function()
    local made = of { request(9, 12, 36, { steps_ms = { 1, 2, 3 } }),
      request(9, 12, 36, { steps_ms = { 3, 100 } }) }
    assert.same({ 5, 3 * MS }, { made.between_tokens.count, made.between_tokens.p50_ns })
    assert.is_nil(made.averaged)
  end)
end)
