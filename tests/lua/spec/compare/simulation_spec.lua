-- Do intervals hold the true difference as often as they say? Processes and repeats
-- are drawn from normal distributions with fixed seeds; noise is a share of the mean.
-- $LLMPROF_PRINT=1 prints what came out.
local comparison = require "llmprof.compare.comparison"
local limits = require "llmprof.compare.limits"
local metrics = require "llmprof.compare.metrics"
local random = require "tests.lua.support.random"
local verdict = require "llmprof.compare.verdict"

local TRIALS, MEAN = 2000, 100


-- Normal deviates by the method of Box and Muller.
local function normals(seed)
  local draw = random.new(seed)
  local function uniform() return draw(2 ^ 53) * 0x1p-53 end
  return function()
    return math.sqrt(-2 * math.log(uniform())) * math.cos(2 * math.pi * uniform())
  end
end


-- Samples of one side: given.runs processes with given.repeats each.
local function side(normal, mean, given)
  local groups = {}
  for i = 1, given.runs do
    local process = mean * (1 + given.process * normal())
    groups[i] = {}
    for j = 1, given.repeats do groups[i][j] = process + mean * given.noise * normal() end
  end
  return groups
end


-- Shares of trials whose interval holds the true change (of the mean before), and whose verdict is
-- that there is one. change: of the mean.
local function simulate(seed, given, change)
  local normal, held, told = normals(seed), 0, 0
  -- pooled noise is near the upper end: more trials tell it from beyond
  local trials = given.runs == 2 and 2 * TRIALS or TRIALS
  for _ = 1, trials do
    local before = side(normal, MEAN, given)
    local after = side(normal, MEAN * (1 + change), given.after or given)
    local judged = verdict.judge(before, after, { better = "lower" })
    local truth = judged.before * change
    if judged.low and judged.low <= truth and truth <= judged.high then held = held + 1 end
    if judged.verdict == "slower" or judged.verdict == "faster" then told = told + 1 end
  end
  if os.getenv "LLMPROF_PRINT" then
    print(("%-58s holds %5.1f %%, tells %5.1f %%"):format(given.name, 100 * held / trials,
      100 * told / trials))
  end
  return held / trials, told / trials
end


local function noise(name, runs, process, repeats_noise)
  return { name = name, runs = runs, repeats = 3, process = process, noise = repeats_noise }
end


describe("intervals of 95 %", function()
  for seed, given in ipairs {
    noise("2 runs of 3 repeats, processes 1.7 %, repeats 0.3 %", 2, 0.017, 0.003),
    noise("2 runs of 3 repeats, processes 1 %, repeats 1 %", 2, 0.01, 0.01),
    noise("2 runs of 3 repeats, repeats 1 % only", 2, 0, 0.01),
    noise("3 runs of 3 repeats, processes 1.7 %, repeats 0.3 %", 3, 0.017, 0.003),
    noise("5 runs of 3 repeats, processes 1 %, repeats 1 %", 5, 0.01, 0.01),
  } do
    it("hold in 93 to 97 % of " .. given.name, function()
      local held, told = simulate(seed, given, 0)
      assert.is_true(held >= 0.93 and held <= 0.97, held)
      assert.near(1 - held, told, 1e-9)
    end)
  end

  it("hold as often where one side is a third as long", function()
    local held = simulate(11, noise("2 runs of 3 repeats, 64 % faster", 2, 0.017, 0.003), -0.64)
    assert.is_true(held >= 0.93 and held <= 0.97, held)
  end)

  for seed, runs in ipairs { { 2, 2 }, { 3, 3 }, { 3, 5 }, { 5, 3 }, { 5, 5 } } do
    it(("hold as often where %d runs have less noise than %d"):format(runs[2], runs[1]), function()
      local given = noise(("%d and %d runs of 3 repeats, processes 1.7 %% and 0.3 %%"):format(
        runs[1], runs[2]), runs[1], 0.017, 0.003)
      given.after = noise("", runs[2], 0.003, 0.003)
      local held = simulate(30 + seed, given, 0)
      assert.is_true(held >= 0.93 and held <= 0.97, held)
    end)
  end

  it("are not made of one process on each side", function()
    local held, told = simulate(13,
      noise("1 run of 3 repeats, processes 1.7 %, repeats 0.3 %", 1, 0.017, 0.003), 0)
    assert.same({ 0, 0 }, { held, told })
  end)
end)


