local support = require "tests.lua.support.advice"


describe("advice step_gaps", function()
  local function said(stage)
    return support.said("step_gaps", support.results { stages = { stage } })
  end

  it("finds idle time between steps, and says what the CPU did", function()
    assert.equal([[
the GPU is idle between the steps of decode (decode, confidence medium)
- 12.00 ms idle between 10 steps, of 100.00 ms (timeline)
- the CPU spent it 9.00 ms outside CUDA, 2.00 ms in calls that wait for the GPU, 1.00 ms in launching calls (timeline)
try: prepare the next step while the GPU works on this one: choose the token on the GPU, look at it one step later, move text work to another thread
change: remove(between "decode")
if everything between the steps can be done while the GPU works
]], said(support.decode { between_steps = { count = 10, between_ns = 14e6, idle_ns = 12e6,
      launch_ns = 1e6, sync_ns = 2e6, memory_ns = 0, other_ns = 0, host_ns = 9e6 } }))
  end)

  it("is silent about less than a twentieth of the stage", function()
    assert.equal("", said(support.decode { between_steps = { count = 10, between_ns = 5e6,
      idle_ns = 4.9e6, host_ns = 4.9e6 } }))
  end)

  it("abstains without marked steps", function()
    assert.equal("abstains: no range marks single steps (step of a stage in the recipe)",
      said(support.decode()))
  end)
end)
