-- Labels of matrix products and convolutions: library, tile (M x N x K), layout.
local cpp = require "llmprof.analysis.kernels.labels.cpp"

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


return function(read)
  local base = read.base
  if base:find "^nvjet" then return nvjet(base) end
  if base:find "xmma" then return library(base, "xmma") end
  local architecture = base:match "^(%l+)_[%w_]*gemm_" -- ampere_bf16_s16816gemm_...
  if architecture and base:find "stages" then return library(base, architecture) end
  local inner = read.args[1] and read.args[1]:match "^[%w_]*cutlass_[%w_]+"
  if inner then return library(inner:sub(1, 512), "cutlass") end
  if read.all:find("GemmUniversal", 1, true) then return universal(read) end
  if base:find "^implicit_convolve" then
    return cpp.of("conv implicit gemm", cpp.dtypes(read.args, 1)), {}
  end
  if base:find "^gemv" then
    return cpp.of(base:gsub("_kernel.*$", ""), cpp.dtypes(read.args, 2)), {}
  end
end
