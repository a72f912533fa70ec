-- Who gets what, by size.
local deal = require "llmprof.base.deal"


describe("dealing by size", function()
  it("gives the largest first, to whoever has least", function()
    assert.same({ { 2 }, { 4, 1, 3 } }, deal({ 30, 100, 10, 60 }, 2))
  end)

  it("gives each file once, however many processes there are", function()
    for count = 1, 9 do
      local seen = {}
      for _, hand in ipairs(deal({ 5, 0, 0, 5, 7, 1 }, count)) do
        for _, file in ipairs(hand) do
          assert.is_nil(seen[file])
          seen[file] = true
        end
      end
      assert.equal(6, #seen)
    end
  end)

  it("counts files without a size, too", function()
    assert.same({ { 1, 3 }, { 2, 4 } }, deal({ 0, 0, 0, 0 }, 2))
  end)
end)
