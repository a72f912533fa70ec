-- Between the steps of a serving engine the GPU waits for the scheduler.
local evidence = require "llmprof.advice.evidence"
local lists = require "llmprof.tables.lists"

local rule = { name = "steps_idle", of_ranks = true }

-- Idle from this share of the time between steps on.
local WORTH = 0.1


-- A note about the thread of a rank that did most while its GPU waited for decode steps; nil where
-- none was seen.
local function thread_of(record, rank)
  local thread = lists.filtered(record.idle_threads or {}, function(one)
    return one.rank == rank and one.phase == "decode"
  end)[1]
  return thread and evidence.seen("thread %d%s was in ranges for %T%s and in CUDA calls for %T of "
    .. "%T of idle time; the rest is of no range and no call of this process", thread.tid,
    thread.thread and " (" .. thread.thread .. ")" or "", thread.ranges_ns,
    thread.range and (", mostly " .. thread.range) or "", thread.calls_ns, thread.idle_ns) or nil
end


function rule.examine(results, report)
  local record = results.ranks
  if record.source ~= "labels" then return evidence.NO_STEPS end
  local group = lists.find(record.stages or {}, "phase", "decode")
  local own = group and lists.largest(group.ranks, function(rank) -- where this waits, all do
    return rank.interval_ns and rank.idle_ns and -rank.idle_ns
  end)
  if not own then return "there are no decode steps" end
  if own.idle_ns < WORTH * own.interval_ns then
    return evidence.say("the GPU waits %T between decode steps", own.idle_ns)
  end
  local stage = evidence.find(results, "decode") -- of parts of ranks it knows no launches
  local notes = {
    evidence.seen("%T idle before each decode step, of %T to the next", own.idle_ns,
      own.interval_ns),
    evidence.seen("the worker's CPU spent it %s", evidence.activities(own, "idle_")),
    thread_of(record, own.rank),
  }
  report.finding {
    stage = "decode", title = "the GPU waits for the next step to be prepared", evidence = notes,
    try = (results.engine and evidence.engine_settings(results,
      stage and stage.launches and stage or group)
      or ("settings of %s that prepare a step while the GPU runs one"):format(record.engine))
      .. "; more requests to a step; fewer processes on its cores",
    changes = { 'remove(between "decode")' },
    assumption = "the CPU does what lies between two steps while the GPU works on the first",
    confidence = "high",
  }
end


return rule
