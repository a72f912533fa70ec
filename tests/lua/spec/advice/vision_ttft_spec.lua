local support = require "tests.lua.support.advice"


describe("advice vision_ttft", function()
  local function stage(name, ms, parent)
    return { name = name, parent = parent, wall = { count = 1, mean_ns = ms * 1e6 },
      gpu_busy_ns = ms * 0.5e6 }
  end

  local function said(...)
    return support.said("vision_ttft", support.results { stages = { ... } })
  end

  it("finds an encoder that takes most of prefill", function()
    assert.equal([[
the vision encoder dominates the time to the first token (prefill, confidence high)
- 30.00 ms of 60.00 ms of prefill, 50 % (timeline)
- sam: 20.00 ms, of which the GPU works 10.00 ms (timeline)
- clip: 10.00 ms, of which the GPU works 5.00 ms (timeline)
try: keep the embeddings of images that are asked about again, encode several images in one batch, run the encoder as a CUDA graph (its shapes are fixed), use fewer tiles
]], said(stage("prefill", 60), stage("sam", 20, "prefill"), stage("clip", 10, "prefill")))
  end)

  it("is silent about a small encoder, and about other parts", function()
    assert.equal("", said(stage("prefill", 60), stage("sam", 20, "prefill")))
    assert.equal("", said(stage("prefill", 60), stage("layers", 50, "prefill")))
  end)

  it("abstains without parts, and without prefill", function()
    assert.equal(
      "abstains: prefill has no stages inside that could be an encoder (children in the recipe)",
      said(stage("prefill", 60)))
    assert.equal("abstains: no stage named prefill was measured", said(stage("decode", 60)))
  end)
end)
