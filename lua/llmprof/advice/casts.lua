-- Kernels that only change the type of numbers.
local attention_unfused = require "llmprof.advice.attention_unfused"
local evidence = require "llmprof.advice.evidence"
local lists = require "llmprof.tables.lists"

local rule = { name = "casts", own_code = true, children = true, fewer_launches = true }

-- From this share of the stage's GPU time on; of its kernels, where launches take the time.
local WORTH, OF_KERNELS = 0.03, 0.1

local names_cast = evidence.named { "loadwithcast", "b?float%d+_copy_kernel", "float8_%w+_copy",
  "%f[%a]cast", "convert" }


local is_arithmetic = { elementwise = true, reduce = true }


-- The casts go, or, with arithmetic in the type that they convert to between them, become one
-- kernel with it.
local function changes_of(results, stage, casts, scores)
  local wide = evidence.kernels(results, stage, function(kernel)
    return is_arithmetic[kernel.category] and kernel.label:find "<fp[36][24]>"
      and not kernel.label:find "^softmax" and not scores[kernel.id]
  end)
  if wide.calls == 0 then return evidence.change("remove(%s)", stage, casts.list), casts.ids end
  return evidence.change("fuse(%s)", stage, lists.joined(casts.list, wide.list)),
    lists.joined(casts.ids, wide.ids)
end


function rule.examine_stage(results, stage, report)
  local scores = attention_unfused.kernels_of(results, stage)
  local casts = evidence.kernels(results, stage, function(kernel)
    return kernel.category == "copy/cast" and names_cast(kernel) and not scores[kernel.id]
  end)
  local by_launches = evidence.is_held_up(results, stage) and not evidence.replays_graphs(stage)
  if casts.calls > 0 and (casts.share >= WORTH
    or by_launches and casts.calls >= OF_KERNELS * stage.kernels) then
    local changes, ids = changes_of(results, stage, casts, scores)
    report.finding {
      title = evidence.say("%s converts between types %N times", stage.name, casts.calls),
      evidence = evidence.with_kernels({
        evidence.seen("%N casts, %P of the stage's GPU time and %P of its kernels", casts.calls,
          casts.share, casts.calls / math.max(stage.kernels, 1)),
      }, casts, stage),
      try = "keep one type through the layer: convert weights and constants once when loading, "
        .. "use fused norms that compute in fp32 inside"
        .. evidence.remedy(results, ", look for autocast in the loop", ""),
      changes = changes,
      assumption = #ids == #casts.ids and "no cast is left, or each is fused into its neighbour"
        or "casts, and arithmetic in fp32 and fp64 between them, become one kernel that takes as "
          .. "long as the longest",
      kernels = ids,
    }
  end
  return evidence.say("%N casts, %P of the GPU time", casts.calls, casts.share)
end


return rule
