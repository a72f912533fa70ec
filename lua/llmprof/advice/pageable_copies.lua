-- Copies of pageable memory, which the driver copies once more while the CPU waits.
local evidence = require "llmprof.advice.evidence"
local lists = require "llmprof.tables.lists"

local rule = { name = "pageable_copies", own_code = true }

-- Copies, and GPU idle time in waiting calls, from this share of the stage's time on are
-- worth a finding; what a call waits for while the GPU works is not the copies'.
local WORTH = 0.01


-- Does the timeline say which host memory copies used? An export may not.
local function is_known(results)
  local of_host = lists.filtered(results.transfers or {}, evidence.is_of_host)
  return results.transfers and (#of_host == 0 or lists.any(of_host, function(row)
    return row.pageable ~= nil
  end))
end


function rule.examine_stage(results, stage, report)
  if not is_known(results) then
    return report.abstain "the timeline does not say which kind of host memory copies used"
  elseif not (stage.api and stage.waiting) then
    return "what the CPU did meanwhile is not known"
  end
  local copies = evidence.copies(results, stage, function(row) return row.pageable end)
  local cost = copies.ns + stage.waiting.sync_ns
  if copies.calls == 0 or cost < WORTH * stage.wall.mean_ns then
    return evidence.say("%N{pageable copy} in %s; with idle time in waiting calls %P of its time",
      copies.calls, stage.name, evidence.part(cost, stage.wall.mean_ns))
  end
  report.finding {
    title = ("%s copies from or to pageable memory"):format(stage.name),
    evidence = {
      evidence.seen("%N{pageable copy}%s, %T on the GPU", copies.calls,
        copies.bytes and evidence.say(" of %B", copies.bytes) or "", copies.ns),
      evidence.seen("the CPU spent %T in %N{waiting call}, the GPU was idle for %T of it",
        stage.api.sync.ns, stage.api.sync.calls, stage.waiting.sync_ns),
    },
    try = evidence.remedy(results, "pin the host memory once (tensor.pin_memory()), copy with "
      .. "non_blocking=True", "pin the host memory once (cudaHostAlloc), copy with cudaMemcpyAsync")
      .. ", and make constants on the GPU instead of sending them",
    changes = { evidence.without_copies(stage, 'host_memory = "pageable"') },
    assumption = "the copies run while kernels run, and no call waits for them",
  }
end


return rule
