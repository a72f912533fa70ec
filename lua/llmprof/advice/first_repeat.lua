-- What only the first repeat pays: loading, choosing algorithms, compiling.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "first_repeat" }


function rule.examine(results, report)
  local repeats = results.repeats
  if not repeats or repeats.whole_run or not repeats.slowdown then
    report.abstain "there is no second repeat to compare the first with (infer.repeats)"
    return
  end
  if not repeats.first_is_outlier then
    return ("the first repeat took %.2f times as long as the others"):format(repeats.slowdown)
  end
  report.finding {
    title = "the first repeat pays one-time costs",
    evidence = { evidence.seen("the first repeat took %.1f times as long as the others, %T more",
      repeats.slowdown, repeats.first_excess_ns) },
    try = "serve a warm-up request of the usual shapes before the first user's; "
      .. evidence.remedy(results, "keep compile caches (TORCHINDUCTOR_CACHE_DIR) between starts; "
        .. "avoid shapes that compile again", "load modules at the start "
        .. "(CUDA_MODULE_LOADING=EAGER)"),
    confidence = "high",
  }
end


return rule
