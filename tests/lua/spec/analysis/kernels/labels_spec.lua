-- Labels of kernels: from names that real traces have, all that are known here, and
-- names that nobody means well with.
local fs = require "llmprof.fs"
local labels = require "llmprof.analysis.kernels.labels"
local yaml = require "llmprof.yaml"

local NATIVE = "void at::native::"
local NOCAST = NATIVE .. "elementwise_kernel<(int)128, (int)4, void at::native::"
  .. "gpu_kernel_impl_nocast<%s>(at::TensorIteratorBase &, const T1 &)::"
  .. "[lambda(int) (instance 1)]>(int, T3)"
local VECTORIZED = NATIVE .. "vectorized_elementwise_kernel<(int)8, %s, "
  .. "std::array<char *, (unsigned long)2>>(int, T2, T3)"
local SILU = "at::native::<unnamed>::silu_kernel(at::TensorIteratorBase &)::[lambda() "
  .. "(instance 1)]::operator ()() const::[lambda(c10::BFloat16) (instance 1)]"
local COPY = "at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda(float) "
  .. "(instance 1)]"
local MUL = "at::native::BinaryFunctor<float, float, float, at::native::binary_internal::"
  .. "MulFunctor<float>>"
-- As other demanglers write the same.
local NATIVE_GNU = NATIVE .. "elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<%s >"
  .. "(at::TensorIteratorBase&, %s const&)::{lambda(int)#1}>(int)"
local MUL_GNU = "at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, "
  .. "at::native::binary_internal::MulFunctor<float> >"
local FLASH = "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<"
  .. "flash::CollectiveMainloopFwdSm90<(int)2, cute::tuple<cute::C<(int)1>, cute::C<(int)1>, "
  .. "cute::C<(int)1>>, cute::tuple<cute::C<(int)64>, cute::C<(int)192>, cute::C<(int)64>>, "
  .. "(int)128, cutlass::bfloat16_t>>>>(T1::Params)"

local read = {
  ["silu<bf16>"] = VECTORIZED:format(SILU),
  ["add<bf16>"] = VECTORIZED:format "at::native::CUDAFunctor_add<c10::BFloat16>",
  ["add scalar<int64>"] = VECTORIZED:format "at::native::CUDAFunctorOnSelf_add<long>",
  ["copy fp32->bf16"] = VECTORIZED:format(COPY),
  ["mul<fp32>"] = NOCAST:format(MUL),
  ["sum<bf16>"] = NATIVE .. "reduce_kernel<(int)128, (int)4, at::native::ReduceOp<c10::BFloat16, "
    .. "at::native::func_wrapper_t<c10::BFloat16, at::native::sum_functor<float>>>>(T3)",
  ["argmax<fp32>"] = NATIVE .. "reduce_kernel<(int)512, (int)1, at::native::ReduceOp<float, "
    .. "at::native::ArgMaxOps<float>, unsigned int, long, (int)4, (int)4>>(T3)",
  ["gemm nvjet 64x8x64 splitK TNT"] = "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK_TNT",
  ["gemm cutlass bf16 16x16x32 tn"] = "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_"
    .. "s161616gemm_bf16_16x16_32x1_tn_align2>(T1::Params)",
  ["flash-attn fwd sm90 d128"] = FLASH,
  ["flash-attn fwd d128"] = "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<(int)128, "
    .. "(int)128, (int)64, (int)4>>(flash::Flash_fwd_params)",
  ["rms_norm (triton, fused with add)"] = "triton_red_fused_fused_add_rms_norm_0",
  ["nccl all-reduce sum bf16 ring ll"] = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(Args)",
  ["ck_tile FmhaBatchPrefillWithPagedKVCache"] = "void ck_tile::kentry<(int)2, "
    .. "ck_tile::FmhaBatchPrefillWithPagedKVCacheKernel<ck_tile::Pipeline<(int)1>>>(Args)",
  ["vllm all-reduce 1-stage<bf16>"] = "void vllm::cross_device_reduce_1stage<__nv_bfloat16, "
    .. "(int)2>(vllm::RankData *, int)",
  ["reshape_and_cache_flash<fp16>"] = "void vllm::reshape_and_cache_flash_kernel<__half, __half>"
    .. "(const T1 *)",
  ["fused_add_rms_norm<bf16>"] = "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::"
    .. "exists, void>::type vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, int)",
  ["mul<bf16>"] = NATIVE_GNU:format(MUL_GNU, MUL_GNU),
  ["copy bf16->fp32"] = NATIVE .. "vectorized_elementwise_kernel<4, "
    .. "at::native::bfloat16tofloat32_copy_kernel_cuda(at::TensorIteratorBase&)::"
    .. "{lambda(c10::BFloat16)#1}, std::array<char*, 2ul> >(int)",
  ["axpy"] = "axpy(float, const float *, float *, int)",
  ["(unnamed kernel)"] = "(unnamed kernel)",
}


describe("labels of kernels", function()
  for label, name in pairs(read) do
    it("read " .. label, function() assert.equal(label, (labels.of(name))) end)
  end

  it("differ for all names that are known, and are short", function()
    local names, seen = {}, {}
    for _, categories in pairs(assert(yaml.decode(fs.read "tests/fixtures/kernel_names.yaml"))) do
      for _, list in pairs(categories) do
        for _, name in ipairs(list) do
          if not seen[name] then seen[name], names[#names + 1] = true, name end
        end
      end
    end
    local made, taken = labels.unique(names), {}
    assert.is_true(#names > 100)
    for _, name in ipairs(names) do
      assert.is_nil(taken[made[name]], made[name])
      taken[made[name]] = true
      assert.is_true(#made[name] <= 120, made[name])
    end
  end)

  it("say how kernels of one label differ", function()
    local first = "nvjet_sm90_tst_64x8_64x16_1x1_h_bz_TNT"
    local second = "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT"
    assert.same({ [first] = "gemm nvjet 64x8x64 TNT cluster 1x1",
      [second] = "gemm nvjet 64x8x64 TNT cluster 4x1" }, labels.unique { first, second })
    assert.same({ ["k(float)"] = "k", ["k(int)"] = "k ~2" },
      labels.unique { "k(int)", "k(float)" })
  end)

  for what, name in pairs { ["open brackets"] = ("f<(["):rep(1000), ["closed ones"] = "f>>)])",
    ["a long word"] = "void at::native::elementwise_kernel<" .. ("k"):rep(100000) .. ">(int)",
    ["many numbers"] = "void cutlass::device_kernel<FlashAttnFwdSm90<Mainloop<tuple<"
      .. ("(int)1>"):rep(20000) .. ">(int)",
    ["many digits"] = "triton_poi_fused_" .. ("1"):rep(100000) .. "x",
    ["a megabyte"] = "void f<" .. ("a, "):rep(350000) .. "b>(int)", nothing = "",
    ["an escape"] = "void \27[31mred<int>()", ["no function"] = "<<<<", spaces = "   " } do
    it("are there for " .. what, function()
      local label = labels.of(name)
      assert.is_string(label)
      assert.is_nil(label:find("[%c]"))
      assert.is_true(#label <= 120)
    end)
  end
end)
