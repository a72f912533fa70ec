-- What only the first repeat pays: loading modules, choosing algorithms,
-- compiling, growing the allocator's pool.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "first_repeat" }


-- Wall time of the first instance, less the mean of those of other repeats.
local function excess_of(stage)
  local first, sum, count
  for _, instance in ipairs(stage.instances or {}) do
    if instance.rep == 1 then
      first = (first or 0) + instance.wall_ns
    else
      sum, count = (sum or 0) + instance.wall_ns, math.max(count or 0, instance.rep - 1)
    end
  end
  return first and sum and first - sum / count or nil
end


function rule.examine(results, report)
  local repeats = results.repeats
  if not repeats or repeats.whole_run or not repeats.slowdown then
    report.abstain "there is no second repeat to compare the first with (infer.repeats)"
    return
  end
  if not repeats.first_is_outlier then
    return ("the first repeat took %.2f times as long as the others"):format(repeats.slowdown)
  end
  local notes = { evidence.note(evidence.TIMELINE, "the first repeat took %.1f times as long as "
    .. "the others, %s more", repeats.slowdown, evidence.time(repeats.first_excess_ns)) }
  for _, stage in ipairs(evidence.stages(results)) do
    local excess = excess_of(stage)
    if excess and excess > 0 then
      notes[#notes + 1] = evidence.note(evidence.TIMELINE, "%s of it in %s", evidence.time(excess),
        stage.name)
    end
  end
  report.finding {
    title = "the first repeat pays one-time costs",
    evidence = notes,
    try = "serve a warm-up request of the usual shapes before the first user's; "
      .. evidence.remedy(results, "keep compile caches (TORCHINDUCTOR_CACHE_DIR) between starts; "
        .. "avoid shapes that compile anew", "load modules at the start, not at the first launch "
        .. "(CUDA_MODULE_LOADING=EAGER)"),
    confidence = "high",
  }
end


return rule
