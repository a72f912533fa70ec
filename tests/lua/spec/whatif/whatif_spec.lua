-- What a change gains, of programs whose times are known.
local changes = require "llmprof.whatif.changes"
local errors = require "llmprof.process.errors"
local failure = require "tests.lua.support.failure"
local lockstep = require "tests.lua.support.lockstep"
local models = require "llmprof.whatif.model"
local query = require "llmprof.query"
local source = require "llmprof.query.session.source"
local timeline = require "tests.lua.support.timeline"
local whatif = require "llmprof.whatif"

-- ns of CPU that each rank of lockstep takes for a step: the last one is late by 1 ms.
local CPU = { 1000000, 1500000, 2500000 }

-- A timeline as a source of a session.
local function over(lines)
  local trace = timeline.of(lines)
  return whatif.over { { trace = trace, kernels = query.wrap(assert(trace:frame "kernels")),
    ops = query.wrap(assert(trace:frame "gpu")) } }
end


local function program(ranks)
  return lockstep.lines { ranks = ranks or 3, repeats = 2, steps = 24, decode = true,
    cpu = function(rank) return CPU[rank + 1] end }
end


local function row(made, stage)
  for _, one in ipairs(made.stages) do
    if one.stage == stage then return one end
  end
end


local function near(expected, actual, ns)
  assert.is_true(math.abs(expected - actual) <= (ns or 2000),
    ("%.0f expected, %.0f came"):format(expected, actual))
end


