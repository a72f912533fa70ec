local modules = require "llmprof.base.modules"

describe("llmprof.base.modules", function()
  it("names the modules of a room, built in or not", function()
    local names = modules.names "engines"
    assert.same({ "dynamo", "llama_cpp", "sglang", "trtllm", "vllm" }, names)
    assert.same({}, modules.names "no_such_room")
  end)
end)
