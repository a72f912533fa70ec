-- Attention in parts, which write the scores of all pairs of tokens to memory.
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

local function part_of(kernel) return kernel.part or "" end


-- Where a stage's attention is not fused, outside its parts ("") and in each: list of { part,
-- softmax, others (what else works on the scores) }.
local function unfused_in(results, stage)
  local list = {}
  for _, own in ipairs(lists.grouped(evidence.kernels_of(results, stage), part_of)) do
    local part = part_of(own[1])
    local function within(wanted)
      return evidence.kernels(results, stage, function(kernel)
        return part_of(kernel) == part and wanted(kernel)
      end)
    end
    local softmax = within(is_softmax)
    local usual = softmax.ns / softmax.calls
    if softmax.share >= WORTH and within(evidence.is_attention).calls == 0 then
      list[#list + 1] = { part = part, softmax = softmax, others = within(function(kernel)
        local times = kernel.calls / stage.wall.count / softmax.calls
        return works[kernel.category] and kernel.mean_ns >= AS_LONG * usual
          and times >= 1 and times <= FEW_TIMES and times % 1 == 0
      end) }
    end
  end
  return lists.sort(list, "part")
end


-- Ids of the kernels that work on the scores of unfused attention in a stage, as a set: other rules
-- leave them to this one.
function rule.kernels_of(results, stage)
  return lists.set(lists.flat(unfused_in(results, stage), function(one) return one.others.ids end))
end


function rule.examine_stage(results, stage, report)
  for _, one in ipairs(unfused_in(results, stage)) do
    local softmax, others = one.softmax, one.others
    report.finding {
      title = ("the attention of %s is not fused"):format(
        one.part == "" and stage.name or stage.name .. "/" .. one.part),
      evidence = evidence.with_kernels({
        evidence.seen("%N softmax kernels, %P of the stage's GPU time, and no fused attention "
          .. "kernel", softmax.calls, softmax.share),
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
  local fused = evidence.kernels(results, stage, evidence.is_attention)
  return evidence.say("%N fused attention kernels; other softmax takes less than %P", fused.calls,
    WORTH)
end


return rule
