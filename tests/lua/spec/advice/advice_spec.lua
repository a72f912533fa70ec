-- Advice as a whole: the contract of rules, how gains are told and findings
-- ranked, a recipe's own advice, and all rules over results.
local advice = require "llmprof.advice"
local bundle = require "tests.lua.support.bundle"
local failure = require "tests.lua.support.failure"
local fs = require "llmprof.fs"
local recorded = require "tests.lua.support.recorded"
local spawn = require "llmprof.spawn"
local support = require "tests.lua.support.advice"
local sys = require "llmprof.sys"


-- A complete finding, with these fields instead.
local function finding(given)
  local made = { title = "t", try = "do", confidence = "high",
    evidence = { { text = "seen", source = "timeline" } } }
  for key, value in pairs(given or {}) do made[key] = value end
  return made
end


-- One whose change gives back so much of an instance, from waiting or by a faster GPU: see replay.
local function gain(ns, spends, more)
  local made = finding(more)
  made.stage, made.changes, made.assumption = "decode", { ("%d %s"):format(ns, spends) }, "a"
  return made
end


-- Stands for a replay of stages that ran `count` times: two changes give back what the larger one
-- does. A faster GPU gives back nothing of a stage that is held up, unless the CPU takes no time.
local function replays(count, held_up, more)
  return function(changes)
    local made = { gain = 0, low = 0, hidden = 0, idle = 0 }
    for _, change in ipairs(changes) do
      local ns, spends = change:match "^(%-?%d+) (%a+)$"
      ns = tonumber(ns) * count
      made.gain = math.max(made.gain, spends == "gpu" and held_up and 0 or ns)
      made.hidden = math.max(made.hidden, spends == "gpu" and ns or 0)
    end
    made.high = made.gain
    for key, value in pairs(more or {}) do made[key] = value end
    return made
  end
end


-- A rule that finds these.
local function finds(...)
  local list = { ... }
  return { name = "test", examine = function(_, report)
    for _, made in ipairs(list) do report.finding(made) end
  end }
end


local function apply(stage, ...)
  return advice.apply({ finds(...) }, support.results { stages = { stage } },
    replays(1, stage.idle_share > 0.5)).findings
end


describe("a finding", function()
  local hint = "docs/advice.md describes a finding"

  local function fault(given)
    local made = finding(given)
    for key, value in pairs(given) do if value == false then made[key] = nil end end
    local kind, message, said = table.unpack(failure(apply, support.decode(), made))
    assert.same({ "usage", hint }, { kind, said })
    return message
  end

  it("is refused when it is incomplete", function()
    local rule = "advice rule 'test': "
    assert.equal(rule .. "no 'title'", fault { title = false })
    assert.equal(rule .. 'confidence: one of ["high","medium","low"] expected, got "sure"',
      fault { confidence = "sure" })
    assert.equal(rule .. "kernels: array expected, got 5", fault { kernels = 5 })
    assert.equal(rule .. "no 'evidence'", fault { evidence = false })
    assert.equal(rule .. "evidence: at least 1 items expected, got 0", fault { evidence = {} })
    assert.equal(rule .. "evidence[1]: no 'source'", fault { evidence = { { text = "seen" } } })
    assert.equal(rule .. "after: a list of rules", fault { after = 5 })
    assert.equal(rule .. "changes: what is changed wants a stage and an assumption",
      fault { changes = { 'graphs("decode")' } })
  end)

  it("may say that it blocks nothing", function()
    assert.is_nil(apply(support.decode(), finding { blocking = false })[1].blocking)
  end)

  it("must be a table", function()
    assert.same({ "usage", "advice rule 'test': a finding is a table", hint },
      failure(apply, support.decode(), "launch-bound"))
  end)
end)


