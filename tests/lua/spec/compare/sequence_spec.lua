local sequence = require "llmprof.compare.kernels"
local sides = require "tests.lua.support.sides"
local trace_file = require "llmprof.trace.file"
local tuple = require("llmprof.tables.keys").tuple

describe("llmprof.compare.kernels", function()
  it("tells the kernels just before and after each", function()
    local side = sides.side { stages = { sides.stage { name = "prefill", walls = { 1 } },
      sides.stage { name = "decode", walls = { 1 } } } }
    side.trace = "tests/fixtures/graphs/node.sqlite"
    local trace, texts = trace_file.open(side.trace), {}
    for _, kernel in ipairs(trace:frame "kernels":group { by = { "name" } }) do
      for _, stage in ipairs { "prefill", "decode" } do
        texts[tuple(stage, nil, kernel.name)] = stage .. ":" .. kernel.name:gsub("%b()", "")
      end
    end
    local lines = {}
    for key, around in pairs(sequence.neighbours(side)) do
      lines[#lines + 1] = ("%s < %s < %s"):format(texts[around.previous], texts[key],
        texts[around.next])
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
