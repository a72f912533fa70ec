-- One word for all spellings of a kernel's name.
local spelling = require("llmprof.analysis.kernels.operators").spelling

-- As nsys writes it, and as c++filt and PyTorch do.
local pairs_of_names = {
  { "void <unnamed>::softmax_warp_forward<float, float, float, (int)6, (bool)0, (bool)1>(T2 *, "
      .. "const T1 *, int, const bool *, bool)",
    "void (anonymous namespace)::softmax_warp_forward<float, float, float, 6, false, true>(float*, "
      .. "float const*, int, bool const*, bool)" },
  { "void at::native::elementwise_kernel<(int)128, (int)2, void at::native::gpu_kernel_impl_nocast<"
      .. "at::native::MulFunctor<float>>(at::TensorIteratorBase &, const T1 &)::[lambda(int) "
      .. "(instance 1)]>(int, T3)",
    "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<"
      .. "at::native::MulFunctor<float> >(at::TensorIteratorBase&, at::native::MulFunctor<float> "
      .. "const&)::{lambda(int)#1}>(int, at::native::gpu_kernel_impl_nocast<at::native::MulFunctor"
      .. "<float> >(at::TensorIteratorBase&, at::native::MulFunctor<float> "
      .. "const&)::{lambda(int)#1})" },
  { "void f<std::array<char *, (unsigned long)2>, (int)-2, const float>(T1)",
    "void f<std::array<char*, 2ul>, -2, float const>(std::array<char*, 2ul>)" },
  { "[CUDA memcpy Host-to-Device]", "Memcpy HtoD (Pageable -> Device)" },
  { "[CUDA memcpy Device-to-Device]", "Memcpy DtoD (Device -> Device)" },
  { "[CUDA memset]", "Memset (Device)" },
  { "nvjet_tst_64x8_64x16_4x1_v_bz_TNT", "nvjet_tst_64x8_64x16_4x1_v_bz_TNT" },
}


describe("the spelling of a kernel", function()
  it("makes spellings of a name the same", function()
    for _, names in ipairs(pairs_of_names) do
      assert.equal(spelling[names[1]], spelling[names[2]])
    end
  end)

  it("tells names apart", function()
    local seen = {}
    for _, names in ipairs(pairs_of_names) do
      assert.is_nil(seen[spelling[names[1]]])
      seen[spelling[names[1]]] = true
    end
    assert.are_not.equal(spelling["void f<(int)4>(int)"], spelling["void f<(int)8>(int)"])
    assert.are_not.equal(spelling["f()::[lambda() (instance 1)]"],
      spelling["f()::[lambda() (instance 2)]"])
  end)

  it("takes what is no C++ as it is", function()
    assert.equal("", spelling[""])
    assert.equal("triton_poi_fused_add_0", spelling["triton_poi_fused_add_0"])
    assert.equal("a", spelling["a(((("])
    assert.equal("a", spelling[")))a"])
  end)
end)
