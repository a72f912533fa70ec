-- In pipeline parallel a stage works on nothing while others do.
local evidence = require "llmprof.advice.evidence"
local lists = require "llmprof.tables.lists"

local rule = { name = "pipeline_bubbles", of_ranks = true }

-- From this share of the pipeline's time on.
local WORTH = 0.15

-- A stage that works this many times as long as the shortest is the slow one.
local UNEVEN = 1.2


local is_sent = evidence.named { "^nccl[%w_]*sendrecv" }

-- The stage of the program in which most is sent and received, and the kernels that do it.
local function sent_in(results)
  local stage = lists.largest(evidence.stages(results), function(stage)
    local ns = evidence.kernels(results, stage, is_sent).ns * stage.wall.count
    return ns > 0 and ns
  end)
  return stage, stage and evidence.kernels(results, stage, is_sent) or {}
end


local function remedy(longest, shortest)
  if longest.busy_ns >= UNEVEN * shortest.busy_ns then
    return ("fewer layers for stage %d, which works longest (vLLM: VLLM_PP_LAYER_PARTITION)")
      :format(longest.stage)
  end
  return "more batches under way at once (more requests, smaller chunks of prefill), so that each "
    .. "stage has one while the next works; or tensor parallel in place of stages, where NVLink "
    .. "joins the GPUs"
end


function rule.examine(results, report)
  local record = results.ranks
  if #record.ranks < 2 then return "there is one rank" end
  local made = record.pipeline
  if not made then return "nothing says that the ranks are stages of a pipeline" end
  local worst, longest = lists.largest(made.stages, "share"), lists.largest(made.stages, "busy_ns")
  local shortest = lists.largest(made.stages, function(one) return -one.busy_ns end)
  if worst.share < WORTH then
    return evidence.say("no stage of the pipeline lies idle for more than %P of its time",
      worst.share)
  end
  local stage, sent = sent_in(results)
  local is_even = longest.busy_ns < UNEVEN * shortest.busy_ns
  report.finding {
    stage = stage and stage.name,
    title = ("stage %d of the pipeline has bubbles"):format(worst.stage),
    evidence = {
      evidence.seen("%s", made.text),
      evidence.seen("%T of %T; the stage that works longest is %d, with %T", worst.bubble_ns,
        made.active_ns, longest.stage, longest.busy_ns),
    },
    try = remedy(longest, shortest), kernels = sent.ids,
    changes = stage and is_even and evidence.change("remove(%s)", stage, sent.list) or nil,
    assumption = stage and is_even and "each stage has something to work on all the time" or nil,
  }
end


return rule
