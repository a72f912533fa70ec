-- Attention as separate products and a softmax, which write the scores of every
-- pair of tokens to memory and read them back.
local evidence = require "llmprof.advice.evidence"
local lists = require "llmprof.tables.lists"

local rule = { name = "attention_unfused", own_code = true }

-- From this share of the stage's GPU time in softmax on.
local WORTH = 0.02

local is_softmax = evidence.named { "softmax" }

-- Scores are also scaled, masked and converted, by kernels that run as often as the softmax, or a
-- few times as often, and take at least this part of its time each.
local FEW_TIMES, AS_LONG = 4, 0.25

local works = { elementwise = true, ["copy/cast"] = true }

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


-- The softmax kernels of a part, nil where attention is fused or they take little.
local function softmax_of(results, stage, part)
  local softmax = evidence.kernels(results, stage, within(part or nil, is_softmax))
  local fused = evidence.kernels(results, stage, within(part or nil, evidence.is_attention))
  return fused.calls == 0 and softmax.share >= WORTH and softmax or nil
end


-- What else works on the scores.
local function around(results, stage, part, softmax)
  local usual = softmax.ns / softmax.calls
  return evidence.kernels(results, stage, within(part or nil, function(kernel)
    local times = kernel.calls / stage.wall.count / softmax.calls
    return works[kernel.category] and kernel.mean_ns >= AS_LONG * usual
      and times >= 1 and times <= FEW_TIMES and times % 1 == 0
  end))
end


local function examine_part(results, stage, part, report)
  local softmax = softmax_of(results, stage, part)
  if not softmax then return end
  local others = around(results, stage, part, softmax)
  local where = part and stage.name .. "/" .. part or stage.name
  report.finding {
    title = ("the attention of %s is not fused"):format(where),
    evidence = evidence.with_kernels({
      evidence.seen("%N softmax kernels, %P of the stage's GPU time, and no fused attention kernel",
        softmax.calls, softmax.share),
      others.calls > 0 and evidence.seen("%N kernels that scale, mask or convert the scores take "
        .. "%T", others.calls, others.ns) or nil,
    }, softmax, stage),
    try = evidence.remedy(results, "torch.nn.functional.scaled_dot_product_attention or "
      .. "FlashAttention (attn_implementation=\"sdpa\" or \"flash_attention_2\" in transformers)",
      "a fused attention kernel (FlashAttention, cuDNN's)")
      .. "; a mask that they cannot take forces the slow path",
    changes = evidence.change("remove(%s)", stage, lists.joined(softmax.list, others.list)),
    assumption = "what works on the scores goes away; the matmuls around it gain too, which is "
      .. "not counted",
    kernels = lists.joined(softmax.ids, others.ids),
  }
end


-- Ids of the kernels that unfused attention runs in a stage, as a set: other rules leave them to
-- this one.
function rule.kernels_of(results, stage)
  local set = {}
  for _, part in ipairs(parts_of(results, stage)) do
    local softmax = softmax_of(results, stage, part)
    local others = softmax and around(results, stage, part, softmax)
    for _, id in ipairs(others and others.ids or {}) do set[id] = true end
  end
  return set
end


function rule.examine_stage(results, stage, report)
  for _, part in ipairs(parts_of(results, stage)) do examine_part(results, stage, part, report) end
  local fused = evidence.kernels(results, stage, evidence.is_attention)
  return evidence.say("%N fused attention kernels; other softmax takes less than %P", fused.calls,
    WORTH)
end


return rule
