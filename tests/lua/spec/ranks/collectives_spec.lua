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

  it("are those of vLLM 0.33's library", function()
    for name, said in pairs {
      ["void vllm::cross_device_all_gather<2>(vllm::RankData*)"] = "all-gather custom all-reduce",
      ["void vllm::cross_device_reduce_scatter<__half, 2>(vllm::RankData*)"] =
        "reduce-scatter custom all-reduce",
      ["void vllm::mnnvl_lamport_all_gather<__half, 16>(int)"] = "all-gather multi-node NVLink",
      ["void vllm::mnnvl::twoshotAllreduceKernel<(unsigned char)2>(int)"] =
        "all-reduce multi-node NVLink",
      ["(anonymous namespace)::direct_dcp_kv_gather_multimem_kernel(uint4 const*)"] =
        "all-gather NVLink multicast",
      ["void vllm::tensorrt_llm::minimax_reduce_rms_kernel_lamport<__half, 16>(int)"] =
        "all-reduce other",
    } do
      local made = collectives.describe(name, name:match "([%w_]+)[<(]")
      assert.equal(said, made.op .. " " .. made.library, name)
    end
  end)
end)
