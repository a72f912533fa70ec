local support = require "tests.lua.support.advice"


describe("advice allocations", function()
  local function said(calls, ns)
    local stage = support.slow_decode()
    stage.api.memory = { calls = calls, ns = ns }
    return support.said("allocations", support.results { stages = { stage } })
  end

  it("finds memory that is allocated in every step", function()
    assert.equal([[
decode allocates or pins memory in every step (decode, confidence high)
- 20 calls that allocate, pin or free, 2 a step, 9.00 ms in them (timeline)
- while the GPU was idle the CPU spent 1.00 ms in them (timeline)
try: allocate once, before the first step: no torch.cuda.empty_cache() in the loop, and no cache that grows in it; PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True where sizes change
change: remove(allocations "decode")
if no step allocates, and the CPU launches as fast as it does now
]], said(20, 9e6))
  end)

  it("is silent about fewer calls than steps, and about quick ones", function()
    assert.equal("", said(8, 9e6))
    assert.equal("", said(20, 4.9e6))
  end)
end)
