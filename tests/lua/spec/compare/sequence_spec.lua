local sequence = require "llmprof.compare.sequence"
local sides = require "tests.lua.support.sides"

describe("llmprof.compare.sequence", function()
  it("tells the kernels just before and after each", function()
    local side = sides.side { stages = { sides.stage { name = "prefill", walls = { 1 } },
      sides.stage { name = "decode", walls = { 1 } } } }
    side.trace = "tests/fixtures/graphs/node.sqlite"
    local lines = {}
    for key, around in pairs(sequence.neighbours(side)) do
      lines[#lines + 1] = ("%s < %s < %s"):format(tostring(around.previous), key,
        tostring(around.next)):gsub("%z%z", ":"):gsub("%b()", "")
    end
    table.sort(lines)
    assert.equal([[
decode:ka < decode:kb < decode:void kt<1>
decode:ka < decode:void kt<8> < decode:ka
decode:kb < decode:void kt<1> < decode:void kt<8>
decode:void kt<8> < decode:ka < decode:kb
prefill:ka < prefill:kb < prefill:void kt<1>
prefill:ka < prefill:void kt<8> < prefill:ka
prefill:kb < prefill:void kt<1> < prefill:void kt<8>
prefill:void kt<8> < prefill:ka < prefill:kb]], table.concat(lines, "\n"))
  end)

  it("says nothing without a trace", function()
    assert.same({}, sequence.neighbours(sides.decode(1)))
  end)
end)
