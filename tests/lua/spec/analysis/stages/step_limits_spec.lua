local model = require "llmprof.model"
local efficiency = require "llmprof.analysis.stages.efficiency"

describe("llmprof.analysis.stages.efficiency", function()
  local arch = model.load "conf/model/deepseek_ocr.yaml"
  local run = { prompt_tokens = 512, new_tokens = 32 }

  local function results(steps)
    return { ranks = { steps = steps }, hardware = { format = "bf16", count = 2,
      peaks = { bf16 = { per_s = 1e15 } }, memory = { per_s = 4e12 } } }
  end

  it("counts a decode step at its batch, over all GPUs", function()
    local made = results { { phase = "decode", batch = 8, generation = 8, tokens = 8,
      mean_ns = 3e6 } }
    efficiency.add_to_steps(made, arch, run)
    local cost = model.decode(arch, { batch = 8, steps = 1, context = 528 })
    assert.near(cost.flops / (3e-3 * 2e15), made.ranks.steps[1].mfu, 1e-12)
    assert.near(cost.bytes / (3e-3 * 8e12), made.ranks.steps[1].mbu, 1e-12)
  end)

  it("counts a prefill by its tokens, and says nothing of mixed steps", function()
    local made = results { { phase = "prefill", batch = 2, tokens = 1024, generation = 0,
      mean_ns = 2e7 }, { phase = "mixed", batch = 8, tokens = 600, generation = 2,
      mean_ns = 2e7 } }
    efficiency.add_to_steps(made, arch, run)
    local cost = model.prefill(arch, { tokens = 512, batch = 2 })
    assert.near(cost.flops / (2e-2 * 2e15), made.ranks.steps[1].mfu, 1e-12)
    assert.is_nil(made.ranks.steps[2].mfu)
  end)

  it("leaves them out where no model is described", function()
    local made = results { { phase = "decode", generation = 8, mean_ns = 3e6 } }
    efficiency.add_to_steps(made, nil, run)
    assert.is_nil(made.ranks.steps[1].mfu)
  end)
end)
