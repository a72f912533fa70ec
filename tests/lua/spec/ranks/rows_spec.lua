-- What frames of ranks and timelines are asked, beyond what frames have.
local frames = require "llmprof.frame"
local rows = require "llmprof.ranks.rows"


describe("rows.extent", function()
  it("knows times that no sum holds", function()
    local late = 1 << 62
    local made = assert(frames.new(3, {
      { name = "start", type = "integer", values = { late + 5, late, late + 7 } },
      { name = "end", type = "integer", values = { late + 9, late + 2, late + 8 } } }))
    assert.same({ late, late + 9 }, { rows.extent(made) })
    assert.same({}, { rows.extent(made:where { start = 1 }) })
  end)
end)
