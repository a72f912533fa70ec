-- For whom ranks wait, and whether a place is named.
local frame = require "llmprof.frame"
local verdict = require "llmprof.ranks.verdict"

local COLUMNS = { "world", "turn", "place", "layer", "caused", "late", "more_work", "more_gap",
  "more_kernels" }

-- Collectives of one step, one in each layer; caused: how long the others wait for rank 1
-- in each.
local function collectives(caused)
  local columns = { { name = "phase", type = "string", values = {} } }
  for i, name in ipairs(COLUMNS) do
    columns[1 + i] = { name = name, type = "integer", values = {} }
  end
  for row, ns in ipairs(caused) do
    columns[1].values[row] = "decode"
    local values = { 1, 0, row - 1, row - 1, ns, ns, 0, ns, 0 }
    for i, value in ipairs(values) do columns[1 + i].values[row] = value end
  end
  return assert(frame.new(#caused, columns))
end


-- others: ranks that meet in collectives of their own.
local function judge(caused, others)
  local sum, places, all = 0, {}, 0
  for i, ns in ipairs(caused) do
    sum = sum + ns
    places[i] = { rank = 1, phase = "decode", layer = i - 1, caused_ns = ns }
  end
  table.sort(places, function(a, b) return a.caused_ns > b.caused_ns end)
  local ranks = { { rank = 0, leader = 0, caused_ns = 0, waiting_ns = sum },
    { rank = 1, leader = 0, caused_ns = sum, waiting_ns = 0 }, table.unpack(others or {}) }
  for _, rank in ipairs(ranks) do all = all + rank.waiting_ns end
  return verdict.of({ places = places, gpu_time_ns = 2 * all, ranks = ranks,
    totals = { waiting_ns = all, collective_ns = all, matched = #caused, count = #caused,
      unmatched = 0 } }, collectives(caused), {})
end


describe("the verdict", function()
  it("names the layer that stands out", function()
    local made = judge { 200e3, 1500e3, 900e3, 100e3 }
    assert.same({ 1, "decode", 1, 1500e3 }, { made.rank, made.phase, made.layer, made.place_ns })
    assert.is_nil(made.spread)
    assert.matches("waiting for rank 1 %(decode, layer 1%): 2.70 ms of 2.70 ms", made.text)
    assert.matches("idle 1.50 ms longer", made.instead)
  end)

  it("names none where the next is late nearly as much", function()
    local made = judge { 800e3, 1300e3, 900e3, 700e3 }
    assert.same({ 1, "decode", true, 3700e3 },
      { made.rank, made.phase, made.spread, made.place_ns })
    assert.is_nil(made.layer)
    assert.is_nil(made.from_step)
    assert.matches("waiting for rank 1 %(decode, all over the step%)", made.text)
    assert.matches("idle 3.70 ms longer", made.instead)
  end)

  it("holds a rank against those that meet it", function()
    local function others(ns)
      return { { rank = 2, leader = 2, caused_ns = ns, waiting_ns = ns },
        { rank = 3, leader = 2, caused_ns = ns, waiting_ns = ns } }
    end
    local made = judge({ 200e3, 1500e3, 900e3, 100e3 }, others(1300e3))
    assert.same({ 1, 2, 1.0 }, { made.rank, made.group, made.group_share })
    assert.matches("51 %% of that for this rank, 100 %% of what its group of 2 ranks waits$",
      made.text)
    assert.is_nil(judge({ 200e3, 1500e3, 900e3, 100e3 }).group)
    assert.is_nil(judge({ 200e3, 1500e3, 900e3, 100e3 }, others(1400e3)).rank)
  end)
end)
