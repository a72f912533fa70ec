local support = require "tests.lua.support.advice"


describe("advice small_elementwise", function()
  local function said(stage, kernels)
    return support.said("small_elementwise", support.results { stages = { stage },
      kernels = kernels })
  end

  local short = support.kernel { id = 3, name = "mul", category = "elementwise", calls = 300,
    mean_ns = 2000 }
  local sum = support.kernel { id = 7, name = "sum", category = "reduce", calls = 100,
    mean_ns = 3000 }

  it("counts a part of the waiting in a launch-bound stage", function()
    assert.equal([[
decode runs many short elementwise kernels (decode, confidence medium)
- 400 of 1,000 kernels are elementwise or reduce, not fused, and shorter than about 5.00 µs; together 900.00 µs (timeline)
- kernel 3, mul: 300 calls, 600.00 µs (timeline)
- kernel 7, sum: 100 calls, 300.00 µs (timeline)
try: torch.compile, or fused modules for what repeats: RMSNorm, rotary embedding, SwiGLU, residual add with norm
change: fuse(kernels:where { stage = "decode", label = { "mul", "sum" } })
if those that follow each other become one, which takes as long as the longest
kernels: 3 7
]], said(support.slow_decode(), { short, sum }))
  end)

  it("counts GPU time in a busy one", function()
    local function of(ns)
      return said(support.decode { gpu_time_ns = ns }, { short, sum })
    end
    assert.matches("400 of 1,000 kernels", of(12.8e6), 1, true)
    assert.equal("", of(12.9e6))
  end)

  it("leaves out what is fused already", function()
    local function fused(name, category)
      return support.kernel { name = name, category = category, calls = 900, mean_ns = 2000 }
    end
    assert.equal("", said(support.decode(), { fused("silu_and_mul_kernel", "elementwise"),
      fused("triton_poi_fused_add_0", "elementwise"), fused("rms_norm_kernel", "norm") }))
  end)

  it("is silent about few, and about long ones", function()
    assert.equal("", said(support.decode(), { support.kernel { category = "elementwise",
      calls = 199, mean_ns = 2000 } }))
    assert.equal("", said(support.decode(), { support.kernel { category = "elementwise",
      calls = 900, mean_ns = 10000 } }))
  end)

  it("has no cliff between short and long ones", function()
    local function said_of(mean_ns)
      return said(support.slow_decode(), { support.kernel { category = "elementwise", calls = 900,
        mean_ns = mean_ns } }):match "^%S+ runs[^\n]*\n%- (%d+) of" or "silent"
    end
    assert.same({ "900", "900", "720", "450", "silent" }, { said_of(5000), said_of(5001),
      said_of(6000), said_of(7500), said_of(9500) })
  end)
end)
