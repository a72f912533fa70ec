local support = require "tests.lua.support.advice"


describe("advice graph_missing", function()
  local function results_of(stage) return support.results { stages = { stage } } end

  it("finds steps that are launched kernel by kernel while the GPU waits", function()
    assert.equal([[
the steps of decode are not replayed as a CUDA graph (decode, confidence medium)
- 100 launches and 100 kernels per step, no graph (timeline)
try: capture one step as a CUDA graph, or torch.compile(mode="reduce-overhead"), once its shapes are static and nothing in it waits for the GPU
change: graphs("decode")
if shapes are static, and nothing in a step waits for the GPU
]], support.said("graph_missing", results_of(support.slow_decode())))
  end)

  it("is silent about replayed graphs, few launches and a busy GPU", function()
    assert.same({ "graphs are replayed: 100 kernels in 2 launches per step" },
      support.reasons("graph_missing", results_of(support.slow_decode { launches = 20 })))
    assert.same({ "10 launches per step" }, support.reasons("graph_missing",
      results_of(support.slow_decode { launches = 100, kernels = 100 })))
    assert.same({ "the GPU waits for 20 % of the time: launches keep ahead of it" },
      support.reasons("graph_missing", results_of(support.decode())))
  end)
end)