describe("a gain", function()
  -- gain_ns, gain_share, of_ns, of, spends, behind of the one finding
  local function replayed(stage, made, given, replay)
    local results = support.results(given)
    results.stages = { stage }
    local found = advice.apply({ finds(made) }, results, replay).findings[1]
    return { found.gain_ns, found.gain_share, found.of_ns, found.of, found.spends, found.behind }
  end

  it("is that of a replay, of one instance, and no more than its time", function()
    assert.same({ 5e6, 0.05, 100e6, "timeline", "gpu" }, replayed(support.decode(),
      gain(5e6, "gpu"), {}, replays(1)))
    assert.same({ 5e6, 0.05, 100e6, "timeline", "gpu" }, replayed(
      support.decode { wall = { count = 8, mean_ns = 100e6 } }, gain(5e6, "gpu"), {}, replays(8)))
    assert.same({ 100e6, 1, 100e6, "timeline", "gpu" }, replayed(support.decode(),
      gain(190e6, "gpu"), {}, replays(1)))
    assert.same({ 0, 0, 100e6, "timeline", "gpu" }, replayed(support.decode(), gain(-5e6, "gpu"),
      {}, replays(1)))
  end)

  it("is no more than the stage waits where it is taken from waiting", function()
    assert.same({ 80e6, 0.8, 100e6, "timeline", "waiting" }, replayed(support.slow_decode(),
      gain(90e6, "waiting"), {}, replays(1, true)))
  end)

  it("of kernels alone is no more than they take and the stage waits", function()
    local made = gain(70e6, "gpu")
    made.changes, made.kernels = { 'remove(kernels:where { label = "k" })' }, { 1 }
    local function most(kernels)
      return advice.apply({ finds(made) }, support.results { stages = { support.decode() },
        kernels = kernels }, function()
        return { gain = 70e6, low = 0, high = 70e6, hidden = 0 }
      end).findings[1].gain_ns
    end
    assert.equal(20e6 + 10e6, most { support.kernel { total_ns = 10e6 } })
    assert.equal(70e6, most { support.kernel { total_ns = 60e6 } })
  end)

  it("is of the plain time where the replay is", function()
    local overhead = { runs = 1, stages = { { name = "decode", plain_ms = 50 } } }
    assert.same({ 10e6, 0.2, 50e6, "plain runs", "waiting" }, replayed(support.slow_decode(),
      gain(10e6, "waiting"), { overhead = overhead }, replays(1, true, { plain = true })))
    assert.same({ 10e6, 0.1, 100e6, "timeline", "waiting" }, replayed(support.slow_decode(),
      gain(10e6, "waiting"), { overhead = overhead }, replays(1, true)))
  end)

  it("of faster kernels in a launch-bound stage is behind its waiting", function()
    assert.same({ 9e6, 0.09, 100e6, "timeline", "gpu", "waiting" },
      replayed(support.slow_decode(), gain(9e6, "gpu"), {}, replays(1, true)))
  end)

  it("is an upper bound, or absent, where it is not replayed, and says why", function()
    local results = support.results { stages = { support.slow_decode() } }
    local bound = advice.apply({ finds(gain(9e6, "waiting")) }, results,
      replays(1, true, { bound = "no waits", idle = 70e6 })).findings[1]
    assert.same({ 70e6, 0, "no waits" }, { bound.gain_ns, bound.low_ns, bound.no_gain })
    local faster = gain(9e6, "gpu", { kernels = { 1 } })
    faster.changes = { 'scale(kernels:where { label = "k" }, 0.5)' }
    results.kernels = { support.kernel { total_ns = 3e6 } }
    local own = advice.apply({ finds(faster) }, results, function()
      return { gain = 0, low = 0, high = 0, hidden = 0, idle = 70e6, bound = "no waits" }
    end).findings[1]
    assert.same({ 3e6, "gpu" }, { own.gain_ns, own.spends })
    local none = advice.apply({ finds(gain(9e6, "waiting")) }, results).findings[1]
    assert.is_nil(none.gain_ns)
    assert.equal("there is no trace to replay", none.no_gain)
  end)

  it("is left out for a stage that was not measured", function()
    local found = apply(support.decode { name = "prefill" }, gain(5e6, "gpu"))[1]
    assert.is_nil(found.gain_ns)
    assert.is_nil(found.assumption)
  end)
end)


