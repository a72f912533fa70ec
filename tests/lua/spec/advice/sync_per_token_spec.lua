local support = require "tests.lua.support.advice"


describe("advice sync_per_token", function()
  -- results with a decode in which this many calls wait
  local function results_of(make, calls, waits)
    local stage = make()
    stage.api.sync = { calls = calls, ns = 6e6 }
    stage.waits = waits or { { before = "copy", bytes = 8, after = "sampling", calls = calls,
      ns = 6e6 } }
    return support.results { stages = { stage }, model = { architecture = {
      n_routed_experts = 8, num_experts_per_tok = 2, num_hidden_layers = 12,
      first_k_dense_replace = 1 } } }
  end

  it("tells waits inside the layers from the token's", function()
    local results = results_of(support.slow_decode, 120, {
      { before = "copy", bytes = 512, after = "gemm", calls = 110, ns = 5e6 },
      { before = "copy", bytes = 8, after = "sampling", calls = 10, ns = 1e6 } })
    assert.equal([[
decode waits for the GPU 11 times in every step, once per layer with experts (decode, confidence medium)
- 110 waiting calls, 11 a step, 5.00 ms in them: after a copy of 512 B, before gemm (timeline)
try: leave the counts of each expert's tokens on the GPU: a grouped matmul reads them there (torch._grouped_mm, a fused MoE kernel), a loop over experts has to wait for them
change: remove(syncs("decode", "inner"))
change: remove(transfers:where { stage = "decode", kind = "copy", direction = "device to host", bytes = { 512 } })
if without the wait the CPU launches ahead, as fast as it does now
decode waits for the GPU at every token (decode, confidence medium)
- 10 waiting calls, 1 a step, 1.00 ms in them: after a copy of 8 B, before sampling (timeline)
try: keep the token on the GPU, and look for the end of the text every few tokens, or one step late from pinned memory; no .item(), .cpu() or print in the loop
change: remove(syncs("decode", "last"))
if without the wait the CPU launches ahead, as fast as it does now
]], support.said("sync_per_token", results))
    results.engine = { name = "vllm", title = "vLLM" }
    assert.equal("", support.said("sync_per_token", results))
    assert.same({ "decode waits for the GPU 11 times in every step, once per layer with experts, "
      .. "but that is the code of vLLM",
      "decode waits for the GPU at every token, but that is the code of vLLM" },
      support.reasons("sync_per_token", results))
  end)

  it("is found where each step waits once", function()
    local results = results_of(support.slow_decode, 10)
    assert.equal([[
decode waits for the GPU at every token (decode, confidence medium)
- 10 waiting calls, 1 a step, 6.00 ms in them: after a copy of 8 B, before sampling (timeline)
try: keep the token on the GPU, and look for the end of the text every few tokens, or one step late from pinned memory; no .item(), .cpu() or print in the loop
change: remove(syncs "decode")
if without the wait the CPU launches ahead, as fast as it does now
]], support.said("sync_per_token", results))
  end)

  it("counts what the ranks of an inferred step wait for each by itself", function()
    local results = results_of(support.slow_decode, 20)
    results.inferred = { confidence = 1 }
    results.ranks = { ranks = { { rank = 0, file = "a" }, { rank = 1, file = "a" } } }
    assert.matches("^decode waits for the GPU at every token .*, 1 a step",
      support.said("sync_per_token", results))
  end)

  it("is found between the launches of a stage without steps", function()
    local function told(calls)
      local stage = support.slow_decode { name = "pass", launches = 200 }
      stage.steps, stage.kernels_per_token, stage.tokens = nil, nil, nil
      stage.api.sync = { calls = calls, ns = 6e6 }
      stage.waits = { { before = "other", after = "other", calls = calls, ns = 6e6 } }
      return support.said("sync_per_token", support.results { stages = { stage } })
    end
    local text = told(150)
    assert.truthy(text:find "pass waits for the GPU 150 times, with 200 launches")
    assert.truthy(text:find "150 waiting calls, 6.00 ms in them: after other, before other")
    assert.falsy(told(90):find "pass waits")
  end)

  it("leaves the waits of pageable copies to their rule", function()
    local results = results_of(support.slow_decode, 120, {
      { before = "copy", bytes = 16, after = "copy", calls = 110, ns = 5e6 },
      { before = "copy", bytes = 8, after = "sampling", calls = 10, ns = 1e6 } })
    results.transfers = { { stage = "decode", direction = "host to device", pageable = true,
      calls = 110, bytes = 1760, gpu_time_ns = 1e5 } }
    local text = support.said("sync_per_token", results)
    assert.falsy(text:find "in every step")
    assert.truthy(text:find "decode waits for the GPU at every token")
  end)

  it("is silent about a wait at the end", function()
    assert.equal("", support.said("sync_per_token", results_of(support.decode, 1)))
  end)

  it("abstains when steps were not counted", function()
    local stage = support.decode()
    stage.kernels_per_token, stage.steps = nil, nil
    assert.equal("abstains: the steps of decode are not counted (tokens and batch in metrics.json)",
      support.said("sync_per_token", support.results { stages = { stage } }))
  end)

  it("is silent about waits that return while the GPU has more to do", function()
    local function said(ahead)
      return support.said("sync_per_token", results_of(support.slow_decode, 10, { { before = "copy",
        bytes = 8, after = "copy", calls = 10, ns = 6e6, ahead = ahead } }))
    end
    assert.equal("", said(6))
    assert.matches("^decode waits for the GPU at every token", said(5))
  end)
end)
