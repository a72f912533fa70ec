-- Labels of PyTorch's own kernels: the operation inside the template that applies it to
-- each element, reduces or draws numbers.
local cpp = require "llmprof.analysis.kernels.labels.cpp"

local words = {
  direct_copy = "copy", pow_tensor_tensor = "pow", pow_tensor_scalar = "pow",
  compare_scalar = "compare", launch_clamp_scalar = "clamp", GeluCUDAKernelImpl = "gelu",
  random_from_to = "random int", random = "random int", normal = "random normal",
  uniform = "random uniform", arange_cuda_out = "arange",
  _cuda_scatter_gather_internal = "scatter/gather",
}

-- How a functor's text gives the operation away, the first that matches.
local patterns = {
  "CUDAFunctorOnSelf_(%w+)", "CUDAFunctor_(%w+)", "(GeluCUDAKernelImpl)",
  "(launch_clamp_scalar)", "(index_put)_kernel_impl", "(index)_kernel_impl",
  "%f[%w_]([%w_]+)_kernel_cuda", "(arange_cuda_out)", "templates::cuda::([%l_]+)_kernel<",
  "native::([%w_]+)_kernel%(", "native::([%w_]+)_kernel_impl", "native::([%w_]+)_kernel<",
  "%f[%w_](%u%w+)Functor<", "%f[%w_](%u%w+)Functor$",
}

local layouts = { vectorized_elementwise_kernel = "vectorized",
  unrolled_elementwise_kernel = "unrolled", elementwise_kernel = "strided" }


-- Binary and unary functors wrap the one that says what is done.
local function operation(all)
  local scalar = all:find "[AB]UnaryFunctor<" or all:find "CUDAFunctorOnSelf_"
  local inner = all:gsub("BinaryFunctor<", "<"):gsub("[AB]UnaryFunctor<", "<")
  for _, pattern in ipairs(patterns) do
    local found = inner:match(pattern)
    if found then
      local word = words[found] or found:gsub("_cuda$", "")
      if word:find "^%u" then word = word:lower() end
      return word, scalar
    end
  end
end


-- Of the last lambda, or the first that a functor is made for.
local function dtype_of(all)
  local drawn = all:match "_and_transform<([%w_:]+)"
  if drawn then return cpp.dtype(drawn) end
  local last
  for given in all:gmatch "[%[{]lambda%(([^()]*)%)" do
    last = cpp.dtype(given:match "^[^,]*") or last
  end
  if last then return last end
  for given in all:gmatch "[<%s]([%w_:]+%f[,>])" do
    local found = cpp.dtype(given)
    if found then return found end
  end
  return cpp.dtype(all)
end


-- What is applied to each element, without the template that counts them.
local function applied(read)
  return read.all:match "gpu_kernel_impl[_%l]*<(.*)>%(at::TensorIteratorBase &, const T1"
    or read.all:match "gpu_kernel_impl[_%l]*(%b<>)%(at::TensorIteratorBase" or read.all
end


local function elementwise(read)
  local all = applied(read)
  local word, scalar = operation(all)
  if not word then return nil end
  local size, copied = all:match "OpaqueType<%(?i?n?t?%)?(%d+)>", word:match "^(%w+)_copy$"
  local details = { layouts[read.base], read.args[1] and read.args[1]:match "%)(%d+)$" }
  if copied then
    copied = copied:match "to(%w+)$" or copied
    return ("copy %s->%s"):format(dtype_of(all) or "?",
      cpp.dtype(copied) or copied:gsub("bfloat", "bf"):gsub("float", "fp")), details
  end
  local dtype = size and ("%d-bit"):format(8 * size) or dtype_of(all)
  if word == "copy" and all:find "LoadWithCast" then word = "copy with cast" end
  return cpp.of(scalar and word .. " scalar" or word, { dtype }), details
end


local reductions = { "%f[%w](%w+)Ops<", "%f[%w](%w+)_functor<", "%f[%w](%w+)NanFunctor<",
  "%f[%w](%w+)Functor<" }

local function reduction(read)
  for _, pattern in ipairs(reductions) do
    local found = read.all:match(pattern)
    if found then
      local reduced = read.all:match "ReduceOp<([^,<>]+)" or ""
      return cpp.of(found:lower(), { cpp.dtype(reduced) }),
        { "reduce " .. (read.all:match "%)(%d+), %(int%)(%d+)" or "") }
    end
  end
end


return function(read)
  if not read.path:find "^at::native::" and not read.base:find "elementwise_kernel" then
    return nil
  end
  if read.base == "reduce_kernel" then return reduction(read) end
  if read.base:find "elementwise" then return elementwise(read) end
end
