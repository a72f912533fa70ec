-- What a change gains, of programs whose times are known.
local changes = require "llmprof.whatif.changes"
local failure = require "tests.lua.support.failure"
local lockstep = require "tests.lua.support.lockstep"
local query = require "llmprof.query"
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

  it("lets nobody wait for the late rank", function()
    local one = row(over(program()):change "waits(2)":run(), "decode")
    -- of three ranks two wait for the next slowest
    near((2 * 1000000) / 3, one.gain, 10000)
    assert.is_true(one.low <= one.gain and one.gain <= one.high)
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