describe("verdicts", function()
  it("find 3 % under 0.5 % of noise with 3 runs on each side", function()
    local _, told = simulate(21, noise("3 runs of 3 repeats, 3 % slower, processes 0.5 %", 3,
      0.005, 0.003), 0.03)
    assert.is_true(told >= 0.95, told)
  end)

  it("are by chance in 5 % of families, however many are tested", function()
    local normal, wrong = normals(22), 0
    local given = noise("", 3, 0.01, 0.003)
    for _ = 1, 200 do
      local rows, found = {}, false
      for i = 1, 20 do
        rows[i] = verdict.judge(side(normal, MEAN, given), side(normal, MEAN, given),
          { better = "lower" })
      end
      verdict.correct(rows)
      for _, row in ipairs(rows) do found = found or row.verdict ~= verdict.UNKNOWN end
      if found then wrong = wrong + 1 end
    end
    assert.is_true(wrong / 200 <= 0.08, wrong / 200)
  end)
end)


-- A process that timed decode, as a run of a side.
local function run(normal, mean)
  local ms = mean * (1 + 0.01 * normal())
  return { results = { stages = {} },
    plain = { { batch = 1, repeats = { { stages = { decode = { ms = ms } } } } } } }
end


-- How often gates of `most` runs of each side that may end early break a limit, and how many runs
-- they take, where the side after takes `change` longer.
local function gates(seed, limit, change)
  local normal, wanted, most, broken, took = normals(seed), limits.parse(limit), 5, 0, 0
  local trials = 1000
  for _ = 1, trials do
    local before, after = { name = "before", runs = {} }, { name = "after", runs = {} }
    for round = 1, most do
      before.runs[round], after.runs[round] = run(normal, MEAN), run(normal, MEAN * (1 + change))
      took = took + 1
      if limits.are_settled(wanted, before, after) then break end
    end
    local wrong = limits.counts({ { limits = limits.check(wanted, before, after) } }).broken
    broken = broken + wrong
  end
  return broken / trials, took / trials
end


describe("gates that end early", function()
  it("find a change that is none about as often as those that do not", function()
    local broken = gates(41, "decode.ms>+0%", 0)
    assert.is_true(broken >= 0.015 and broken <= 0.035, broken) -- one tail of 5 %
  end)

  it("end early where the change is plain", function()
    local broken, took = gates(42, "decode.ms>+3%", 0.2)
    assert.equal(1, broken)
    assert.is_true(took < 4, took)
  end)
end)


-- The places at which a history of runs with these means changes.
local function changes(normal, means)
  local runs, places = {}, {}
  for i, mean in ipairs(means) do
    runs[i] = run(normal, mean)
    runs[i].name, runs[i].results.environment = tostring(i), {}
    for _, key in ipairs { "model", "run", "source", "repeats" } do runs[i].results[key] = {} end
  end
  for i, row in ipairs(comparison.history(metrics.parse "decode.ms", runs)) do
    if row.verdict then places[#places + 1] = i end
  end
  return places
end


describe("histories", function()
  it("of equal runs have a change in 5 % or fewer", function()
    local normal, wrong = normals(51), 0
    for _ = 1, 300 do
      if #changes(normal, { 100, 100, 100, 100, 100, 100, 100, 100 }) > 0 then wrong = wrong + 1 end
    end
    assert.is_true(wrong / 300 <= 0.06, wrong / 300)
  end)

  it("change where their runs do", function()
    local normal, found = normals(52), 0
    for _ = 1, 50 do
      local places = changes(normal, { 100, 100, 100, 100, 110, 110, 110, 110, 90, 90, 90, 90 })
      if #places == 2 and places[1] == 5 and places[2] == 9 then found = found + 1 end
    end
    assert.is_true(found >= 45, found)
  end)
end)
