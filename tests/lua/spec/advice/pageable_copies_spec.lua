local support = require "tests.lua.support.advice"


describe("advice pageable_copies", function()
  -- one kind of copies in a decode that waits for them
  local function said(copy)
    local stage = support.decode { waiting = { launch_ns = 8e6, sync_ns = 3e6, memory_ns = 0,
      other_ns = 0, host_ns = 9e6 } }
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
gain: 5000000 of 100000000 ns, waiting, if the copies then run beside kernels, and the waiting calls are theirs
]], said { direction = "host to device", pageable = true })
  end)

  it("is silent about pinned memory", function()
    assert.equal("", said { direction = "host to device", pageable = false })
  end)

  it("is silent about copies on the device", function()
    assert.equal("", said { direction = "device to device" })
  end)

  it("abstains when the export does not say", function()
    local missing = "abstains: the timeline does not say which kind of host memory copies used"
    assert.equal(missing, said { direction = "device to host" })
    assert.equal(missing, support.said("pageable_copies", support.results {}))
  end)
end)
