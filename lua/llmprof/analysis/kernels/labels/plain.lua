-- The label of any other kernel: its function without namespaces and "kernel", with the
-- types that it was made for.
local cpp = require "llmprof.analysis.kernels.labels.cpp"
local text = require "llmprof.text"

-- Characters of a function's name.
local LONGEST = 48

local known = {
  CatArrayBatchedCopy = "cat", CatArrayBatchedCopy_vectorized = "cat vectorized",
  indexSelectSmallIndex = "index_select", indexSelectLargeIndex = "index_select",
  gatherTopK = "topk", bitonicSortKVInPlace = "bitonic sort",
  radixSortKVInPlace = "radix sort",
  softmax_warp_forward = "softmax", cunn_SoftMaxForward = "softmax",
  cunn_SoftMaxForwardSmem = "softmax", vectorized_layer_norm = "layer_norm",
  kernelHistogram1D = "histogram", splitKreduce = "splitK reduce",
  DeviceScanKernel = "scan", DeviceScanInitKernel = "scan init",
  vectorized_gather = "gather", nchwToNhwc = "nchw->nhwc", nhwcToNchw = "nhwc->nchw",
  cross_device_reduce_1stage = "vllm all-reduce 1-stage",
  cross_device_reduce_2stage = "vllm all-reduce 2-stage",
}


-- "rms_norm" for "rms_norm_kernel" and "_rms_norm_kernel".
local function without_kernel(base)
  local short = base
  if short:sub(-5) == "ernel" then short = short:gsub("_kernel$", ""):gsub("Kernel$", "") end
  short = short:match "^_*(.*)$"
  return short ~= "" and short or base
end


-- Numbers among template arguments, for those that differ in nothing else.
local function numbers(args)
  local list = {}
  for _, arg in ipairs(args) do
    list[#list + 1] = arg:match "^%(.-%)(%-?%d+)$" or arg:match "^%-?%d+$"
  end
  return list
end


-- Types without that of the offsets, which is not what is computed with.
local function computed(args)
  local list = cpp.dtypes(args, 3)
  for i = #list, 2, -1 do
    if list[i] == "uint32" then table.remove(list, i) end
  end
  return list
end


return function(read)
  local short = without_kernel(read.base)
  local word = known[read.base] or known[short] or text.truncate(short, LONGEST, "middle")
  local given = numbers(read.args)
  return cpp.of(word, computed(read.args)), { given[1] and table.concat(given, ",") }
end
