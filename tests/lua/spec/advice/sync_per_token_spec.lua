local support = require "tests.lua.support.advice"


describe("advice sync_per_token", function()
  -- results with a decode in which so many calls wait
  local function waits(make, calls)
    local stage = make()
    stage.api.sync = { calls = calls, ns = 6e6 }
    return support.results { stages = { stage },
      transfers = { { stage = "decode", direction = "device to host", calls = 10, bytes = 80,
        gpu_time_ns = 10000 } } }
  end

  it("finds a wait at every token of a busy GPU: launching ahead hides all idle time", function()
    assert.equal([[
decode waits for the GPU at every token (decode, confidence medium)
- 10 waiting calls in 10 steps, 6.00 ms in them (timeline)
- 10 copies from the GPU to the CPU (timeline)
- the GPU was idle for 0 ns of the waiting calls (timeline)
try: keep the token on the GPU, and look for the end of the text every few tokens, or one step late from pinned memory; no .item(), .cpu() or print in the loop
gain: 20000000 of 100000000 ns, waiting, if without the wait the CPU stays ahead of the GPU
]], support.said("sync_per_token", waits(support.decode, 10)))
  end)

  it("counts only the waiting calls where launches are what the GPU waits for", function()
    assert.equal([[
decode waits for the GPU at every token (decode, confidence medium)
- 20 waiting calls in 10 steps, 6.00 ms in them (timeline)
- 10 copies from the GPU to the CPU (timeline)
- the GPU was idle for 2.00 ms of the waiting calls (timeline)
try: keep the token on the GPU, and look for the end of the text every few tokens, or one step late from pinned memory; no .item(), .cpu() or print in the loop
gain: 2000000 of 100000000 ns, waiting, if launches stay as slow as they are
]], support.said("sync_per_token", waits(support.slow_decode, 20)))
  end)

  it("is silent about a wait at the end", function()
    assert.equal("", support.said("sync_per_token", waits(support.decode, 1)))
  end)

  it("abstains when steps were not counted", function()
    local stage = support.decode()
    stage.kernels_per_token, stage.steps = nil, nil
    assert.equal("abstains: the steps of decode are not counted (tokens and batch in metrics.json)",
      support.said("sync_per_token", support.results { stages = { stage } }))
  end)
end)
