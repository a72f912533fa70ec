local rank_record = require "tests.lua.support.rank_record"

local engine, said = rank_record.engine, rank_record.said

describe("advice small_all_reduces", function()
  local function of(given, more)
    local kernel = { name = "ncclAR", library = "NCCL", op = "all-reduce", decode_count = 200,
      transfer_p50_ns = 9000 }
    for key, value in pairs(given or {}) do kernel[key] = value end
    return said("small_all_reduces", engine { ranks = { { rank = 0 }, { rank = 1 } },
      collectives = { kernel } }, more)
  end

  it("finds NCCL where a custom all-reduce would do", function()
    assert.truthy(of():find("symmetric memory", 1, true))
    assert.truthy(of(nil, { engine = { name = "vllm", title = "vLLM" } }):find(
      "custom all-reduce of vLLM is off", 1, true))
  end)

  it("does not call it off where it runs, or where an engine has none", function()
    local both = { { name = "ncclAR", library = "NCCL", op = "all-reduce", decode_count = 200,
      transfer_p50_ns = 9000 }, { name = "cross_device_reduce_1stage", op = "all-reduce",
      library = "custom all-reduce" } }
    assert.truthy(said("small_all_reduces", engine { ranks = { { rank = 0 }, { rank = 1 } },
      collectives = both }, { engine = { name = "vllm", title = "vLLM" } }):find(
      "^small all%-reduces of decode go through NCCL"))
    assert.truthy(of(nil, { engine = { name = "llama_cpp", title = "llama.cpp" } }):find(
      "^small all%-reduces of decode go through NCCL"))
  end)

  it("is silent about large ones, few ones and others", function()
    assert.equal("", of { transfer_p50_ns = 60000 })
    assert.equal("", of { decode_count = 10 })
    assert.equal("", of { library = "custom all-reduce" })
  end)
end)
