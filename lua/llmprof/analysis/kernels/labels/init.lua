-- Names of kernels that a person can read: "add<bf16>", "gemm nvjet 64x8x64 TNT",
-- "flash-attn fwd sm90 d128", "rms_norm (triton, fused with add)".
--
-- Which family a kernel is of, llmprof.analysis.kernels.labels.families says.
local families = require "llmprof.analysis.kernels.labels.families"
local lists = require "llmprof.tables.lists"
local text = require "llmprof.text"

local labels = {}

-- ---- of no family ----

-- Characters of a function's name.
local LONGEST_NAME = 48

local words = {
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


-- Types without that of the offsets, which is not what is computed with.
local function computed(args)
  local list = families.dtypes(args, 3)
  for i = #list, 2, -1 do
    if list[i] == "uint32" then table.remove(list, i) end
  end
  return list
end


-- The label of any other kernel: its function without namespaces and "kernel", with the
-- types that it was made for.
local function plain(read)
  local short = without_kernel(read.base)
  local word = words[read.base] or words[short] or text.truncate(short, LONGEST_NAME, "middle")
  local numbers = lists.map(read.args, function(arg) -- for those that differ in nothing else
    return arg:match "^%(.-%)(%-?%d+)$" or arg:match "^%-?%d+$"
  end)
  return families.of(word, computed(read.args)), { numbers[1] and table.concat(numbers, ",") }
end


-- ---- labels ----

local tried = { families.engines, families.gemm, families.triton, families.aten, plain }

-- Characters of a label and of a detail; places in the lists of details, where nil is one
-- that a kernel does not have.
local LONGEST, DETAIL, DETAILS = 72, 24, 4


local function read_name(name)
  local read = families.read(name)
  for _, family in ipairs(tried) do
    local label, details = family(read)
    if label and label ~= "" then
      return { label = text.truncate(text.clean(label), LONGEST, "middle"), details = details }
    end
  end
  return { label = text.truncate(text.clean(name), LONGEST, "middle"), details = {} }
end


-- What was read last: reports ask for the same names several times. Of more names than these
-- all are forgotten at once.
local REMEMBERED = 2000
local known, remembered = {}, 0

-- A name's label, and the details, the most telling first, that tell it from others of
-- the same label.
function labels.of(name)
  local one = known[name]
  if not one then
    if remembered == REMEMBERED then known, remembered = {}, 0 end
    one = read_name(name)
    known[name], remembered = one, remembered + 1
  end
  return one.label, one.details
end


-- Appends the detail of that place to those of the group, where it tells them apart;
-- whether it does.
local function add_detail(group, made, place)
  local differ, first = false, made[group[1]].details[place]
  for _, name in ipairs(group) do differ = differ or made[name].details[place] ~= first end
  if not differ then return false end
  for _, name in ipairs(group) do
    local detail = made[name].details[place]
    if detail then
      made[name].label = ("%s %s"):format(made[name].label,
        text.truncate(text.clean(detail), DETAIL, "middle"))
    end
  end
  return true
end


-- What still reads alike is numbered, in the order of the names.
local function number(names, made)
  local taken, nth = {}, {}
  for _, name in ipairs(names) do
    local own = made[name].label
    local label = own
    while taken[label] do
      nth[own] = (nth[own] or 1) + 1
      label = ("%s ~%d"):format(own, nth[own])
    end
    taken[label], made[name].label = true, label
  end
end


-- By name: its label, different for different names. `names` are without repeats.
function labels.unique(names)
  local made = {}
  for _, name in ipairs(names) do
    local label, details = labels.of(name)
    made[name] = { label = label, details = details }
  end
  local function by_label()
    return (lists.grouped(names, function(name) return made[name].label end))
  end
  local groups = by_label()
  for place = 1, DETAILS do
    local added = false
    for _, group in ipairs(groups) do
      if group[2] and add_detail(group, made, place) then added = true end
    end
    if added then groups = by_label() end
  end
  if #groups < #names then number(lists.sort(lists.joined(names)), made) end
  local found = {}
  for name, one in pairs(made) do found[name] = one.label end
  return found
end


return labels
