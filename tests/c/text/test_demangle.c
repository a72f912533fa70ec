/* Names of kernels: mangled, and as nsys writes them. */
#include "text/demangle.h"

#include <string.h>

#include "support.h"

static const struct {
  const char *mangled, *full, *base;
} names[] = {
    {"_ZN2at6native24vectorized_gather_kernelILi16ElEEvPcS2_PT0_illllb",
     "void at::native::vectorized_gather_kernel<(int)16, long>(char *, char *, "
     "T2 *, int, long, long, long, long, bool)",
     "vectorized_gather_kernel"},
    {"_ZN4vllm18act_and_mul_kernelIN3c108BFloat16E14__nv_bfloat162XadL_ZNS_"
     "11silu_kernelIS2_EET_RKS5_fEEXadL_ZNS_18packed_silu_kernelIS3_EES5_S7_"
     "fEELb1ELb1ELb0ELb0EEEvPS5_PS6_ifff",
     "void vllm::act_and_mul_kernel<c10::BFloat16, __nv_bfloat162, "
     "&vllm::silu_kernel<c10::BFloat16>, "
     "&vllm::packed_silu_kernel<__nv_bfloat162>, (bool)1, (bool)1, (bool)0, "
     "(bool)0>(T1 *, const T1 *, int, float, float, float)",
     "act_and_mul_kernel"},
    {"_Z10cpy_scalarIXadL_ZN36_INTERNAL_ca4d197e_6_cpy_cu_bfba63e212cpy_1_"
     "scalarIffEEvPKcPcEEEvS3_S4_lll",
     "void cpy_scalar<&_INTERNAL_ca4d197e_6_cpy_cu_bfba63e2::cpy_1_scalar<"
     "float, float>>(const char *, char *, long, long, long)",
     "cpy_scalar"},
    {"_Z1kIXadL_ZL2opfEEEvPT_", "void k<&op>(T1 *)", "k"},
    {"_Z1kIDF16bDF16_EvPT_", "void k<__bf16, _Float16>(T1 *)", "k"},
    {"_ZN7cutlass7Kernel2I41cutlass_80_simt_sgemm_64x64_8x5_tn_align1EEvNT_"
     "6ParamsE",
     "void "
     "cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x5_tn_align1>(T1::Params)",
     "Kernel2"},
    {"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_"
     "9ArgMaxOpsIfEEjlLi4ELi4EEEEEvT1_",
     "void at::native::reduce_kernel<(int)512, (int)1, "
     "at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, "
     "long, (int)4, (int)4>>(T3)",
     "reduce_kernel"},
    {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_"
     "11FillFunctorIiEESt5arrayIPcLm1EEEEviT0_T1_",
     "void at::native::vectorized_elementwise_kernel<(int)4, "
     "at::native::FillFunctor<int>, std::array<char *, (unsigned long)1>>(int, "
     "T2, T3)",
     "vectorized_elementwise_kernel"},
    {"_ZN4vllm26cross_device_reduce_1stageI13__nv_bfloat16Li2EEEvPNS_"
     "8RankDataENS_11RankSignalsEPNS_6SignalEPT_ii",
     "void vllm::cross_device_reduce_1stage<__nv_bfloat16, "
     "(int)2>(vllm::RankData *, vllm::RankSignals, vllm::Signal *, T1 *, int, "
     "int)",
     "cross_device_reduce_1stage"},
    {"_ZN4vllm30reshape_and_cache_flash_kernelI13__nv_bfloat16S1_LNS_"
     "18Fp8KVCacheDataTypeE0EEEvPKT_S5_PT0_S7_PKlllllliiiPKfSB_i",
     "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, "
     "(vllm::Fp8KVCacheDataType)0>(const T1 *, const T1 *, T2 *, T2 *, const "
     "long *, long, long, long, long, long, int, int, int, const float *, "
     "const float *, int)",
     "reshape_and_cache_flash_kernel"},
    {"_ZN5flash32prepare_varlen_num_blocks_kernelILi1ELb0EEEviiiPKiS2_S2_S2_S2_"
     "S2_iiiiiN7cutlass10FastDivmodES4_PiS5_S5_S5_S5_bbbi",
     "void flash::prepare_varlen_num_blocks_kernel<(int)1, (bool)0>(int, int, "
     "int, const int *, const int *, const int *, const int *, const int *, "
     "const int *, int, int, int, int, int, cutlass::FastDivmod, "
     "cutlass::FastDivmod, int *, int *, int *, int *, int *, bool, bool, "
     "bool, int)",
     "prepare_varlen_num_blocks_kernel"},
    {"_ZN2at6native20bitonicSortKVInPlaceILi2ELin1ELi16ELi16EflNS0_"
     "4GTOpIfLb1EEEjEEvNS_4cuda6detail10TensorInfoIT3_T6_EES8_S8_S8_NS6_IT4_S8_"
     "EES8_T5_",
     "void at::native::bitonicSortKVInPlace<(int)2, (int)-1, (int)16, (int)16, "
     "float, long, at::native::GTOp<float, (bool)1>, unsigned "
     "int>(at::cuda::detail::TensorInfo<T5, T8>, T8, T8, T8, "
     "at::cuda::detail::TensorInfo<T6, T8>, T8, T7)",
     "bitonicSortKVInPlace"},
    {"_ZN5cudnn19engines_precompiled16nchwToNhwcKernelI13__nv_bfloat16S2_"
     "fLb0ELb1EL21cudnnKernelDataType_t0EEEvNS0_18nchw2nhwc_params_tIT1_EEPKT_"
     "PT0_",
     "void cudnn::engines_precompiled::nchwToNhwcKernel<__nv_bfloat16, "
     "__nv_bfloat16, float, (bool)0, (bool)1, "
     "(cudnnKernelDataType_t)0>(cudnn::engines_precompiled::nchw2nhwc_params_t<"
     "T3>, const T1 *, T2 *)",
     "nchwToNhwcKernel"},
    {"_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_"
     "nocastINS0_15CUDAFunctor_addIlEEEEvRNS_18TensorIteratorBaseERKT_EUliE_"
     "EEviT1_",
     "void at::native::elementwise_kernel<(int)128, (int)2, void "
     "at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<long>>(at:"
     ":TensorIteratorBase &, const T1 &)::[lambda(int) (instance 1)]>(int, T3)",
     "elementwise_kernel"},
    {"_ZN7cutlass13device_"
     "kernelIN5flash19FlashAttnFwdCombineIN4cute5tupleIJNS3_1CILi16EEENS5_"
     "ILi64EEEEEELi4ELi256ELi1ELb0ELb1ENS_10bfloat16_tEfNS_4arch4Sm90EEEEEvNT_"
     "6ParamsE",
     "void "
     "cutlass::device_kernel<flash::FlashAttnFwdCombine<cute::tuple<cute::C<("
     "int)16>, cute::C<(int)64>>, (int)4, (int)256, (int)1, (bool)0, (bool)1, "
     "cutlass::bfloat16_t, float, cutlass::arch::Sm90>>(T1::Params)",
     "device_kernel"},
    {"_ZN2at6native44_GLOBAL__N__50c743a2_11_Indexing_cu_"
     "89862edb21indexSelectSmallIndexIN3c108BFloat16EljLi2ELi2ELin2EEEvNS_"
     "4cuda6detail10TensorInfoIT_T1_EENS7_IKS8_S9_EENS7_IKT0_S9_EEiiS9_l",
     "void at::native::<unnamed>::indexSelectSmallIndex<c10::BFloat16, long, "
     "unsigned int, (int)2, (int)2, (int)-2>(at::cuda::detail::TensorInfo<T1, "
     "T3>, at::cuda::detail::TensorInfo<const T1, T3>, "
     "at::cuda::detail::TensorInfo<const T2, T3>, int, int, T3, long)",
     "indexSelectSmallIndex"},
    /* Function pointers, arrays, what is not known, what is no such name. */
    {"_Z1fPFviE", "f(void (*)(int))", "f"},
    {"_Z1fRA4_f", "f(float (&)[4])", "f"},
    {"_ZN1aC1Ev", "a::a()", "a"},
    {"_Z1fDv4_f", "_Z1fDv4_f", "_Z1fDv4_f"},
    {"_Z9tooshort", "_Z9tooshort", "_Z9tooshort"},
    {"_Z1kS_", "_Z1kS_", "_Z1kS_"},
    {"_Z", "_Z", "_Z"},
    {"nvjet_sm90", "nvjet_sm90", "nvjet_sm90"},
};

