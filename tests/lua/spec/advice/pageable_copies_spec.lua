local evidence = require "llmprof.advice.evidence"
local support = require "tests.lua.support.advice"


describe("advice pageable_copies", function()
  -- one kind of copies in a decode that waits for them
  local function said(copy, make)
    local stage = (make or support.decode) { waiting = { launch_ns = 8e6, sync_ns = 3e6,
      memory_ns = 0, other_ns = 0, host_ns = 9e6 } }
    stage.api.sync = { calls = 24, ns = 5e6 }
    copy.stage, copy.calls, copy.bytes, copy.gpu_time_ns = "decode", 24, 48000000, 2e6
    return support.said("pageable_copies", support.results { stages = { stage },
      transfers = { copy } })
  end

  it("finds pageable copies and the waits they cause", function()
    assert.equal([[
decode copies from or to pageable memory (decode, confidence medium)
- 24 pageable copies of 48.00 MB, 2.00 ms on the GPU (timeline)
- the CPU spent 5.00 ms in 24 waiting calls, the GPU was idle for 3.00 ms of it (timeline)
try: pin the host memory once (tensor.pin_memory()), copy with non_blocking=True, and make constants on the GPU instead of sending them
change: remove(transfers:where { stage = "decode", kind = "copy", host_memory = "pageable" })
if the copies run while kernels run, and no call waits for them
]], said { direction = "host to device", pageable = true })
  end)

  it("is silent about few: what a call waits for while the GPU works is not theirs", function()
    local stage = support.decode()
    stage.api.sync = { calls = 24, ns = 60e6 }
    assert.same({ "20 pageable copies in decode; with idle time in waiting calls 0.0 % of its "
      .. "time" }, support.reasons("pageable_copies", support.results { stages = { stage },
      transfers = { { stage = "decode", direction = "device to host", pageable = true, calls = 20,
        bytes = 160, gpu_time_ns = 30e3 } } }))
    assert.equal("1 pageable copy", evidence.count(1, "pageable copy"))
    assert.equal("0.5 waiting calls", evidence.count(0.5, "waiting call"))
  end)

  it("is silent about pinned memory", function()
    assert.equal("", said { direction = "host to device", pageable = false })
  end)

  it("is silent about copies on the device", function()
    assert.equal("", said { direction = "device to device" })
  end)

  it("abstains when the export does not say", function()
    assert.equal("abstains: the timeline does not say which kind of host memory copies used",
      said { direction = "device to host" })
  end)
end)
