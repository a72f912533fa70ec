-- Where data may come from, and the configuration's list of it.
local captures = require "llmprof.run.capture"
local defaults = require "llmprof.recipe.defaults"
local failure = require "tests.lua.support.failure"
local sorted_keys = require("llmprof.tables.keys").sorted

local needed = { "about", "note", "timeline", "counters", "operators", "preview" }


describe("llmprof.run.capture", function()
  it("has a source for each choice of the configuration", function()
    local choices = table.move(defaults.capture.choices, 1, #defaults.capture.choices, 1, {})
    table.sort(choices)
    assert.same(choices, sorted_keys(captures.sources))
  end)

  it("has sources that do all that is asked of them", function()
    for name, source in pairs(captures.sources) do
      for _, field in ipairs(needed) do
        assert.is_function(source()[field], ("%s.%s"):format(name, field))
      end
    end
  end)

  it("takes counters by the collector where the timeline is its own", function()
    assert.same({ "usage",
      "counters=builtin needs capture=builtin: they are taken in one run" },
      failure(captures.of, { capture = "nsys", counters = { by = "builtin" } }))
    assert.equal(captures.sources.builtin(),
      captures.of { capture = "builtin", counters = { by = "builtin" },
        collector = { yield = "off" } })
    assert.same({ "usage",
      "collector.yield=on leaves no counters and samples to the collector",
      "counters=ncu measures them; collector.samples_hz=0" },
      failure(captures.of, { capture = "builtin", counters = { by = "builtin" },
        collector = { yield = "on" } }))
  end)
end)
