-- Attention as separate products and a softmax, which write the scores of every
-- pair of tokens to memory and read them back.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "attention_unfused", own_code = true }

-- From this share of the stage's GPU time in softmax on.
local WORTH = 0.02

local is_softmax = evidence.named { "softmax" }

-- Kernels of a stage outside its parts, or of one part.
local function within(part, wanted)
  return function(kernel) return kernel.part == part and wanted(kernel) end
end


-- The stage itself (false) and the parts that its kernels name, in order.
local function parts_of(results, stage)
  local seen, list = { [false] = true }, {}
  for _, kernel in ipairs(evidence.kernels_of(results, stage)) do
    local part = kernel.part or false
    if not seen[part] then
      seen[part] = true
      list[#list + 1] = part
    end
  end
  table.sort(list)
  table.insert(list, 1, false)
  return list
end


local function examine_part(results, stage, part, report)
  local softmax = evidence.kernels(results, stage, within(part or nil, is_softmax))
  local fused = evidence.kernels(results, stage, within(part or nil, evidence.is_attention))
  if fused.calls > 0 or softmax.share < WORTH then return end
  local where = part and stage.name .. "/" .. part or stage.name
  report.finding {
    stage = stage.name,
    title = ("the attention of %s is not fused"):format(where),
    evidence = evidence.with_kernels({
      evidence.note(evidence.TIMELINE, "%s softmax kernels, %s of the stage's GPU time, and no "
        .. "fused attention kernel", evidence.count(softmax.calls),
        evidence.percent(softmax.share)),
    }, softmax, stage),
    try = evidence.remedy(results, "torch.nn.functional.scaled_dot_product_attention or "
      .. "FlashAttention (attn_implementation=\"sdpa\" or \"flash_attention_2\" in transformers)",
      "a fused attention kernel (FlashAttention, cuDNN's)")
      .. "; a mask that they cannot take forces the slow path",
    gain_ns = softmax.ns,
    spends = "gpu",
    assumption = "the softmax kernels go away; the products around them gain too, which is not "
      .. "counted",
    kernels = softmax.ids,
    confidence = "medium",
  }
end


function rule.examine_stage(results, stage, report)
  for _, part in ipairs(parts_of(results, stage)) do
    examine_part(results, stage, part, report)
  end
  local fused = evidence.kernels(results, stage, evidence.is_attention)
  return ("%s fused attention kernels; softmax beside them takes less than %s"):format(
    evidence.count(fused.calls), evidence.percent(WORTH))
end


return rule
