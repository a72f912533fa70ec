-- Kernels that only move data: contiguous(), cat, permutations, padding.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "layout_copies", own_code = true, children = true }

-- From this share of the stage's GPU time on.
local WORTH = 0.1

local moves = evidence.named { "direct_copy_kernel", "catarray", "transpose", "permute",
  "nchwtonhwc", "nhwctonchw", "roll" }

local casts = evidence.named { "loadwithcast" }


local function is_move(kernel)
  return kernel.category == "copy/cast" and moves(kernel) and not casts(kernel)
end


function rule.examine_stage(results, stage, report)
  local group = evidence.kernels(results, stage, is_move)
  if group.share >= WORTH then
    report.finding(evidence.finding({
      stage = stage.name,
      title = ("%s spends its GPU time on moving data"):format(stage.name),
      evidence = evidence.with_kernels({
        evidence.note(evidence.TIMELINE, "%s copies, joins and permutations take %s, %s of the "
          .. "stage's GPU time", evidence.count(group.calls), evidence.time(group.ns),
          evidence.percent(group.share)),
      }, group, stage),
      try = ("write to where the data is needed (preallocated caches%s), choose a layout "):format(
        evidence.remedy(results, ", out=", ""))
        .. "that the next kernel reads as it is, let attention take strided inputs",
      kernels = group.ids,
      confidence = "low",
    }, evidence.saving(results, stage, group, 0.5, "half of the moves are not needed")))
  end
  return ("%s copies, joins and permutations, %s of the GPU time"):format(
    evidence.count(group.calls), evidence.percent(group.share))
end


return rule
