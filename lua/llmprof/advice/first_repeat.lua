-- What only the first repeat pays: loading, choosing algorithms, compiling.
local evidence = require "llmprof.advice.evidence"
local lists = require "llmprof.tables.lists"

local rule = { name = "first_repeat" }


-- What a stage takes longer in the first repeat than in the others, ns: the mean over ranks, which
-- run side by side. 0 where it is not in both.
local function excess_of(results, stage)
  local first, others = lists.parted(stage.instances or {}, function(one) return one.rep == 1 end)
  if #first == 0 or #others == 0 then return 0 end
  return (lists.sum(first, "wall_ns") - lists.sum(others, "wall_ns") / #others * #first)
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
    notes[#notes + 1] = excess > 0 and evidence.seen("%T of it in %s", excess, stage.name) or nil
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