describe("findings", function()
  local function titles(list)
    local names = {}
    for i, found in ipairs(list) do names[i] = found.title end
    return table.concat(names, " ")
  end

  it("are ranked: blocking, gains, what is behind the waiting after what takes it away, the rest",
    function()
    assert.equal("blocks large behind small sure unsure", titles(apply(support.slow_decode(),
      finding { title = "unsure", confidence = "low" }, finding { title = "sure" },
      gain(19e6, "gpu", { title = "behind" }), gain(2e6, "waiting", { title = "small" }),
      gain(3e6, "waiting", { title = "large" }), finding { title = "blocks", blocking = true })))
  end)

  it("are ranked by what they give in the whole run, however often a stage ran", function()
    local rare = support.decode { name = "prefill" }
    local often = support.decode { wall = { count = 50, mean_ns = 100e6 } }
    local of_rare = gain(5e6, "waiting", { title = "rare" })
    of_rare.stage = "prefill"
    assert.equal("often rare", titles(advice.apply({ finds(of_rare,
      gain(1e6, "waiting", { title = "often" })) },
      support.results { stages = { rare, often } }, function(changes, stage)
        return replays(stage == "decode" and 50 or 1)(changes)
      end).findings))
  end)

  it("of equal gain are ranked by confidence", function()
    assert.equal("high medium low", titles(apply(support.decode(),
      gain(1e6, "gpu", { title = "low", confidence = "low" }),
      gain(1e6, "gpu", { title = "high" }),
      gain(1e6, "gpu", { title = "medium", confidence = "medium" }))))
  end)
end)


