-- capture=none: the workload by itself, whose own numbers are all there is.
local live = require "tests.lua.support.live"


describe("capture=none", function()
  after_each(live.clean)

  it("runs the workload once, and no tool", function()
    local made = live.run { "capture=none" }
    assert.equal(0, made.code, made.output)
    assert.equal(1, #made:calls "workload")
    assert.equal(0, #made:calls "nsys")
    assert.equal("2 repeats", made:step("alone").note)
    local results = made:json "results.json"
    assert.same({ 2, 2, false }, { results.repeats.count, results.repeats.used,
      results.repeats.whole_run })
    assert.equal("capture=none", results.missing[1].why)
    assert.matches("Not measured: capture=none", made:read "report.md", 1, true)
  end)

  it("keeps the stages, TTFT and TPOT that the workload timed", function()
    local made = live.run { "capture=none", "--strict" }
    assert.equal(0, made.code, made.output)
    local results = made:json "results.json"
    local prefill, decode = results.stages[1], results.stages[2]
    assert.same({ "prefill", 2, 10e6, "decode", 20e6, 4e6 }, { prefill.name, prefill.own.count,
      prefill.own.mean_ns, decode.name, decode.own.mean_ns, decode.ns_per_token })
    assert.is_nil(prefill.wall)
    local plain = results.latency.plain
    assert.same({ 10e6, 4e6, 250 },
      { plain.ttft.mean_ns, plain.tpot.mean_ns, plain.tokens_per_s.mean })
    assert.matches("| prefill | +2 | +10%.00 |", made:read "report.md")
    assert.matches("without the profiler", made:read "report.md", 1, true)
  end)

  it("says what the workload wrote that cannot be read, and fails with --strict", function()
    for _, strict in ipairs { false, true } do
      local made = live.run({ "capture=none", strict and "--strict" or nil },
        { STANDIN_WORKLOAD = "broken" })
      assert.equal(strict and 1 or 0, made.code, made.output)
      assert.matches("llmprof: .*/workload/metrics.json:2:", made.output)
    end
  end)

  it("keeps the numbers of a workload that fails, and fails", function()
    local made = live.run({ "capture=none" }, { STANDIN_WORKLOAD = "late" })
    assert.equal(1, made.code)
    assert.equal("done", made:step("alone").status)
    assert.matches("the workload: it ended with exit status 9", made.output, 1, true)
    assert.equal(2, made:json("results.json").repeats.count)
  end)

  it("says that a workload wrote nothing, and fails with --strict", function()
    for _, strict in ipairs { false, true } do
      local made = live.run({ "capture=none", strict and "--strict" or nil },
        { STANDIN_WORKLOAD = "mute" })
      assert.equal("no numbers: it wrote no metrics.json", made:step("alone").note)
      assert.equal(strict and 1 or 0, made.code, made.output)
      assert.matches("llmprof: nothing was measured: capture=none, and it wrote no metrics.json",
        made.output, 1, true)
    end
  end)

  it("is kept when the run is continued", function()
    local made = live.run { "capture=none" }
    local again = live.llmprof { "tests/standin/recipe.lua", "capture=none",
      "out=" .. made.out, "--resume", made.out }
    assert.equal(0, again.code, again.output)
    assert.matches("alone +kept", again.output)
  end)

  it("has no part in other runs", function()
    assert.is_nil(live.run({ "counters=off", "operators=off" }):step "alone")
  end)
end)
