-- Attention by kernels of an older generation than the GPU.
local evidence = require "llmprof.advice.evidence"
local lists = require "llmprof.tables.lists"

local rule = { name = "older_attention" }

-- From this share of a stage's GPU time on.
local WORTH = 0.05


-- FlashAttention 2 and PyTorch's memory-efficient attention use nothing of what Hopper and
-- Blackwell added. What newer kernels take of their time, about: FlashAttention 3's authors say 1.5
-- to 2 times as fast; memory-efficient attention was replaced in one program on an H200.
local OLDER = { { "flash_fwd", "FlashAttention 2", 0.6 },
  { "fmha_cutlassf", "memory-efficient attention", 0.33 } }

local function older(kernel)
  local name = kernel.category == "attention" and kernel.name:lower() or ""
  if name:find "sm90" or name:find "sm100" then return nil end
  for _, one in ipairs(OLDER) do
    if name:find(one[1], 1, true) then return one end
  end
  return nil
end


-- The one with most time, and the changes of all.
local function changes_of(stage, group)
  local most, list = older(group.list[1]), {}
  for _, one in ipairs(OLDER) do
    local own = lists.filtered(group.list, function(kernel) return older(kernel) == one end)
    local made = #own > 0 and evidence.change(("scale(%%s, %g)"):format(one[3]), stage, own) or {}
    lists.add(list, made)
  end
  return most, list
end


function rule.examine_stage(results, stage, report)
  local device = (results.environment.devices or {})[1]
  local capability = device and tonumber(device.compute_capability)
  if not capability then return report.abstain "the trace does not say which GPU it is" end
  if capability < 9 then return "the GPU is older than such kernels" end
  local group = evidence.kernels(results, stage, function(kernel) return older(kernel) ~= nil end)
  if group.share < WORTH then
    return "no kernel of an older generation takes 5 % of the GPU time"
  end
  local most, changes = changes_of(stage, group)
  report.finding {
    title = ("attention of %s runs kernels of an older generation than the GPU"):format(stage.name),
    evidence = { evidence.seen("%T in kernels of %s, %P of the GPU time, on compute capability "
      .. "%.1f", group.ns, most[2], group.share, capability) },
    try = "FlashAttention 3, cuDNN's attention or FlashInfer, where head size and number format "
      .. "allow (vLLM: VLLM_FLASH_ATTN_VERSION=3 or VLLM_ATTENTION_BACKEND)"
      .. evidence.remedy(results, "; no torch.nn.attention.sdpa_kernel that rules these out", ""),
    changes = not stage.steps and changes or nil, -- of one token the cache sets the time
    assumption = not stage.steps and "newer kernels take 0.6 of FlashAttention 2's time on long "
      .. "prompts, a third of memory-efficient attention's" or nil,
    kernels = group.ids,
  }
end


return rule