TEST(names) {
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    llmprof_buffer full = {0}, base = {0};
    const char *name = names[i].mangled;
    assert_true(llmprof_demangle(name, strlen(name), &full, &base));
    assert_string_equal(full.bytes, names[i].full);
    assert_string_equal(base.bytes, names[i].base);
    llmprof_buffer_free(&full);
    llmprof_buffer_free(&base);
  }
}

static void demangle_part(const char *bytes, size_t size) {
  llmprof_buffer full = {0}, base = {0};
  assert_true(llmprof_demangle(bytes, size, &full, &base));
  llmprof_buffer_free(&full);
  llmprof_buffer_free(&base);
}

TEST(prefixes) {
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    test_every_prefix(names[i].mangled, strlen(names[i].mangled),
                      demangle_part);
}

static bool demangle_once(void *arg, llmprof_error *err) {
  const char *name = arg;
  llmprof_buffer full = {0}, base = {0};
  bool ok = llmprof_demangle(name, strlen(name), &full, &base);
  llmprof_buffer_free(&full);
  llmprof_buffer_free(&base);
  return ok || llmprof_fail_nomem(err);
}

/* A function within a function's arguments, and so on without an end. */
TEST(depth) {
  llmprof_buffer name = {0}, full = {0}, base = {0};
  llmprof_buffer_puts(&name, "_Z1aI");
  for (int i = 0; i < 4000; i++) llmprof_buffer_puts(&name, "XadL_Z1aI");
  assert_true(llmprof_demangle(name.bytes, name.size, &full, &base));
  assert_int_equal(full.size, name.size);
  assert_memory_equal(full.bytes, name.bytes, name.size);
  llmprof_buffer_free(&name);
  llmprof_buffer_free(&full);
  llmprof_buffer_free(&base);
}

TEST(allocations) {
  static char name[] = "_ZN1a1kILi4ENS_1bIlEEEEvPT0_RKS3_";
  test_every_allocation(demangle_once, name);
}
