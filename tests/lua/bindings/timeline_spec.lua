-- A second reader (tests/timeline) beside that of nsys's exports: what it builds is a
-- trace like any other.
local timeline = require "tests.lua.support.timeline"
local trace = require "llmprof.trace"

local LINES = [[
knows calls payloads
device 0 sms=132 memory=1024 NVIDIA H200
process 1 python
thread 1 main
range 0 100 domain=LLM payload=3 decode
call 10 12 id=1 cudaLaunchKernel
call 14 15 id=2 cudaMemcpyAsync
copy 90 95 call=2 bytes=4096 direction=h2d memory=pageable
kernel 20 90 call=1 grid=4,2 stream=9 short=gemm gemm<float>(int)
diagnostic severity=warning 3 records were lost
]]

describe("a timeline as text", function()
  local opened

  before_each(function() opened = timeline.of(LINES) end)

  local function row(frame, ...)
    local view, values = assert(opened:frame(frame)), {}
    for i, column in ipairs { ... } do values[i] = view:get(1, column) or false end
    return values
  end

  it("has events, attributed like all others", function()
    assert.same({ "gemm<float>(int)", "gemm", 70, 9, 4, 2, 1, "cudaLaunchKernel", "LLM:decode" },
      row("kernels", "name", "short_name", "duration", "stream", "grid_x", "grid_y", "grid_z",
        "api", "tag"))
    assert.same({ "[CUDA memcpy Host-to-Device]", "copy", 4096, "host to device", "pageable" },
      row("transfers", "name", "kind", "bytes", "direction", "host_memory"))
    assert.same({ "decode", "LLM", 3, 1, 1 }, row("ranges", "text", "domain", "payload", "pid",
      "tid"))
    assert.same({ 20, 95, 2 }, row("projections", "start", "end", "operations"))
  end)

  it("says what it is about and what it knows", function()
    assert.equal("timeline", opened:info().reader)
    assert.same({ { id = 0, name = "NVIDIA H200", sm_count = 132, memory = 1024 } },
      opened:devices())
    assert.same({ { pid = 1, name = "python" } }, opened:processes())
    assert.same({ { severity = "warning", text = "3 records were lost" } },
      opened:diagnostics())
    local known = {}
    for i, fact in ipairs { "calls", "payloads", "host_memory", "diagnostics" } do
      known[i] = assert(opened:knows(fact) ~= nil) and opened:knows(fact)
    end
    assert.same({ true, true, false, false }, known)
    assert.same({ true, false }, { opened:has "copies", opened:has "graphs" })
  end)

  it("lists devices in the order of their numbers", function()
    local ids = {}
    local several = timeline.of "device 2 C\ndevice 0 A\ndevice 1 B\n"
    for i, device in ipairs(several:devices()) do ids[i] = device.id .. device.name end
    assert.same({ "0A", "1B", "2C" }, ids)
  end)

  it("is asked for after the readers that are built in", function()
    assert.matches("collapsed stacks.*; timeline as text$", trace.hint "tests/fixtures/export.sql")
    assert.same({ "timeline", true }, { trace.reader "tests/fixtures/timelines/broken.txt" })
  end)

  it("names the line that is none", function()
    for lines, message in pairs { ["kernle 1 2 k\n"] = ":2: no such line",
      ["# fine\nkernel 1 k\n"] = ":3: a number is missing",
      ["knows everything\n"] = ":2: no such fact" } do
      local ok, err = pcall(timeline.of, lines)
      assert.is_false(ok)
      assert.equal(message, err.message:match ":%d+: .*")
    end
  end)
end)
