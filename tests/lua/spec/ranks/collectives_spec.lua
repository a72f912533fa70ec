-- What names of kernels tell of collectives.
local collectives = require "llmprof.ranks.collectives"

describe("names of collectives", function()
  it("tell no algorithm and no protocol of NCCL, whose kernels run others, too", function()
    assert.same({ op = "all-reduce", library = "NCCL" },
      collectives.describe "ncclDevKernel_AllReduce_Sum_bf16_RING_LL")
  end)

  it("tell what is fused with them", function()
    for _, name in ipairs { "allreduce_fusion_kernel_oneshot_lamport",
      "userbuffers_fp16_sum_inplace_gpu_mc_rmsnorm" } do
      assert.same({ op = "all-reduce", library = "other" }, collectives.describe(name))
    end
  end)
end)
