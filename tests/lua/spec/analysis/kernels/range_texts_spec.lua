-- What texts of ranges name of a model.
local range_name = require "llmprof.trace.nvtx_names"


describe("texts of ranges", function()
  for tag, wanted in pairs {
    ["{'Module': 'model.layers.3.mlp', 'Inputs': []}"] =
      { path = "model.layers.3.mlp", module = "model.layers.*.mlp",
        layer = "model.layers.3" },
    ['{"Module": "lm_head"}'] = { path = "lm_head", module = "lm_head" },
    ["model.layers.11.mlp.experts.7.w1"] =
      { path = "model.layers.11.mlp.experts.7.w1",
        module = "model.layers.*.mlp.experts.*.w1", layer = "model.layers.11" },
    ["aten::mm, seq = 1, op_id = 5"] = { operator = "aten::mm" },
    ["vllm::all_reduce"] = { operator = "vllm::all_reduce" },
    ["torch.compile"] = false, ["decode_step"] = false, ["v1.2"] = false, ["a..3"] = false,
    ["execute_context_0(0)_generation_8(8)"] = false, ["LLM:decode"] = false, [""] = false,
  } do
    it("are read: " .. tag, function()
      assert.same(wanted, range_name.read_text(tag) or false)
    end)
  end
end)
