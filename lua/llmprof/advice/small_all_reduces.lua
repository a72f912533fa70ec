-- Decode's all-reduces are small, and NCCL does them: what they take is latency.
local evidence = require "llmprof.advice.evidence"
local lists = require "llmprof.tables.lists"

local rule = { name = "small_all_reduces", of_ranks = true }

-- A transfer this short is all latency: a few steps of a ring on NVLink.
local SHORT_NS = 50000

-- This many of a rank in decode are worth a word.
local LEAST = 100


local function small(record)
  return lists.filtered(record.collectives or {}, function(kernel)
    return kernel.library == "NCCL" and kernel.op == "all-reduce"
      and (kernel.transfer_p50_ns or math.huge) <= SHORT_NS and (kernel.decode_count or 0) >= LEAST
  end)[1]
end


-- What has an engine's own all-reduce off, by its name.
local switches = { vllm = "leave out --disable-custom-all-reduce",
  sglang = "leave out --disable-custom-all-reduce",
  trtllm = "set allreduce_strategy to AUTO" }


local function remedy(results, off)
  if off then
    return ("%s, and see whether all GPUs of a group reach each other by NVLink (nvidia-smi topo "
      .. "-m): without it %s turns its own all-reduce off"):format(switches[results.engine.name],
      results.engine.title)
  end
  return ("an all-reduce in one step over NVLink: NCCL's symmetric memory windows, %sor a kernel "
    .. "of FlashInfer; or fuse it with the norm after it"):format(evidence.remedy(results,
    "torch's symmetric memory (one_shot_all_reduce), ", ""))
end


function rule.examine(results, report)
  local record = results.ranks
  if #record.ranks < 2 then return "there is one rank" end
  local kernel = small(record)
  if not kernel then return "NCCL does no small all-reduces in decode" end
  -- does an engine that has an all-reduce of its own never run it?
  local off = results.engine and switches[results.engine.name]
    and not lists.any(record.collectives, function(one)
      return one.op == "all-reduce" and one.library ~= "NCCL"
    end)
  report.finding {
    stage = "decode", title = off and ("the custom all-reduce of %s is off"):format(
      results.engine.title) or "small all-reduces of decode go through NCCL",
    evidence = { evidence.seen("%N %s of each rank in decode; each takes a median of %T once the "
      .. "last rank is there", kernel.decode_count, kernel.name, kernel.transfer_p50_ns) },
    try = remedy(results, off),
  }
end


return rule
