local infer = require "llmprof.analysis.infer"
local layers = require "llmprof.analysis.layers"
local trace_file = require "llmprof.trace.file"

local RECORDED = "tests/fixtures/deepseek_ocr/run.sqlite"


-- The kernels of the recorded capture and the steps of its last decode.
local function recorded()
  local trace = trace_file.open(RECORDED)
  local found, steps = infer.stages(trace, { { name = "decode" } }), nil
  for _, instance in ipairs(found.instances) do steps = instance.steps end
  return trace:frame "kernels", steps
end


describe("layers of a step", function()
  it("are as many as there are kernels of attention", function()
    local frame, steps = recorded()
    local made = layers.of_step(frame, steps[4])
    assert.same({ 12, true, "attention" }, { made.count, made.named,
      require("llmprof.analysis.categories").classifier()(made.group.name) })
    assert.is_true(layers.has_attention(frame))
  end)

  it("are listed apart from the last, which has no end of its own", function()
    local frame, steps = recorded()
    local made = layers.describe(frame, steps)
    assert.same({ 12, 11 }, { made.count, #made.rows })
    for index, row in ipairs(made.rows) do
      assert.same({ index - 1, #steps }, { row.index, row.count })
      -- the first layer has no experts
      assert.same(index == 1 and 41 or 91, row.kernels)
      assert.is_true(row.mean_ns > 0.7e6 and row.mean_ns < 3e6)
    end
  end)

  it("are none where nothing comes back", function()
    local trace = trace_file.open "tests/fixtures/small/run.sqlite"
    local frame = trace:frame "kernels"
    assert.is_nil(layers.describe(frame, {}))
    assert.is_nil(layers.describe(frame, { { start = 0, stop = 1 } }))
    assert.is_false(layers.has_attention(frame))
  end)
end)
