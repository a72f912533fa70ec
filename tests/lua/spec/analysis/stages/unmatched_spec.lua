local timeline = require "tests.lua.support.timeline"
local outermost = require "llmprof.analysis.stages.outermost"

local TRACE = [[
range 0 100 thread=1 prefill
range 100 1000 thread=1 dec
range 110 500 thread=1 tok
call 10 12 id=1 cudaLaunchKernel
kernel 20 30 call=1 a
call 120 122 id=2 cudaLaunchKernel
kernel 130 210 call=2 a
call 600 602 id=3 cudaLaunchKernel
kernel 610 620 call=3 a
]]

describe("ranges that are no stage", function()
  local words = outermost.unmatched_words
  local list = outermost.unmatched(timeline.of("knows calls\nthread 1 pid=1 main\n" .. TRACE),
    { { name = "prefill" }, { name = "decode" } })

  it("are told, the longest first, and which may be meant", function()
    assert.equal("it has 'dec', 'tok'; did you mean 'dec'?", words(list, "decode"))
    assert.equal("it has 'dec', 'tok'; did you mean 'tok'?", words(list, "toc"))
    assert.equal("it has 'dec', 'tok'", words(list, "sam"))
  end)

  it("are not told where there are none", function()
    assert.is_nil(words({}, "decode"))
    assert.same({}, outermost.unmatched(timeline.of "device 0 H200\n", {}))
  end)
end)
