-- In expert parallel the busiest rank sets the pace.
local evidence = require "llmprof.advice.evidence"
local lists = require "llmprof.tables.lists"

local rule = { name = "expert_imbalance", of_ranks = true }

-- The busiest rank over the mean.
local WORTH = 1.2


function rule.examine(results, report)
  local record = results.ranks
  if not record.expert_imbalance then return "no two ranks run kernels of experts" end
  if record.expert_imbalance < WORTH then
    return ("the busiest rank has %.2f times the mean in kernels of experts"):format(
      record.expert_imbalance)
  end
  local busiest = lists.largest(record.ranks, "expert_ns")
  report.finding {
    title = ("rank %d has more work for its experts than the others"):format(busiest.rank),
    evidence = { evidence.seen("%T in kernels of experts, %.2f times the mean over ranks",
      busiest.expert_ns, record.expert_imbalance) },
    try = "copies of the busiest experts, placed again by load (vLLM: "
      .. "--enable-eplb, SGLang: --enable-eplb), or another division of experts",
  }
end


return rule