describe("a replay", function()
  it("is what was recorded, as long as nothing changes", function()
    local model = over(program()).model
    assert.are_equal(0, model.missing)
    assert.are_equal(50, model.basis.collectives)
    for _, stage in ipairs(model.stages) do
      assert.is_nil(stage.refused)
      near(stage.recorded, stage.replayed, 0.005 * stage.recorded)
    end
    near(model.recorded_waits, model.replayed_waits, 0.005 * model.recorded_waits)
    assert.is_true(model:blind().error < 0.01)
  end)

  it("measures stages without steps in the order of time with those that have some", function()
    local said = {}
    for i, one in ipairs(over(lockstep.lines { ranks = 1, repeats = 2, steps = 3, decode = true,
      names = { prefill = "encode", decode = "decode_step" },
      cpu = function() return CPU[1] end }).model.parts[1].units) do said[i] = one.stage end
    assert.equal("encode decode decode decode encode decode decode decode",
      table.concat(said, " "))
  end)

  it("lets nobody wait for the late rank", function()
    local one = row(over(program()):change "waits(2)":run(), "decode")
    -- of three ranks two wait for the next slowest
    near((2 * 1000000) / 3, one.gain, 10000)
    assert.is_true(one.low <= one.gain and one.gain <= one.high)
  end)

  it("gains as much for the ranks that wait when the late rank's file comes first", function()
    local function gain(order, code)
      local sources = {}
      for i, rank in ipairs(order) do
        local own = {}
        for line in program():gmatch "[^\n]+" do
          if tonumber(line:match "pid=(%d+)" or rank) == rank then own[#own + 1] = line end
        end
        local trace = timeline.of(table.concat(own, "\n") .. "\n")
        sources[i] = { trace = trace, kernels = query.wrap(assert(trace:frame "kernels")),
          ops = query.wrap(assert(trace:frame "gpu")) }
      end
      return whatif.over(sources):change(code):gain("decode").gain
    end
    near(48 * 1000000, gain({ 1, 2, 3 }, "waits(2)"), 500000) -- 48 steps
    near(48 * 1000000, gain({ 3, 1, 2 }, "waits(0)"), 500000)
  end)

  it("gains what the CPU takes less, where the CPU is what limits", function()
    local one = row(over(program(1)):scale(changes.choices.cpu "decode", 0.5):run(), "decode")
    near(0.5, one.gain / one.now, 0.02)
    assert.are_equal("CPU", one.limit)
    assert.is_true(one.gpu_free <= one.after and one.cpu_free <= one.after)
  end)

  it("gains nothing by kernels that nobody waits for", function()
    local question = over(program(1))
    local kernels = question.model.parts[1].source.kernels:where { name = { "~", "gemm" } }
    local one = row(question:scale(kernels, 0.5):run(), "decode")
    near(0, one.gain)
  end)

  it("takes several changes at once", function()
    local one = row(over(program(1)):graphs("decode", { least = 1 }):run(), "decode")
    local two = row(over(program(1)):graphs("decode", { least = 1 })
      :scale(changes.choices.cpu "decode", 0.5):run(), "decode")
    assert.is_true(two.gain >= one.gain)
  end)

  it("takes from steps what they take more than half of them", function()
    local count = 0
    local lines = lockstep.lines { ranks = 1, repeats = 2, steps = 24, decode = true,
      cpu = function()
        count = count + 1
        return count % 8 == 0 and 5000000 or 1000000
      end }
    local one = row(over(lines):change 'even("decode")':run(), "decode")
    near(4000000 * 6 / 48, one.gain, 5000) -- 6 of 48 steps
  end)

  it("tells the last wait of a step from the inner ones", function()
    local question = over(program(1))
    assert.are_equal(row(question:change 'remove(syncs "decode")':run(), "decode").gain,
      row(question:change 'remove(syncs("decode", "last"))':run(), "decode").gain)
    assert.are_equal("without inner syncs of decode: nothing matches", failure(function()
      question:change 'remove(syncs("decode", "inner"))':run()
    end)[2])
  end)

  it("makes one of those that follow each other", function()
    local made = over(program(1)):change "fuse(ops)":run()
    assert.are_equal(50, made.changes[1].count) -- two in each of 50 steps, with a wait between
  end)

  it("takes the changes of a finding", function()
    local question = over(program(1))
    question.model.parts[1].source.results = { advice = { findings = { { title = "t",
      changes = { 'scale(cpu "decode", 0.5)', 'even("decode")' } }, { title = "none" } } } }
    assert.are_equal(2, #question:finding(1).changes)
    assert.are_equal("finding 2, none: it names no change that can be replayed",
      failure(function() question:finding(2) end)[2])
    assert.are_equal("there is no finding 3", failure(function() question:finding(3) end)[2])
    question.model.parts[1].source.results = false
    assert.matches("^finding 1: .* is a trace, and findings are of a run$",
      failure(function() question:finding(1) end)[2])
  end)

  it("is refused where only launches were recorded", function()
    local lines = program(1):gsub("call[^\n]*cudaStreamSynchronize\n", "")
    local made = over(lines):scale(changes.choices.cpu "decode", 0.5):run()
    assert.are_equal("only calls that launch were recorded, not what the CPU waits for",
      row(made, "decode").refused)
  end)
end)


describe("a change", function()
  it("that finds nothing, or has no ground, is refused", function()
    for code, message in pairs {
      ['remove(kernels:where { name = "nothing" })'] = "without 0 operations: nothing matches",
      ['graphs("deocde")'] = "no stage is called 'deocde'",
      ["graphs()"] = "graphs: of which stage?",
      ["scale(kernels, -1)"] = "scale: by which factor?",
      ["batch(16)"] = "batch(16): one run says nothing of another batch",
      ["kernels"] = "kernels: that is no change",
      ['graphs("decode"'] = "graphs(\"decode\": ')' expected near <eof>",
    } do
      assert.are_equal(message,
        failure(function() over(program(1)):change(code):run() end)[2])
    end
  end)
end)


describe("a replay for a finding", function()
  -- What half of the CPU's time gives back of a stage, with so many events in a replay.
  local function gain(most, stage, ranks)
    local trace, whole = timeline.of(program(ranks or 1)), models.MOST_EVENTS
    local replay = whatif.replayer(function() return { source.of(trace, {}) } end)
    local code = ('scale(cpu "%s", 0.5)'):format(stage)
    models.MOST_EVENTS = most
    local ok, made, why = errors.call(replay, { code }, stage)
    models.MOST_EVENTS = whole
    assert.is_true(ok, tostring(made))
    return made, why
  end

  local function events_of(ranks)
    local trace = timeline.of(program(ranks))
    return #trace:frame "gpu" + #trace:frame "api"
  end

  it("takes whole repeats of a long trace, which stand for all", function()
    local whole = gain(models.MOST_EVENTS, "decode")
    assert.is_nil(whole.replayed)
    for _, ranks in ipairs { 1, 3 } do
      local events = events_of(ranks)
      local made, all = gain(events - 1, "decode", ranks), gain(events, "decode", ranks)
      assert.same({ 48 * ranks, 24 * ranks }, { made.units, made.replayed })
      near(all.gain, made.gain, 0.01 * all.gain)
      near(all.high, made.high, 0.02 * all.high)
    end
  end)

  it("gives a stage that is not in the first steps a window of its own", function()
    local events = events_of(1)
    local made = gain(events // 50 * 3, "decode")
    assert.is_true(made.replayed < 24)
    assert.is_truthy(gain(events // 50 + 1, "decode").replayed)
    near(gain(events, "decode").gain, made.gain, 0.03 * made.gain)
  end)

  it("is none where one step is too long", function()
    assert.same({ n = 2, nil, "one step has more than 1 calls and operations" },
      table.pack(gain(1, "decode")))
  end)
end)


describe("what came of a change", function()
  local function sources(ns)
    local trace = timeline.of(lockstep.lines { ranks = 1, repeats = 2, steps = 24, decode = true,
      cpu = function() return ns end })
    return { { trace = trace } }
  end

  it("is held against what was predicted, the CPU and the GPU alone, too", function()
    local code = 'scale(cpu "decode", 0.5)'
    local function of_decode(ns) return whatif.outcome(sources(1000000), sources(ns), code)[2] end
    local one = of_decode(500000)
    assert.is_true(one.inside)
    near(one.came, one.predicted, 20000)
    near(one.cpu_came, one.cpu, 20000)
    near(one.gpu_came, one.gpu)
    local text = whatif.render_outcome("md", { one }, code)
    assert.truthy(text:find("\nFor the ledger: | decode | `scale(cpu \"decode\", 0.5)` | 1.01 | ",
      1, true))
    assert.is_false(of_decode(2000000).inside)
  end)
end)


describe("another batch", function()
  -- A run of a batch whose matmuls take that much of a step.
  local function of(batch, ns, recipe)
    local trace = timeline.of(program(1))
    return source.of(trace, { results = { run = { recipe = recipe or "r" }, repeats = "no",
      kernels = {}, latency = { tokens_per_s = { batch = batch } }, stages = { { name = "decode",
        wall = { count = 2, mean_ns = 1 }, steps = 24, kernels = 48,
        categories = { { category = "gemm", gpu_time_ns = ns * 24 } } } } } })
  end

  it("lies between two that were measured", function()
    local near_one, change = changes.between(of(1, 20000), of(5, 60000), 2)
    assert.are_equal(1, near_one.results.latency.tokens_per_s.batch)
    local made = {}
    local function scale(_, _, rows, by)
      made[#made + 1] = by
      return #rows
    end
    local rows = change.apply(nil, { number = 1, source = near_one }, { scale = scale })
    assert.are_equal(48, rows)
    near(1.5, made[1], 1e-9)
  end)

  it("is refused outside of them, of two programs, and where no batch is known", function()
    local function said(...)
      return failure(changes.between, ...)[2]
    end
    assert.are_equal("batch(5) does not lie between 1 and 5", said(of(1, 1), of(5, 2), 5))
    assert.are_equal("batch: these runs are not of one program",
      said(of(1, 1), of(5, 2, "other"), 2))
    assert.truthy(said(of(nil, 1), of(5, 2), 2):find("its batch is not known", 1, true))
  end)
end)
