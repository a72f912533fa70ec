local lists = require "llmprof.tables.lists"

describe("llmprof.tables.lists", function()
  it("joins, filters and cuts lists, and leaves them as they are", function()
    local one = { 1, 2 }
    assert.same({ 1, 2, 3, 4 }, lists.joined(one, { 3 }, {}, { 4 }))
    assert.same({ 2 }, lists.filtered(one, function(entry) return entry > 1 end))
    assert.same({ 1 }, lists.first(one, 1))
    assert.same({ 1, 2 }, lists.first(one, 5))
    assert.same({ 1, 2 }, one)
    assert.equal(one, lists.add(one, { 3 }))
    assert.same({ 1, 2, 3 }, one)
  end)

  it("groups entries in the order in which their keys come", function()
    local a, b, c, none = { k = "x" }, { k = "y" }, { k = "x" }, {}
    local groups, by_key = lists.grouped({ a, b, none, c }, "k")
    assert.same({ { a, c }, { b } }, groups)
    assert.equal(groups[2], by_key.y)
    assert.same({ { 3, 1 }, { 2 } },
      (lists.grouped({ 3, 2, 1 }, function(entry) return entry % 2 == 1 end)))
  end)

  it("sorts by fields, what is absent first, or last where the largest comes first", function()
    local list = { { n = 1, t = "b" }, { t = "c" }, { n = 2, t = "a" }, { n = 1, t = "a" } }
    local function order(...)
      table.sort(list, lists.by(...))
      local said = {}
      for i, entry in ipairs(list) do said[i] = (entry.n or "-") .. entry.t end
      return table.concat(said, " ")
    end
    assert.equal("-c 1a 1b 2a", order("n", "t"))
    assert.equal("2a 1b 1a -c", order("-n", "-t"))
  end)
end)
