local launches_of = require "tests.lua.support.launches"
local measured = require "llmprof.analysis.counters.measured"

local declared = { { name = "prefill" }, { name = "LLM:decode" } }

local function launch(name, seconds, fields)
  local made = { kernel = name, duration = seconds, device = 0,
    grid = { x = 1, y = 1, z = 1 }, block = { x = 32, y = 1, z = 1 } }
  for key, value in pairs(fields or {}) do made[key] = value end
  return made
end

local function in_decode(name, seconds, fields)
  local made = launch(name, seconds, fields)
  made.stages = { { domain = "LLM", name = "decode" } }
  return made
end


describe("llmprof.analysis.counters.measured", function()
  local function list(records)
    local launches = launches_of(records)
    return measured.kernels(launches, measured.found(declared, launches))
  end

  it("adds the measured launches of each kernel up", function()
    local found = list { launch("void f<int>(int)", 4e-6), launch("g(int)", 3e-6),
      launch("void f<int>(int)", 2e-6), launch("void f<int>(int)", 3e-6,
        { grid = { x = 2, y = 1, z = 1 } }) }
    assert.equal(2, #found)
    local first = found[1]
    assert.same({ 1, "void f<int>(int)", "f", 3, 9000, 3000.0, 3000, 2000, 4000, 1000.0 },
      { first.id, first.name, first.short_name, first.calls, first.total_ns, first.mean_ns,
        first.median_ns, first.min_ns, first.max_ns, first.std_ns })
    assert.equal(0.75, first.share)
    assert.same({ { grid = { 1, 1, 1 }, block = { 32, 1, 1 }, calls = 2, total_ns = 6000 },
      { grid = { 2, 1, 1 }, block = { 32, 1, 1 }, calls = 1, total_ns = 3000 } }, first.shapes)
  end)

  it("keeps devices and stages apart", function()
    local found = list { in_decode("f()", 1e-6), in_decode("f()", 2e-6, { device = 1 }),
      launch("f()", 4e-6) }
    assert.same({ { "whole run", 0 }, { "LLM:decode", 1 }, { "LLM:decode", 0 } },
      { { found[1].stage, found[1].device }, { found[2].stage, found[2].device },
        { found[3].stage, found[3].device } })
  end)

  it("has one stage where no launch was in a declared range", function()
    local launches = { launch("f()", 1e-6) }
    assert.is_true(measured.found(declared, launches_of(launches)).whole)
    assert.equal("whole run", list(launches)[1].stage)
    assert.is_nil(measured.found(declared, launches_of { in_decode("f()", 1e-6) }).whole)
  end)

  it("leaves out what has no time, no name or is a whole range", function()
    assert.same({}, list { launch("f()"), launch(nil, 1e-6),
      launch("range", 1e-6, { whole_range = true }) })
  end)

  it("names functions of namespaces and types shortly", function()
    assert.equal("kernel", list { launch("void at::native::kernel<at::A, 4>(int, at::A)", 1e-6) }[1]
      .short_name)
    assert.equal("nvjet_tst_64x8", list { launch("nvjet_tst_64x8", 1e-6) }[1].short_name)
  end)
end)
