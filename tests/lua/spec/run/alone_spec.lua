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
    assert.same({}, results.stages)
    assert.same({ count = 2, used = 2, skipped_first = false, whole_run = false },
      results.repeats)
    assert.equal("capture=none", results.missing[1].why)
    assert.matches("Not measured: capture=none", made:read "report.md", 1, true)
  end)

  it("keeps the numbers of a workload that fails, and fails", function()
    local made = live.run({ "capture=none" }, { STANDIN_WORKLOAD = "late" })
    assert.equal(1, made.code)
    assert.equal("done", made:step("alone").status)
    assert.matches("the workload: it ended with exit status 9", made.output, 1, true)
    assert.equal(2, made:json("results.json").repeats.count)
  end)

  it("says that a workload wrote nothing", function()
    local made = live.run({ "capture=none" }, { STANDIN_WORKLOAD = "mute" })
    assert.equal("no numbers: it wrote no metrics.json", made:step("alone").note)
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
