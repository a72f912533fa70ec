-- Advice as a whole: the contract of rules, how gains are cut and findings
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


local function gain(ns, spends, more)
  local made = finding(more)
  made.stage, made.gain_ns, made.spends, made.assumption = "decode", ns, spends, "a"
  return made
end


-- A rule that finds these.
local function finds(...)
  local list = { ... }
  return { name = "test", examine = function(_, report)
    for _, made in ipairs(list) do report.finding(made) end
  end }
end


local function apply(stage, ...)
  return advice.apply({ finds(...) }, support.results { stages = { stage } }).findings
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
    assert.equal(rule .. "title: a line of text is missing", fault { title = false })
    assert.equal(rule .. "try: what to do about it is missing", fault { try = false })
    assert.equal(rule .. 'confidence: "high", "medium" or "low"', fault { confidence = "sure" })
    assert.equal(rule .. "stage: a name", fault { stage = 5 })
    assert.equal(rule .. "kernels: a list of ids", fault { kernels = 5 })
    local evidence = rule .. "evidence: a list of { text, source } is missing"
    assert.equal(evidence, fault { evidence = false })
    assert.equal(evidence, fault { evidence = {} })
    assert.equal(evidence, fault { evidence = { "seen" } })
    assert.equal(evidence, fault { evidence = { { text = "seen" } } })
  end)

  it("is refused when its gain says too little", function()
    local message = "advice rule 'test': gain_ns: a number, with stage, assumption, and spends = "
      .. '"waiting" or "gpu"'
    assert.equal(message, fault { gain_ns = 5 })
    assert.equal(message, fault { gain_ns = "5", stage = "decode", assumption = "a",
      spends = "gpu" })
    assert.equal(message, fault { gain_ns = 0 / 0, stage = "decode", assumption = "a",
      spends = "gpu" })
    assert.equal(message, fault { gain_ns = 5, stage = "decode", assumption = "a",
      spends = "time" })
  end)

  it("must be a table", function()
    assert.same({ "usage", "advice rule 'test': a finding is a table", hint },
      failure(apply, support.decode(), "launch-bound"))
  end)
end)


