-- Families of kernels: each a function of what families.read says of a name, which gives a label
-- and a list of details for those that share it, or nil when the kernel is not of the family.
local families = {}


-- ---- names ----

-- Names of kernels as C++ writes them, taken apart: the function's path, its template
-- arguments, and the types among these by the words people use.

-- Longer names, and names of functions, are read to here: what tells one from another comes
-- early. Patterns over these texts begin at a word or a literal, so that no name takes the
-- square of its length.
local LONGEST, FUNCTION = 8192, 512

local types = {
  float = "fp32", double = "fp64", half = "fp16", Half = "fp16", __half = "fp16",
  half_t = "fp16", __nv_bfloat16 = "bf16", nv_bfloat16 = "bf16", BFloat16 = "bf16",
  bfloat16_t = "bf16", bf16 = "bf16", fp16 = "fp16", fp32 = "fp32", tf32 = "tf32",
  Float8_e4m3fn = "fp8", __nv_fp8_e4m3 = "fp8", float_e4m3_t = "fp8",
  Float8_e5m2 = "fp8 e5m2", __nv_fp8_e5m2 = "fp8 e5m2", float_e5m2_t = "fp8 e5m2",
  bool = "bool", char = "int8", ["signed char"] = "int8", ["unsigned char"] = "uint8",
  short = "int16", ["unsigned short"] = "uint16", int = "int32", ["unsigned int"] = "uint32",
  long = "int64", ["long long"] = "int64", ["unsigned long"] = "uint64",
  ["unsigned long long"] = "uint64", int8_t = "int8", uint8_t = "uint8",
}


-- "bf16" for "const c10::BFloat16 *", "16-bit" for a type of which only the size is
-- known; nil for what is no such type.
function families.dtype(text)
  if types[text] then return types[text] end
  local size = text:find("OpaqueType<", 1, true) and text:match "OpaqueType<%(?[%a ]*%)?(%d+)"
  if size then return ("%d-bit"):format(8 * size) end
  local word = text:gsub("^const ", ""):gsub("[ *&]+$", "")
  return types[word] or types[word:match "::([%w_]+)$"]
end


local COMMA, GREATER, MINUS, LESS = (",>-<"):byte(1, 4)
local OPENS = { [LESS] = true, [("("):byte()] = true, [("["):byte()] = true }

-- Close a bracket: ">" is an operator within others, as "<" was that nothing closed before them.
-- open: those that are, `depth` of them; returns how many stay so.
local function closed(open, depth, mark)
  if mark == GREATER then return open[depth] == LESS and depth - 1 or depth end
  while depth > 1 and open[depth] == LESS do depth = depth - 1 end
  return depth - 1
end


