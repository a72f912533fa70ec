local breakdown = require "llmprof.analysis.stages.breakdown"
local stages = require "llmprof.analysis.stages.find"
local support = require "tests.lua.support.advice"
local timeline = require "tests.lua.support.timeline"


describe("advice host_copies", function()
  local function made(alone, pageable)
    local stage = support.decode { host_copies_alone_ns = alone * 1e6, gpu_time_ns = 160e6 }
    return support.results { stages = { stage }, transfers = {
      { stage = "decode", direction = "host to device", pageable = pageable, calls = 24,
        bytes = 1500000000, gpu_time_ns = 60e6 },
      { stage = "decode", direction = "device to device", calls = 9, bytes = 90,
        gpu_time_ns = 1e6 },
    } }
  end

  it("finds copies that run alone, of two GPUs as well", function()
    assert.equal([[
decode copies from or to the host for 50 % of its time, and computes nothing meanwhile (decode, confidence medium)
- 24 copies of 1.50 GB, 25.00 GB/s while they run (timeline)
- nothing else runs for 50.00 ms of 100.00 ms; other work takes 30.00 ms, which is the most that copying at the same time can hide (timeline)
try: keep on the GPU what is copied each time (weights that are offloaded, a cache that was moved out), or make it smaller (8 bits); copy what comes next on a stream of its own while kernels run
change: remove(transfers:where { stage = "decode", kind = "copy", direction = { "host to device", "device to host" } })
if nothing is copied; copies during all other work leave 20.00 ms of them
]], support.said("host_copies", made(50, false)))
  end)

  it("leaves copies that kernels hide, and pageable ones, alone", function()
    assert.same({ "the GPU does nothing but copy from or to the host for 4.0 % of decode" },
      support.reasons("host_copies", made(4, false)))
    assert.equal("", support.said("host_copies", made(50, true)))
  end)

  it("finds data that goes to the host and comes back", function()
    local function told(back, bytes)
      local stage = support.slow_decode { waits = { { before = "copy", bytes = bytes,
        after = "copy", calls = 4, ns = 1e6 } } }
      return support.said("host_copies", support.results { stages = { stage }, transfers = {
        { stage = "decode", direction = "device to host", pageable = false, calls = 4,
          bytes = 64 << 20, gpu_time_ns = 1e6 },
        { stage = "decode", direction = "host to device", pageable = false, calls = 4,
          bytes = back, gpu_time_ns = 1e6 } } })
    end
    local text = told(64 << 20, 16 << 20)
    assert.truthy(text:find "data of decode goes to the host and comes back")
    assert.truthy(text:find "4 copies of 16.78 MB to the host")
    assert.truthy(text:find('before = "memcpy Device-to-Host"', 1, true))
    assert.equal("", told(32 << 20, 16 << 20)) -- something else comes
    assert.equal("", told(64 << 20, 16)) -- tokens
  end)

  it("is told when the GPU does nothing but copy", function()
    local trace = timeline.of [[
knows calls
device 0 H200
range 0 200 decode
call 1 2 id=1 cudaMemcpyAsync
call 2 3 id=2 cudaLaunchKernel
call 3 4 id=3 cudaMemcpyAsync
copy 10 60 call=1 bytes=4096 direction=h2d memory=pinned
kernel 40 90 call=2 stream=8 gemm
copy 100 150 call=3 bytes=4096 direction=d2d
]]
    local found, list = stages.find(trace, { { name = "decode" } }, "no"), { { name = "decode" } }
    breakdown.add(list, trace, found, {})
    assert.equal(30, list[1].host_copies_alone_ns)
  end)
end)
