-- Attention by kernels of an older generation than the GPU.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "older_attention" }

-- From this share of a stage's GPU time on.
local WORTH = 0.05


local function capability_of(results)
  local device = results.environment and results.environment.devices
    and results.environment.devices[1]
  return device and tonumber(device.compute_capability)
end


-- FlashAttention 2, which knows nothing of what Hopper and Blackwell added.
local function is_older(kernel)
  return kernel.category == "attention" and kernel.name:find("flash_fwd", 1, true) ~= nil
    and not kernel.name:lower():find("sm90", 1, true) and not kernel.name:find("sm100", 1, true)
end


function rule.examine(results, report)
  local capability = capability_of(results)
  if not capability then return report.abstain "the trace does not say which GPU it is" end
  if capability < 9 then return "the GPU is older than such kernels" end
  local ids, ns, share = {}, 0, 0
  for _, kernel in ipairs(results.kernels) do
    if is_older(kernel) then
      ids[#ids + 1], ns, share = kernel.id, ns + kernel.total_ns, share + (kernel.share or 0)
    end
  end
  if share < WORTH then return "no kernel of an older generation takes 5 % of the time" end
  report.finding {
    title = "attention runs kernels of an older generation than the GPU",
    evidence = { evidence.note(evidence.TIMELINE, "%s in kernels of FlashAttention 2, %s of the "
      .. "GPU time, on compute capability %.1f", evidence.time(ns), evidence.percent(share),
      capability) },
    try = "FlashAttention 3 or FlashInfer, where head size and number format allow (vLLM: "
      .. "VLLM_FLASH_ATTN_VERSION=3 or VLLM_ATTENTION_BACKEND)",
    kernels = ids, confidence = "medium",
  }
end


return rule
