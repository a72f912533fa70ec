local engines = require "llmprof.engines"

local function step(name, tag)
  return engines.find(name).step(tag)
end


describe("llmprof.engines", function()
  it("reads vLLM's labels", function()
    assert.same({ context = 2, context_tokens = 1024, generation = 6, generation_tokens = 6 },
      step("vllm", "execute_context_2(1024)_generation_6(6)"))
    assert.same({ context = 0, context_tokens = 0, generation = 0, generation_tokens = 0 },
      step("vllm", "execute_context_0(0)_generation_0(0)"))
    assert.same({ number = 12, context = 3, context_tokens = 128, generation = 2,
      generation_tokens = 1 },
      step("vllm", "execute_12_context_3(sq128sk256sqsq1sqsk1)_generation_2(sq1sk300sqsq1sqsk1)"))
    assert.same({ context = 1, context_tokens = 888, generation = 0, generation_tokens = 0 },
      step("vllm", "execute_context_1(888_788544)_generation_0(0)"))
    assert.same({ context = 0, context_tokens = 0, generation = 6 },
      step("vllm", "execute_new_0_cached_6"))
    assert.is_nil(step("vllm", "execute_model"))
    assert.same({ phase = "draft" }, step("vllm", "gpu_model_runner: draft"))
    assert.is_nil(step("vllm", "gpu_model_runner: forward"))
    assert.is_nil(step("vllm", "execute_context_x(1)_generation_6(6)"))
  end)

  it("reads SGLang's labels", function()
    assert.same({ context = 0, context_tokens = 0, generation = 64 },
      step("sglang", "step[DECODE bs=64]"))
    assert.same({ context = 2, context_tokens = 4096, generation = 0, generation_tokens = 0 },
      step("sglang", "step[EXTEND bs=2 toks=4096 c_sqsq=80]"))
    assert.same({ phase = "mixed" }, step("sglang", "step[MIXED bs=3]"))
    assert.same({ phase = "draft", context = 0, context_tokens = 0, generation = 4 },
      step("sglang", "step[DRAFT_LOOP raw_bs=4 bs=8 topk=1]"))
    assert.equal("draft", step("sglang", "step[DRAFT_EXTEND_V2 bs=4]").phase)
    assert.same({}, step("sglang", "step[DLLM_EXTEND bs=4]"))
    assert.same({}, step("sglang", "NVTX:scheduler.run_batch"))
    assert.is_nil(step("sglang", "NVTX:scheduler.recv_requests"))
    assert.is_nil(step("sglang", "step[UNHEARD bs=3]"))
  end)

  it("reads TensorRT-LLM's labels", function()
    assert.same({ number = 7, context = 2, context_tokens = 1024, generation = 6 },
      step("trtllm", "[Executor] _forward_step 7: 2 ctx reqs, 1024 ctx tokens, 6 gen reqs"))
    assert.same({ number = 8, context = 1, generation = 0 },
      step("trtllm", "[Executor] _forward_step 8: 1 ctx reqs, 0 gen reqs"))
    assert.same({ number = 9, context = 0, context_tokens = 0, generation = 32 },
      step("trtllm", "[Executor] _forward_step 9: 0 ctx reqs, 32 gen reqs"))
    assert.is_nil(step("trtllm", "[Executor] _sample_async 9"))
  end)

  it("says the phase of a step, where it can", function()
    assert.equal("mixed", engines.phase_of { context = 1, generation = 1 })
    assert.equal("prefill", engines.phase_of { context = 1, generation = 0 })
    assert.equal("decode", engines.phase_of { context = 0, generation = 1 })
    assert.equal("empty", engines.phase_of { context = 0, generation = 0 })
    assert.equal("mixed", engines.phase_of { phase = "mixed" })
    assert.is_nil(engines.phase_of { context = 1 })
  end)

  it("recognises the engine that wrote a trace", function()
    local found = engines.recognise { "ncclAllReduce", "execute_context_0(0)_generation_8(8)",
      "execute_context_1(512)_generation_0(0)" }
    assert.equal("vllm", found.engine.name)
    assert.equal("decode", found.steps["execute_context_0(0)_generation_8(8)"].phase)
    assert.equal("sglang", engines.recognise { "NVTX:scheduler.run_batch",
      "NVTX:scheduler.recv_requests" }.engine.name)
    assert.equal("dynamo", engines.recognise { "NVTX:mm:encode" }.engine.name)
    assert.is_nil(engines.recognise { "prefill", "decode", "decode_step" })
    assert.is_nil(engines.recognise {})
  end)

  it("has what recipes ask of every engine", function()
    for _, engine in ipairs(engines.all()) do
      assert.equal(engine, engines.find(engine.name))
      assert.is_string(engine.title)
      assert.is_string(engine.page)
    end
    assert.is_nil(engines.find "none")
  end)
end)
