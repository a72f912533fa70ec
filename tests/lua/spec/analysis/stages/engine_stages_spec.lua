-- Stages of a serving engine that marks its steps.
local analysis = require "llmprof.analysis"
local stages = require "llmprof.analysis.stages.find"
local trace_file = require "llmprof.trace.file"

describe("stages of an engine", function()
  local found, trace

  setup(function()
    trace = trace_file.open "tests/fixtures/recorded/vllm_serve/run.sqlite"
    found = stages.find(trace, { { name = "prefill" }, { name = "decode" } }, "auto")
  end)

  local function count(stage, rank)
    local instances, kernels = 0, 0
    for _, instance in ipairs(found.instances) do
      if instance.stage == stage and instance.rank == rank then
        instances, kernels = instances + 1, kernels + instance.kernels
      end
    end
    return instances, kernels
  end

  it("are its steps, in each rank", function()
    local names = {}
    for i, stage in ipairs(found.declared) do names[i] = stage.name end
    assert.same({ "prefill", "mixed", "decode" }, names)
    for rank = 0, 1 do
      assert.equal(3, (count("prefill", rank)))
      assert.equal(5, (count("mixed", rank)))
      assert.equal(94, (count("decode", rank)))
    end
  end)

  it("have what their rank launched, and nothing of the other", function()
    local _, first = count("decode", 0)
    local _, second = count("decode", 1)
    assert.equal(23324, first)
    assert.equal(23324, second)
  end)

  it("make as many tokens per second as they have requests: 736 in 94 steps", function()
    local made = analysis.results { run_id = "r", recipe = "r", model = {}, source = {},
      trace = trace, found = found, gpu = {} }.latency
    assert.near(736 / 94, made.tokens_per_s.batch, 1e-12)
    assert.near(736 / 94 / made.tpot.mean_ns * 1e9, made.tokens_per_s.mean, 1e-6)
  end)

  it("are idle when their own GPU is", function()
    local gpu = assert(trace:frame "gpu")
    for _, instance in ipairs(found.instances) do
      local own = assert(gpu:where { device = instance.device, pid = instance.pid }):union()
      assert.equal(instance.wall - own:covered(instance.start, instance.stop), instance.idle)
      assert.truthy(instance.busy <= instance.wall)
    end
  end)

  it("are no repeats: ranks do not follow each other", function()
    assert.equal(1, found.repeats.count)
    assert.is_nil(found.inferred)
    assert.equal("vllm", found.by_engine.engine)
  end)

  it("label frames of operations", function()
    local frame = stages.label(trace, assert(trace:frame "kernels"), found)
    local sums = {}
    for _, group in ipairs(frame:group { by = { "stage" } }) do
      sums[group.stage or "none"] = group.count
    end
    assert.equal(46648, sums.decode)
    assert.is_nil(sums.none)
  end)

  it("give way to ranges that a recipe asks for", function()
    local other = stages.find(trace, { { name = "NCCL:ncclAllGather" } }, "auto")
    assert.is_nil(other.by_engine)
  end)
end)
