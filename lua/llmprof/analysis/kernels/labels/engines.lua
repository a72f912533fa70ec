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


return function(read)
  local label, details = nccl(read)
  if label then return label, details end
  return attention(read)
end