describe("a recipe's advise", function()
  local function examine(hook)
    return advice.apply({ advice.of_recipe(hook) }, support.results { stages = {} })
  end

  it("adds findings", function()
    local found = examine(function(results)
      return { finding { title = ("%d stages"):format(#results.stages) } }
    end)
    assert.equal("0 stages", found.findings[1].title)
    assert.equal("recipe", found.findings[1].rule)
  end)

  it("may find nothing", function()
    assert.same({ findings = {}, abstained = {}, silent = { { rule = "recipe",
      why = "the recipe's advise() found nothing" } } }, examine(function() end))
  end)

  local line = debug.getinfo(1, "l").currentline + 3

  it("is told by file and line when it returns something else", function()
    local message = failure(examine, function() return "slow" end)[2]
    assert.equal(("tests/lua/spec/advice/advice_spec.lua:%d: advise: "
      .. "a list of findings is expected, got string"):format(line), message)
  end)
end)


describe("a rule in $LLMPROF_HOME", function()
  local top = bundle.scratch(before_each, after_each)

  it("is one of the rules", function()
    assert(fs.mkdirs(top() .. "/lua/llmprof/advice"))
    assert(fs.write(top() .. "/lua/llmprof/advice/own.lua", [[
return { name = "own", examine = function(_, report) report.abstain "of no data" end }
]]))
    assert(fs.write(top() .. "/list.lua", [[
local found = require("llmprof.advice").examine { stages = {}, kernels = {} }
for _, entry in ipairs(found.abstained) do
  if entry.rule == "own" then print("own abstains " .. entry.why) end
end
]]))
    local lines = {}
    local result = assert(spawn.run({ sys.executable(), "exec", top() .. "/list.lua" },
      { env = { LLMPROF_HOME = top() }, on_line = function(line) lines[#lines + 1] = line end }))
    assert.same({ "own abstains of no data" }, lines)
    assert.is_true(result.ok)
  end)
end)


describe("all rules", function()
  -- "rule stage" per finding, then "rule -" per abstention.
  local function summary(found)
    local lines = {}
    for i, entry in ipairs(found.findings) do
      lines[i] = ("%s %s"):format(entry.rule, entry.stage or "-")
    end
    for _, entry in ipairs(found.abstained) do lines[#lines + 1] = entry.rule .. " abstains" end
    return table.concat(lines, "\n") .. "\n"
  end

  it("say what holds the recorded capture up", function()
    assert.equal([[
launch_bound decode
launch_bound prefill
casts decode
cat_cache decode
experts_one_by_one decode
gemm_precision prefill
gemv_at_batch_1 decode
graph_missing decode
large_elementwise sam
small_elementwise decode
small_elementwise prefill
sync_per_token decode
sync_per_token decode
layout_copies sam
bank_conflicts abstains
batch_room abstains
collective_bound abstains
expert_imbalance abstains
fewer_bytes abstains
fused_projections abstains
graph_sizes abstains
memory_roof abstains
pipeline_bubbles abstains
prefill_stalls abstains
rank_late abstains
small_all_reduces abstains
steps_idle abstains
throttling abstains
uncoalesced abstains
]], summary(advice.examine(recorded())))
  end)

  -- Why rules abstain where nothing is known; all others speak of a stage.
  local NOTHING = {
    ["bank conflicts were not measured (counters.set=full)"] = "bank_conflicts",
    ["clocks were not sampled (a capture made elsewhere, or no NVML)"] = "throttling",
    ["DRAM throughput was not measured (counters by ncu)"] = "memory_roof",
    ["neither occupancy (counters by ncu, section Occupancy) nor the GPU is known"] =
      "low_occupancy",
    ["no range marks single steps (step of a stage in the recipe)"] = "step_gaps",
    ["no steps and no second rank were found"] = "collective_bound expert_imbalance graph_sizes "
      .. "pipeline_bubbles prefill_stalls rank_late small_all_reduces steps_idle",
    ["sectors of requests were not measured (counters.set=full)"] = "uncoalesced",
    ["single steps were not timed (step of a stage in the recipe, or steps_ms)"] = "kv_growth",
    ["the batch is not known (batch in metrics.json)"] = "gemv_at_batch_1",
    ["the batch, the model's cost or the GPU's peaks are not known (model.arch)"] = "batch_room",
    ["the bytes of a step are not known (model.arch, and the GPU's bandwidth)"] = "fewer_bytes",
    ["the capture was not checked: there is no timeline"] = "capture_trust",
    ["the steps of decode are not counted (tokens and batch in metrics.json)"] = "allocations "
      .. "cat_cache experts_one_by_one fused_projections graph_missing sync_per_token token_choice",
    ["there is no second repeat to compare the first with (infer.repeats)"] = "first_repeat",
    ["waves are not known (the chip or the launch configurations)"] = "tail_effect",
  }

  it("abstain, and do not raise, on results without anything", function()
    local found, expected, said = advice.examine(support.results {}), {}, {}
    assert.same({}, found.findings)
    for _, name in ipairs(advice.names()) do
      if not require("llmprof.advice." .. name).about then
        expected[name] = "no stage was measured"
      end
    end
    for why, names in pairs(NOTHING) do
      for name in names:gmatch "%S+" do expected[name] = why end
    end
    for _, entry in ipairs(found.abstained) do said[entry.rule] = entry.why end
    assert.same(expected, said)
  end)
end)


describe("the order of findings", function()
  local function of_decode(fields)
    local made = { stage = "decode", title = "t", try = "x", confidence = "low",
      evidence = { { text = "e", source = "s" } }, assumption = "a" }
    for key, value in pairs(fields) do made[key] = value end
    return made
  end

  -- "rule<after>unlocks" of each finding of rules that find one each.
  local function order(list, ranks)
    local rules = {}
    for i, fields in ipairs(list) do
      rules[i] = { name = fields.rule, general = fields.general, of_ranks = fields.of_ranks }
      rules[i].examine = function(_, report)
        report.finding(of_decode { changes = { ("%d waiting"):format(fields.gain) },
          after = fields.after })
      end
    end
    local said = {}
    local results = support.results { stages = { support.slow_decode() }, ranks = ranks }
    for i, found in ipairs(advice.apply(rules, results, replays(1, true)).findings) do
      said[i] = found.rule .. (found.after and "<" .. table.concat(found.after, ",") or "")
        .. (found.unlocks and ">" .. table.concat(found.unlocks, ",") or "")
    end
    return table.concat(said, " ")
  end

  it("is that of their gains, and says what is needed, and what that unlocks", function()
    assert.equal("a b<4 d c>2", order { { rule = "a", gain = 9e6 },
      { rule = "b", gain = 8e6, after = { "c", "none" } }, { rule = "c", gain = 1e6 },
      { rule = "d", gain = 2e6 } })
    assert.equal("a<2 b<3>1 c>2", order { { rule = "a", gain = 9e6, after = { "b" } },
      { rule = "b", gain = 8e6, after = { "c" } }, { rule = "c", gain = 1e6 } })
  end)

  it("puts a cause of half of the waiting before the waiting as a whole", function()
    assert.equal("cause graph_missing launch_bound small", order {
      { rule = "launch_bound", gain = 9e6, general = true },
      { rule = "graph_missing", gain = 9e6, general = true },
      { rule = "cause", gain = 5e6 }, { rule = "small", gain = 1e6 } })
    assert.equal("launch_bound cause", order {
      { rule = "launch_bound", gain = 9e6, general = true }, { rule = "cause", gain = 4e6 } })
  end)

  it("puts what ranks gain together before what the first of several files waits for", function()
    local list = { { rule = "launch_bound", gain = 9e6 }, { rule = "less", gain = 8e6 },
      { rule = "late", gain = 2e6, of_ranks = true }, { rule = "small", gain = 1e6 } }
    assert.equal("late launch_bound less small", order(list, { ranks = { { rank = 0, file = "a" },
      { rank = 1, file = "b" } } }))
    assert.equal("launch_bound less late small", order(list, { ranks = { { rank = 0, file = "a" },
      { rank = 1, file = "a" } } }))
  end)
end)


describe("gains of one stage", function()
  it("are replayed in pairs, the largest, and those of its parts are of it", function()
    local part = support.decode { name = "part", parent = "decode" }
    local of_part, alone = gain(1e6, "gpu"), gain(4e6, "waiting")
    of_part.stage, alone.stage = "part", "prefill"
    local found = advice.apply({ finds(gain(9e6, "waiting"), gain(3e6, "gpu"), of_part, alone) },
      support.results { stages = { support.decode(), part, support.decode { name = "prefill" } } },
      replays(1))
    assert.equal("Gains of one stage must not be added up: 1, 3 and 4 (decode, 100.00 ms). "
      .. "Replayed, 1 and 3 of decode give back 9.00 ms together, not 12.00 ms.", found.note)
    assert.same({ { ranks = { 1, 3 }, gain_ns = 9e6, sum_ns = 12e6 } }, found.pairs)
  end)

  it("have no note where each is alone", function()
    assert.is_nil(advice.apply({ finds(gain(9e6, "waiting")) },
      support.results { stages = { support.decode() } }, replays(1)).note)
  end)
end)


describe("a rule that finds nothing", function()
  local function silent(rule, results)
    local list = {}
    for i, entry in ipairs(advice.apply({ rule }, results).silent) do
      list[i] = ("%s: %s"):format(entry.stage or "-", entry.why)
    end
    return list
  end

  it("says why, by stage", function()
    local rule = { name = "r", examine_stage = function(_, stage)
      return "nothing in " .. stage.name
    end }
    assert.same({ "decode: nothing in decode" }, silent(rule,
      support.results { stages = { support.decode() } }))
    assert.same({ "-: it found nothing" }, silent({ name = "r", examine = function() end },
      support.results {}))
  end)

  it("leaves a stage to the part that it found something in", function()
    local rule = { name = "r", children = true, examine_stage = function(_, stage, report)
      if stage.parent then
        report.finding { title = "t", try = "x", confidence = "low",
          evidence = { { text = "e", source = "s" } } }
      end
      return "looked"
    end }
    local part = support.decode { name = "part", parent = "decode" }
    assert.same({ "decode: see part, which is in it" }, silent(rule,
      support.results { stages = { support.decode(), part } }))
    local idle = support.slow_decode { name = "part", parent = "decode" }
    assert.same({ "decode: looked" }, silent(rule,
      support.results { stages = { support.decode(), idle } }))
  end)

  it("gives a reason, all of them, on the recorded capture", function()
    for _, entry in ipairs(advice.examine(recorded()).silent) do
      assert.not_equal("it found nothing", entry.why, entry.rule)
    end
  end)
end)


describe("every rule", function()
  local rules = advice.names()

  it("has a spec of its own", function()
    for _, name in ipairs(rules) do
      local spec = ("tests/lua/spec/advice/%s_spec.lua"):format(name)
      assert.is_truthy(fs.stat(spec), "no " .. spec)
      assert.matches(name, assert(fs.read(spec)), 1, true)
    end
  end)

  it("has its row in the manual, and the manual no other", function()
    local page, rows = assert(fs.read "docs/advice.md"), {}
    local table_of_rules = page:match "\n## The rules\n(.-)\n## "
    for name in table_of_rules:gmatch "\n| `([%w_]+)` |" do rows[#rows + 1] = name end
    table.sort(rows)
    assert.same(rules, rows)
  end)

  it("is called as its file is", function()
    for _, name in ipairs(rules) do
      assert.equal(name, require("llmprof.advice." .. name).name)
    end
  end)
end)
