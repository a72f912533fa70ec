local kernels = require "llmprof.compare.kernels"
local sides = require "tests.lua.support.sides"
local tuple = require("llmprof.tables.keys").tuple

local function side(...)
  return sides.side { stages = { sides.stage { name = "decode", walls = { 1, 1 } } },
    kernels = { ... } }
end

-- "status where name (was) calls -> calls, us -> us" of each row.
local function said(before, after)
  local lines = {}
  local function us(ns) return ns and ("%g"):format(ns / 1000) or "-" end
  local function calls(count) return count and ("%g"):format(count) or "-" end
  for i, row in ipairs(kernels.compare(before, after, { decode = true })) do
    lines[i] = ("%s %s %s%s %s -> %s, %s -> %s us"):format(row.status, row.where, row.name,
      row.was and " (" .. row.was .. ")" or "", calls(row.calls_before), calls(row.calls_after),
      us(row.before_ns), us(row.after_ns))
  end
  return table.concat(lines, "\n")
end

describe("llmprof.compare.kernels", function()
  it("matches by name, per instance of the stage, several GPUs together", function()
    assert.equal([[
same decode k 6 -> 2, 60 -> 20 us
new decode b - -> 2, - -> 20 us
gone decode a 1 -> -, 10 -> - us]], said(
      side(sides.kernel { device = 0 }, sides.kernel { device = 1, calls = 8 },
        sides.kernel { name = "a", calls = 2, category = "gemm", grid = 7 }),
      side(sides.kernel {}, sides.kernel { name = "b", grid = 9 })))
  end)

  it("keeps the parts of a stage apart", function()
    assert.equal("same decode k 2 -> 2, 20 -> 20 us\nsame decode/sam k 2 -> 2, 20 -> 20 us",
      said(side(sides.kernel {}, sides.kernel { part = "sam" }),
        side(sides.kernel {}, sides.kernel { part = "sam" })))
  end)

  it("finds the same work under another name, by shape, calls and category", function()
    assert.equal("renamed decode new (old) 2 -> 2, 20 -> 10 us",
      said(side(sides.kernel { name = "old" }),
        side(sides.kernel { name = "new", total_ns = 20000 })))
  end)

  it("holds calls per step against each other", function()
    local before, after = side(sides.kernel { name = "old", calls = 30 }),
      side(sides.kernel { name = "new", calls = 18 })
    assert.equal("gone decode old 15 -> -, 150 -> - us\nnew decode new - -> 9, - -> 90 us",
      said(before, after))
    before.results.stages[1].steps, after.results.stages[1].steps = 15, 9
    assert.equal("renamed decode new (old) 15 -> 9, 150 -> 90 us",
      said(before, after))
  end)

  it("takes the best agreement first", function()
    assert.equal("new decode x - -> 1, - -> 10 us\n"
      .. "renamed decode y (a) 2 -> 2, 20 -> 20 us",
      said(side(sides.kernel { name = "a" }),
        side(sides.kernel { name = "x", calls = 2 }, sides.kernel { name = "y" })))
  end)

  it("leaves out other stages", function()
    assert.equal("", said(side(sides.kernel { stage = "prefill" }), side()))
  end)

  it("gives each its share of all differences", function()
    local rows = kernels.compare(side(sides.kernel {}, sides.kernel { name = "a", calls = 2 }),
      side(sides.kernel { calls = 1 }, sides.kernel { name = "a", calls = 3 }), { decode = true })
    assert.same({ 0.75, 0.25 }, { rows[1].share, rows[2].share })
    local same = side(sides.kernel {})
    assert.is_nil(kernels.compare(same, same, { decode = true })[1].share)
  end)

  describe("with the traces at hand", function()
    local neighbours = kernels.neighbours

    before_each(function() kernels.neighbours = function(one) return one.around end end)
    after_each(function() kernels.neighbours = neighbours end)

    local function placed(kernel, around)
      local made = side(kernel)
      made.around = { [tuple("decode", nil, kernel.name)] = around }
      return made
    end

    it("finds it by the kernels around it", function()
      local old = sides.kernel { name = "old" }
      local new = sides.kernel { name = "new", calls = 2, grid = 5, category = "gemm" }
      local here, there = { previous = "a", next = "b" }, { previous = "a", next = "c" }
      assert.equal("renamed decode new (old) 2 -> 1, 20 -> 10 us",
        said(placed(old, here), placed(new, here)))
      assert.equal("gone decode old 2 -> -, 20 -> - us\nnew decode new - -> 1, - -> 10 us",
        said(placed(old, here), placed(new, there)))
    end)
  end)
end)