-- Where the bracket that opens at `from` is closed, and what is between the commas
-- directly inside.
local function inside(text, from)
  local args, open, depth, at, begun = {}, {}, 0, from, from + 1
  repeat
    local found = text:find("[<>(),%[%]]", at)
    if not found then return #text, args end
    local mark = text:byte(found)
    if mark == COMMA then
      if depth == 1 then
        args[#args + 1], begun = text:sub(begun, found - 1):match "^%s*(.*)$", found + 1
      end
    elseif OPENS[mark] then
      depth = depth + 1
      open[depth] = mark
    elseif mark ~= GREATER or text:byte(found - 1) ~= MINUS then -- "->" closes nothing
      depth = closed(open, depth, mark)
    end
    at = found + 1
  until depth == 0
  args[#args + 1] = text:sub(begun, at - 2):match "^%s*(.*)$"
  return at - 1, args
end


-- Without what a pattern stands for, which has the literal in it.
local function without(text, literal, pattern, by)
  return text:find(literal, 1, true) and text:gsub(pattern, by) or text
end


-- { path = "at::native::reduce_kernel", base = "reduce_kernel", args = template
-- arguments, all = their text }; args is empty without a template.
function families.read(name)
  local text = without(name:sub(1, LONGEST), "void ", "^void ", "")
  text = without(text, "<unnamed>::", "<unnamed>::", "")
  text = without(text, "(anonymous", "%(anonymous namespace%)::", "")
  text = without(text, "operator", "operator ?[<>]+=?", "operator")
  local from, made = 1, { args = {}, all = "" }
  repeat
    local opens, _, mark = text:find("([<(])", from)
    made.path = text:sub(from, (opens or 0) - 1):gsub("^::", "")
    if mark then made.path = made.path:match "[^ ]+$" or made.path end -- behind what it returns
    if mark ~= "<" then break end
    local closes, args = inside(text, opens)
    made.args, made.all = args, text:sub(opens + 1, closes - 1)
    from = closes + 1
  until text:sub(from, from + 1) ~= "::"
  made.base = made.path:match("[^:]*$"):sub(1, FUNCTION)
  return made
end


-- The types among the template arguments, each once, `most` at most.
function families.dtypes(args, most)
  local list, seen = {}, {}
  for _, arg in ipairs(args) do
    local found = #list < most and families.dtype(arg)
    if found and not seen[found] then seen[found], list[#list + 1] = true, found end
  end
  return list
end


-- "add<bf16, fp32>"; the word alone without types.
function families.of(word, dtypes)
  return dtypes[1] and ("%s<%s>"):format(word, table.concat(dtypes, ", ")) or word
end


-- ---- attention and communication ----

-- Labels of attention and communication kernels, which say what they are in the names of
-- their templates.

-- flash::FlashAttnFwdSm90<CollectiveMainloopFwdSm90<stages, cluster, tile, head size, ...>>
local function flash_sm90(all)
  local given, at = {}, all:find("Mainloop", 1, true) or 1
  for number in all:gmatch("%(int%)(%d+)", at) do
    given[#given + 1] = number
    if #given == 8 then break end
  end
  local m, n, k, size = table.unpack(given, 5, 8) -- behind the stages and the cluster
  local pass = all:find("Bwd", 1, true) and "bwd" or "fwd"
  return ("flash-attn %s %s"):format(pass, (all:match "FlashAttn%a+(Sm%d+)" or ""):lower())
    .. (size and " d" .. size or ""), { m and ("%sx%sx%s"):format(m, n, k) }
end


-- flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<head size, M, N, warps>>
local function flash_traits(read)
  local size, m, n = read.all:match "traits%w*<%(int%)(%d+), %(int%)(%d+), %(int%)(%d+)"
  local what = read.base:gsub("^flash_", ""):gsub("_kernel$", ""):gsub("_", " ")
  return "flash-attn " .. what .. (size and " d" .. size or ""),
    { m and ("%sx%s"):format(m, n) }
end


local function attention(read)
  local all, base = read.all, read.base
  if all:find("FlashAttnFwdCombine", 1, true) then
    local m, n, splits = all:match "C<%(int%)(%d+)>, cute::C<%(int%)(%d+)>>, %(int%)(%d+)"
    local power = math.min(tonumber(splits) or 0, 30)
    return "flash-attn combine", { splits and ("%d splits"):format(1 << power),
      m and ("%sx%s"):format(m, n) }
  elseif all:find "FlashAttn%a+Sm%d+" then
    return flash_sm90(all)
  elseif base:find "^flash_" then
    return flash_traits(read)
  elseif read.path:find "^flash::" then
    return "flash-attn " .. base:gsub("_kernel$", ""):gsub("_", " "), {}
  end
  local arch, how, tile = base:match
    "^cudnn_generated.-sdpa_(sm%d+)_flash_(%l)prop_.-_(%d+x%d+x%d+)_"
  if arch then
    return ("cudnn sdpa %s %s %s"):format(how == "f" and "fwd" or "bwd", arch, tile),
      { base:match "knob_%d+" }
  end
end


local operations = { AllReduce = "all-reduce", AllGather = "all-gather", Broadcast = "broadcast",
  ReduceScatter = "reduce-scatter", Reduce = "reduce", SendRecv = "send-recv" }

-- ncclDevKernel_AllReduce_Sum_bf16_RING_LL(...)
local function nccl(read)
  local operation, rest = read.base:match "^nccl%w*Kernel_(%a+)(.*)$"
  if not operation then return nil end
  local said = rest:gsub("_(%w+)", function(word) return " " .. word:lower() end)
  return "nccl " .. (operations[operation] or operation) .. said, {}
end


function families.engines(read)
  local label, details = nccl(read)
  if label then return label, details end
  local wrapped = read.base == "kentry" and read.all:match ", ck_tile::([%w_]+)"
  if wrapped then return "ck_tile " .. (wrapped:gsub("Kernel$", "")), {} end
  return attention(read)
end


-- ---- matrix products and convolutions ----

-- Labels of matrix products and convolutions: library, tile (M x N x K), layout.

-- "64x8x64" of "64x8_64x16": a tile of M x N, K at a time, and stages.
local function tile_of(name)
  local m, n, k = name:match "(%d+)x(%d+)_(%d+)x%d+"
  if m then return ("%sx%sx%s"):format(m, n, k) end
  return name:match "tilesize(%d+x%d+x%d+)" or name:match "_(%d+x%d+)_"
end


local function joined(...)
  local list = {}
  for i = 1, select("#", ...) do list[#list + 1] = select(i, ...) or nil end
  return table.concat(list, " ")
end


-- nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK_TNT
local function nvjet(name)
  local cluster, rest = name:match "_%d+x%d+_%d+x%d+_(%d+x%d+)_(.*)$"
  local details = { cluster and "cluster " .. cluster, name:match "_([hv])_bz",
    name:match "_(coop%u)", name:match "^nvjet_(sm%d+_%w+)" }
  return joined("gemm nvjet", tile_of(name), name:find "splitK" and "splitK" or nil,
    name:find "_bias_" and "bias" or nil, rest and rest:match "(%u%u%u)$"), details
end


-- cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_32x1_tn_align2,
-- sm90_xmma_fprop_implicit_gemm_bf16bf16_..._tilesize64x128x64_...,
-- ampere_bf16_s16816gemm_bf16_64x64_ldg8_f2f_stages_64x5_tn
local function library(name, word)
  local pass = name:match "fprop" or name:match "dgrad" or name:match "wgrad"
  local dtype = name:match "bf16" or name:match "tf32" or name:match "e4m3" and "fp8"
    or name:match "f16" and "fp16" or name:match "sgemm" and "fp32" or name:match "dgemm" and "fp64"
  return joined(pass and "conv" or "gemm", word, pass, dtype, tile_of(name),
    name:match "_([nt][nt])_" or name:match "_([nt][nt])$" or name:match "_(nhwc)_"),
    { name:match "^(sm%d+)" or name:match "cutlass_(%d+)_", name:match "(align%d+)",
      name:match "stages?_(%w+)" }
end


-- The first tuple of three constants that is a tile; clusters, before it, are small.
local function tuple_tile(all)
  local c = "cute::C<%(?i?n?t?%)?(%d+)>"
  local m, n, k
  for a, b, d in all:gmatch("tuple<" .. c .. ", ?" .. c .. ", ?" .. c .. ">") do
    if tonumber(a) >= 16 then m, n, k = a, b, d break end
  end
  return m and ("%sx%sx%s"):format(m, n, k)
end


-- cutlass::device_kernel<... GemmUniversal<ProblemShape, CollectiveMma<...>>>
local function universal(read)
  local grouped = read.all:find("GroupProblemShape", 1, true)
  return joined(grouped and "grouped gemm cutlass" or "gemm cutlass",
    read.all:match "bfloat16_t" and "bf16" or read.all:match "half_t" and "fp16"
      or read.all:match "float_e4m3_t" and "fp8", tuple_tile(read.all)),
    { read.all:match "Mainloop(Sm%d+)" or read.all:match "arch::(Sm%d+)",
      read.all:match "Pingpong" and "pingpong" or read.all:match "Cooperative" and "cooperative" }
end


function families.gemm(read)
  local base = read.base
  if base:find "^nvjet" then return nvjet(base) end
  if base:find "xmma" then return library(base, "xmma") end
  local architecture = base:match "^(%l+)_[%w_]*gemm_" -- ampere_bf16_s16816gemm_...
  if architecture and base:find "stages" then return library(base, architecture) end
  local inner = read.args[1] and read.args[1]:match "^[%w_]*cutlass_[%w_]+"
  if inner then return library(inner:sub(1, 512), "cutlass") end
  if read.all:find("GemmUniversal", 1, true) then return universal(read) end
  if base:find "^implicit_convolve" then
    return families.of("conv implicit gemm", families.dtypes(read.args, 1)), {}
  end
  if base:find "^gemv" then
    return families.of(base:gsub("_kernel.*$", ""), families.dtypes(read.args, 2)), {}
  end
end


-- ---- torch.compile ----

-- Labels of kernels that torch.compile made: the operation that matters, then those fused
-- with it. triton_red_fused_fused_add_rms_norm_0: rms_norm (triton, fused with add).

-- What a kernel is called by, where it does several things: the first of these.
local main = { "scaled_dot_product_attention", "mm", "addmm", "bmm", "rms_norm",
  "native_layer_norm", "layer_norm", "_softmax", "softmax", "_log_softmax", "topk", "sort",
  "cumsum", "embedding", "index_select", "gather", "scatter", "silu", "gelu", "sigmoid", "tanh",
  "mean", "sum", "argmax", "amax", "cat", "mul", "add", "_to_copy" }

-- Names of operations with more than one word, so that they stay together.
local compound = { "scaled_dot_product_attention", "native_layer_norm", "fused_add_rms_norm",
  "layer_norm", "rms_norm", "_log_softmax", "_softmax", "_to_copy", "masked_fill", "bitwise_and",
  "bitwise_not", "bitwise_or", "index_select", "index_put", "new_zeros", "slice_scatter",
  "split_with_sizes" }

local kinds = { poi = "pointwise", red = "reduction", per = "persistent reduction",
  tem = "template", for_ = "foreach" }


-- The operations in a name's middle part, in order.
local function operations_in(middle)
  local list, at = {}, 1
  while at <= #middle do
    local word
    for _, known in ipairs(compound) do
      if middle:sub(at, at + #known - 1) == known then word = known break end
    end
    word = word or middle:match("^[^_]+", at)
    if word then list[#list + 1] = word end
    at = at + (word and #word or 0) + 1
  end
  return list
end


-- "fused_add_rms_norm" is an addition and a norm.
local function apart(list)
  local made, seen = {}, {}
  local function add(word)
    if not seen[word] then seen[word], made[#made + 1] = true, word end
  end
  for _, word in ipairs(list) do
    local second = word:match "^fused_add_(.*)$"
    if second then add "add" add(second) else add(word) end
  end
  return made
end


local function split(list)
  for _, wanted in ipairs(main) do
    for i, word in ipairs(list) do
      if word == wanted then return table.remove(list, i), list end
    end
  end
  return table.remove(list, 1), list
end


-- How many of the others are named.
local NAMED = 3

function families.triton(read)
  local kind, middle, number = read.base:match "^triton_(%l+)_fused_?(.-)_?(%d+)$"
  if not kind then return nil end
  local word, others = split(apart(operations_in(middle)))
  if not word then return ("triton %s #%s"):format(kinds[kind] or kind, number), {} end
  local said = "triton"
  if others[1] then
    said = said .. ", fused with " .. table.concat(others, ", ", 1, math.min(#others, NAMED))
    if #others > NAMED then said = ("%s and %d more"):format(said, #others - NAMED) end
  end
  return ("%s (%s)"):format(word:gsub("^_", ""), said), { "#" .. number, kinds[kind] or kind }
end


-- ---- PyTorch's own ----

-- Labels of PyTorch's own kernels: the operation inside the template that applies it to
-- each element, reduces or draws numbers.

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
  if drawn then return families.dtype(drawn) end
  local last
  for given in all:gmatch "[%[{]lambda%(([^()]*)%)" do
    last = families.dtype(given:match "^[^,]*") or last
  end
  if last then return last end
  for given in all:gmatch "[<%s]([%w_:]+%f[,>])" do
    local found = families.dtype(given)
    if found then return found end
  end
  return families.dtype(all)
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
      families.dtype(copied) or copied:gsub("bfloat", "bf"):gsub("float", "fp")), details
  end
  local dtype = size and ("%d-bit"):format(8 * size) or dtype_of(all)
  if word == "copy" and all:find "LoadWithCast" then word = "copy with cast" end
  return families.of(scalar and word .. " scalar" or word, { dtype }), details
end


local reductions = { "%f[%w](%w+)Ops<", "%f[%w](%w+)_functor<", "%f[%w](%w+)NanFunctor<",
  "%f[%w](%w+)Functor<" }

local function reduction(read)
  for _, pattern in ipairs(reductions) do
    local found = read.all:match(pattern)
    if found then
      local reduced = read.all:match "ReduceOp<([^,<>]+)" or ""
      return families.of(found:lower(), { families.dtype(reduced) }),
        { "reduce " .. (read.all:match "%)(%d+), %(int%)(%d+)" or "") }
    end
  end
end


function families.aten(read)
  if not read.path:find "^at::native::" and not read.base:find "elementwise_kernel" then
    return nil
  end
  if read.base == "reduce_kernel" then return reduction(read) end
  if read.base:find "elementwise" then return elementwise(read) end
end


return families
