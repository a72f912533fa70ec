-- Many short elementwise kernels in a row: each reads and writes everything for
-- one operation. Fused, a chain of them becomes one kernel.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "small_elementwise", own_code = true }

-- From this share of the stage's kernels on, and this many, it is worth a finding.
local WORTH, FEWEST = 0.2, 50

-- A chain of this many becomes one: scale, add, normalise, activate.
local CHAIN = 3

local fusible = { elementwise = true, norm = true, reduce = true }


local function is_small(kernel)
  return fusible[kernel.category] and evidence.shortness(kernel)
end


function rule.examine_stage(results, stage, report)
  local small = evidence.kernels(results, stage, is_small)
  if small.calls < FEWEST or small.calls < WORTH * stage.kernels then
    return ("%s of %s kernels are short and elementwise, norm or reduce"):format(
      evidence.count(small.calls), evidence.count(stage.kernels))
  end
  report.finding(evidence.finding({
    stage = stage.name,
    title = ("%s runs many short elementwise kernels"):format(stage.name),
    evidence = evidence.with_kernels({
      evidence.note(evidence.TIMELINE, "%s of %s kernels are elementwise, norm or reduce and "
        .. "shorter than about %s; together %s", evidence.count(small.calls),
        evidence.count(stage.kernels), evidence.time(evidence.SHORT_NS),
        evidence.time(small.ns)),
    }, small, stage),
    try = evidence.remedy(results, "torch.compile, or fused modules", "fused kernels")
      .. " for what repeats: RMSNorm, rotary embedding, SwiGLU, residual add with norm",
    kernels = small.ids,
    confidence = "medium",
  }, evidence.saving(results, stage, small, (CHAIN - 1) / CHAIN,
    ("%d of them become one on average"):format(CHAIN))))
end


return rule