describe("a gain", function()
  -- gain_ns, gain_share, of_ns, of, behind of the one finding
  local function bounded(stage, made, given)
    local results = support.results(given)
    results.stages = { stage }
    local found = advice.apply({ finds(made) }, results).findings[1]
    return { found.gain_ns, found.gain_share, found.of_ns, found.of, found.behind }
  end

  it("is cut to the waiting or the GPU's work", function()
    assert.same({ 20e6, 0.2, 100e6, "timeline" }, bounded(support.decode(), gain(50e6, "waiting")))
    assert.same({ 80e6, 0.8, 100e6, "timeline" }, bounded(support.decode(), gain(90e6, "gpu")))
    assert.same({ 5e6, 0.05, 100e6, "timeline" }, bounded(support.decode(), gain(5e6, "waiting")))
    assert.same({ 0, 0, 100e6, "timeline" }, bounded(support.decode(), gain(-5e6, "gpu")))
  end)

  it("is cut to the time of plain runs where there are any", function()
    local overhead = { runs = 1, stages = { { name = "decode", plain_ms = 90 } } }
    assert.same({ 10e6, 10 / 90, 90e6, "plain runs" }, bounded(support.decode(),
      gain(50e6, "waiting"), { overhead = overhead }))
  end)

  it("takes one of several instances in a plain repeat", function()
    local overhead = { runs = 1, stages = { { name = "decode", plain_ms = 360 } } }
    assert.same({ 10e6, 10 / 90, 90e6, "plain runs" },
      bounded(support.decode { wall = { count = 8, mean_ns = 100e6 } }, gain(50e6, "waiting"),
        { overhead = overhead, repeats = { count = 2, used = 2 } }))
  end)

  it("in GPU time of a launch-bound stage is behind its waiting", function()
    assert.same({ 9e6, 0.09, 100e6, "timeline", "waiting" },
      bounded(support.slow_decode(), gain(9e6, "gpu")))
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
      support.results { stages = { rare, often } }).findings))
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
  -- "rule stage 12.34 ms" per finding, then "rule -" per abstention.
  local function summary(found)
    local lines = {}
    for i, entry in ipairs(found.findings) do
      lines[i] = ("%s %s %s"):format(entry.rule, entry.stage or "-",
        entry.gain_ns and ("%.2f ms"):format(entry.gain_ns / 1e6) or "-")
    end
    for _, entry in ipairs(found.abstained) do lines[#lines + 1] = entry.rule .. " abstains" end
    return table.concat(lines, "\n") .. "\n"
  end

  it("say what holds the recorded capture up", function()
    assert.equal([[
launch_bound decode 154.86 ms
graph_missing decode 154.86 ms
launch_bound prefill 58.00 ms
experts_one_by_one decode 50.27 ms
small_elementwise decode 47.20 ms
small_elementwise prefill 15.31 ms
casts decode 13.68 ms
large_elementwise sam 4.83 ms
layout_copies sam 3.43 ms
cat_cache decode -
gemv_at_batch_1 decode -
sync_per_token decode 0.39 ms
gemm_precision prefill 0.18 ms
sync_per_token decode 0.04 ms
bank_conflicts abstains
batch_room abstains
collective_bound abstains
expert_imbalance abstains
fewer_bytes abstains
fused_projections abstains
graph_sizes abstains
many_registers abstains
memory_roof abstains
pipeline_bubbles abstains
prefill_stalls abstains
rank_late abstains
small_all_reduces abstains
split_k abstains
steps_idle abstains
throttling abstains
uncoalesced abstains
]], summary(advice.examine(recorded())))
  end)

  it("abstain, and do not raise, on results without anything", function()
    local found = advice.examine(support.results {})
    assert.same({}, found.findings)
    local names = {}
    for i, entry in ipairs(found.abstained) do names[i] = entry.rule end
    local asked = {}
    for _, name in ipairs(advice.names()) do
      if not require("llmprof.advice." .. name).about then asked[#asked + 1] = name end
    end
    assert.same(asked, names)
  end)
end)


describe("the order of findings", function()
  local function of_decode(fields)
    local made = { stage = "decode", title = "t", try = "x", confidence = "low",
      evidence = { { text = "e", source = "s" } }, spends = "waiting", assumption = "a" }
    for key, value in pairs(fields) do made[key] = value end
    return made
  end

  -- "rule<after>unlocks" of each finding of rules that find one each.
  local function order(list, ranks)
    local rules = {}
    for i, fields in ipairs(list) do
      rules[i] = { name = fields.rule, general = fields.general, of_ranks = fields.of_ranks }
      rules[i].examine = function(_, report)
        report.finding(of_decode { gain_ns = fields.gain, after = fields.after })
      end
    end
    local said = {}
    local results = support.results { stages = { support.slow_decode() }, ranks = ranks }
    for i, found in ipairs(advice.apply(rules, results).findings) do
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
  it("must not be added up, whatever they are taken from, also in parts of it", function()
    local part = support.decode { name = "part", parent = "decode" }
    local of_part, alone = gain(1e6, "gpu"), gain(4e6, "waiting")
    of_part.stage, alone.stage = "part", "prefill"
    local found = advice.apply({ finds(gain(9e6, "waiting"), gain(3e6, "gpu"), of_part, alone) },
      support.results { stages = { support.decode(), part, support.decode { name = "prefill" } } })
    assert.equal("Each gain is that of one move alone; those of one stage share its time, whether "
      .. "the GPU works or waits, and must not be added up: 1, 3 and 4 (decode, 100.00 ms).",
      found.note)
  end)

  it("have no note where each is alone", function()
    assert.is_nil(advice.apply({ finds(gain(9e6, "waiting")) },
      support.results { stages = { support.decode() } }).note)
  end)
end)


describe("time in collectives", function()
  -- Two ranks that wait 3 of 8 ms of GPU time of each of the ten steps.
  local ranks = { files = {}, left_out = {}, ranks = { { rank = 0, file = "a" }, { rank = 1,
    file = "a" } }, stages = { { phase = "decode", count = 10, waiting_ns = 3e6,
      exposed_ns = 4e6, ranks = { { rank = 0, count = 10 }, { rank = 1, count = 10 } } } } }

  local function most(rule)
    local results = support.results { ranks = ranks,
      stages = { support.decode { instances = { {}, {} } } } }
    rule.name = "test"
    rule.examine = function(_, report) report.finding(gain(90e6, "gpu")) end
    return advice.apply({ rule }, results).findings[1].gain_ns
  end

  it("that waits is not the GPU's work, and all that a late rank can give back", function()
    assert.equal(50e6, most {})
    assert.equal(30e6, most { in_waiting = true })
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
