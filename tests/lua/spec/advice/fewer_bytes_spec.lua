local support = require "tests.lua.support.advice"


describe("advice fewer_bytes", function()
  -- bytes of the stage in GB at 1 TB/s: each GB takes 1 ms of 100
  local function results_of(cost, formats, bound)
    cost.bytes = (cost.weight_bytes or 0) + (cost.kv_read_bytes or 0)
    local stage = support.decode { cost = cost, efficiency = { floor_bound = bound or "memory",
      mbu = { inputs = { bandwidth_byte_per_s = 1e12 } } } }
    return support.results { stages = { stage }, model = { described = { formats = formats
      or { weights = "bf16", kv = "bf16" } } } }
  end

  it("finds the bytes that take the time, and what 8 bits give back", function()
    assert.equal([[
decode is held up by the bytes of weights (decode, confidence medium)
- reading its bytes takes 70 % of the time at the memory's speed (model)
- 8 bits instead of bf16 save 30.00 GB of 70.00 GB (model)
try: weights of 8 bits (fp8 or int8) or 4 bits (AWQ, GPTQ), checked for accuracy
if the bytes that are left out took as long as at the memory's full speed
]], support.said("fewer_bytes", results_of { weight_bytes = 60e9, kv_read_bytes = 10e9 }))
  end)

  it("finds a large cache", function()
    assert.equal("decode is held up by the bytes of the KV cache (decode, confidence medium)",
      support.said("fewer_bytes", results_of { weight_bytes = 10e9, kv_read_bytes = 60e9 })
        :match "^[^\n]*")
    assert.equal("decode is held up by the bytes of the KV cache (decode, confidence medium)",
      support.said("fewer_bytes", results_of({ weight_bytes = 60e9, kv_read_bytes = 10e9 },
        { weights = "fp8", kv = "bf16" })):match "^[^\n]*")
  end)

  it("is silent where bytes do not take the time, and where they are few already", function()
    assert.same({ "moving its bytes takes 29 % of the time" },
      support.reasons("fewer_bytes", results_of { weight_bytes = 29e9 }))
    assert.same({ "weights are stored in fp8" }, support.reasons("fewer_bytes",
      results_of({ weight_bytes = 70e9 }, { weights = "fp8", kv = "fp8" })))
    assert.same({ "its matmuls, not its bytes, set the least time" },
      support.reasons("fewer_bytes", results_of({ weight_bytes = 70e9 }, nil, "compute")))
  end)

  it("abstains without a cost", function()
    assert.equal(
      "abstains: the bytes of a step are not known (model.arch, and the GPU's bandwidth)",
      support.said("fewer_bytes", support.results { stages = { support.decode() } }))
  end)
end)
