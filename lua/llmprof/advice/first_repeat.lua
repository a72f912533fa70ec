-- What only the first repeat pays: loading modules, choosing algorithms,
-- compiling, growing the allocator's pool.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "first_repeat" }


-- Wall time of a stage in the first repeat, less that in the others, as the mean over ranks, which
-- run side by side.
local function excess_of(results, stage)
  local first, others = { ns = 0, count = 0 }, { ns = 0, count = 0 }
  for _, instance in ipairs(stage.instances or {}) do
    local own = instance.rep == 1 and first or others
    own.ns, own.count = own.ns + instance.wall_ns, own.count + 1
  end
  if first.count == 0 or others.count == 0 then return nil end
  return (first.ns / first.count - others.ns / others.count) * first.count
    / evidence.ranks_in_trace(results)
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
  local notes = { evidence.seen("the first repeat took %.1f times as long as the others, %T more",
    repeats.slowdown, repeats.first_excess_ns) }
  for _, stage in ipairs(evidence.stages(results)) do
    local excess = excess_of(results, stage)
    if excess and excess > 0 then
      notes[#notes + 1] = evidence.seen("%T of it in %s", excess, stage.name)
    end
  end
  report.finding {
    title = "the first repeat pays one-time costs",
    evidence = notes,
    try = "serve a warm-up request of the usual shapes before the first user's; "
      .. evidence.remedy(results, "keep compile caches (TORCHINDUCTOR_CACHE_DIR) between starts; "
        .. "avoid shapes that compile again", "load modules at the start, not at the first launch "
        .. "(CUDA_MODULE_LOADING=EAGER)"),
    confidence = "high",
  }
end


return rule
