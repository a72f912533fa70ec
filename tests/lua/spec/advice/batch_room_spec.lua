local support = require "tests.lua.support.advice"


describe("advice batch_room", function()
  -- 1 TB/s, and 100 TFLOP/s: 100 FLOP take as long as a byte
  local function results_of(cost, batch, shape)
    cost.kv_write_bytes = cost.kv_write_bytes or 0
    local stage = support.decode { cost = cost, efficiency = {
      mfu = { inputs = { peak_flop_per_s = 100e12 } },
      mbu = { inputs = { bandwidth_byte_per_s = 1e12 } } } }
    return support.results { stages = { stage }, model = { architecture = shape },
      latency = { tokens_per_s = { batch = batch } } }
  end

  it("finds the batch at which matmuls take longer than bytes", function()
    -- 100 GFLOP are 1 ms, 64 GB are 64 ms; a sequence's cache is 0.36 ms: at 100
    -- sequences both take 100 ms
    assert.equal([[
decode turns compute-bound at batch 100 only (decode, confidence medium)
- at batch 1 its least time is 64.36 ms of bytes and 1.00 ms of matmuls (model)
- at batch 100 it is 100.00 ms for 100 times as many tokens: 64 times the tokens/s at most (model)
try: serve more sequences at once: up to there a step takes little longer, as far as the cache of all of them fits into memory
]], support.said("batch_room", results_of({ flops = 100e9, weight_bytes = 64e9,
      kv_read_bytes = 360e6 }, 1)))
  end)

  it("reads more experts with more sequences", function()
    local cost = { flops = 100e9, weight_bytes = 10e9, kv_read_bytes = 0,
      parts = { { name = "experts", weight_bytes = 10e9 },
        { name = "shared experts", weight_bytes = 1 } } }
    -- all 8 experts are 8 times the bytes of the one that a token uses
    assert.equal("decode turns compute-bound at batch 80 only (decode, confidence medium)",
      support.said("batch_room", results_of(cost, 1, { num_hidden_layers = 2,
        n_routed_experts = 8, num_experts_per_tok = 1 })):match "^[^\n]*")
    assert.matches("^abstains", support.said("batch_room", results_of(cost, 1, {})))
  end)

  it("is silent near the turn, and where the cache outgrows the products", function()
    assert.same({ "batch 60 is near 100, where it turns compute-bound" },
      support.reasons("batch_room", results_of({ flops = 60 * 100e9, weight_bytes = 64e9,
        kv_read_bytes = 60 * 360e6 }, 60)))
    assert.same({ "the KV cache grows with the batch: no batch size makes it compute-bound" },
      support.reasons("batch_room", results_of({ flops = 100e9, weight_bytes = 64e9,
        kv_read_bytes = 1e9 }, 1)))
  end)

  it("abstains without a batch", function()
    assert.equal(
      "abstains: the batch, the model's cost or the GPU's peaks are not known (model.arch)",
      support.said("batch_room", support.results { stages = { support.decode() } }))
  end)
end)
