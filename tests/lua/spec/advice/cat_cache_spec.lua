local support = require "tests.lua.support.advice"


describe("advice cat_cache", function()
  -- 12 layers in 10 steps, with this many joins in all
  local function results_of(joins)
    local stage = support.decode { cost = { kv_read_bytes = 20e6 } }
    return support.results { stages = { stage }, kernels = {
      support.kernel { id = 3, name = "CatArrayBatchedCopy", category = "copy/cast",
        calls = joins },
      support.kernel { name = "flash_fwd", category = "attention", calls = 120 } } }
  end

  it("finds two joins for each attention", function()
    assert.equal([[
decode re-concatenates the KV cache in every step (decode, confidence medium)
- 30 joins of tensors for 12 attention kernels per step, 300.00 µs of a step (timeline)
- the cache is 2.00 MB on average, which each step reads and writes once more (model)
- kernel 3, CatArrayBatchedCopy: 300 calls, 3.00 ms (timeline)
try: a static KV cache (transformers: cache_implementation="static"; else a tensor of the longest length, written in place at the token's position), so that a step can be captured
change: scale(kernels:where { stage = "decode", label = "CatArrayBatchedCopy" }, 0.6)
if two joins per attention are the cache's, writing in place takes 5.00 µs, and attention reads no more than it does now
kernels: 3
]], support.said("cat_cache", results_of(300)))
  end)

  it("gives no gain where joins are as short as what would replace them", function()
    local results = results_of(300)
    results.kernels[1].total_ns = 300 * 2000
    assert.no_match("change:", support.said("cat_cache", results))
  end)

  it("is silent about fewer joins, and where no attention is known", function()
    assert.same({ "23.9 joins of tensors for 12 attention kernels per step" },
      support.reasons("cat_cache", results_of(239)))
    assert.same({ "no attention kernel is known by its name" }, support.reasons("cat_cache",
      support.results { stages = { support.decode() } }))
  end)
end)
