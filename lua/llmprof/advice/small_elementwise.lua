-- Many short elementwise kernels in a row, which fused would be one. Those that are fused already,
-- such as a norm in one kernel, do not count.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "small_elementwise", own_code = true, fewer_launches = true }

-- From this share of the stage's kernels on, and this many, it is worth a finding; and from this
-- share of its GPU time on, where the GPU does not wait for launches.
local WORTH, FEWEST, OF_TIME = 0.2, 50, 0.07

-- Between the other kernels of a model's layers a handful follow each other, of an eager program
-- too. As many as this in a row, on average, are a loop over one operation and no chain of several.
local IN_A_ROW = 32

local fusible = { elementwise = true, reduce = true }

-- Kernels that hold a chain: silu_and_mul, triton_poi_fused_add_0.
rule.is_fused = evidence.named { "%f[%a]fused", "_and_mul", "act_and" }


function rule.examine_stage(results, stage, report)
  local small = evidence.kernels(results, stage, function(kernel)
    return fusible[kernel.category] and not rule.is_fused(kernel) and evidence.shortness(kernel)
  end)
  if small.calls < FEWEST or small.calls < WORTH * stage.kernels
    or small.share < OF_TIME and not evidence.is_held_up(results, stage) then
    return evidence.say("%N of %N kernels are short, elementwise or reduce, and not fused: %P of "
      .. "the GPU time", small.calls, stage.kernels, small.share)
  end
  local in_a_row = small.calls / (stage.kernels - small.calls + 1)
  if in_a_row >= IN_A_ROW then
    return evidence.say("%N short kernels in a row, with no other between them, are no chain of a "
      .. "layer", in_a_row)
  end
  report.finding {
    title = ("%s runs many short elementwise kernels"):format(stage.name),
    evidence = evidence.with_kernels({
      evidence.seen("%N of %N kernels are elementwise or reduce, not fused, and shorter than about "
        .. "%T; together %T", small.calls, stage.kernels, evidence.SHORT_NS, small.ns),
    }, small, stage),
    try = evidence.remedy(results, "torch.compile, or fused modules", "fused kernels")
      .. " for what repeats: RMSNorm, rotary embedding, SwiGLU, residual add with norm",
    changes = evidence.change("fuse(%s)", stage, small.list),
    assumption = "those that follow each other become one, which takes as long as the longest",
    kernels = small.ids,
  }
end


return rule
