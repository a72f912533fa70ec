-- The longest gaps of a stage all end before the same kernel within its steps, in one after
-- another: what the program does there in each step holds it up, a plan that is built anew, say.
-- Gaps of longer steps, between steps, and in calls that wait or allocate have rules of their own.
local evidence = require "llmprof.advice.evidence"
local uneven_steps = require "llmprof.advice.uneven_steps"
local lists = require "llmprof.tables.lists"

local rule = { name = "long_gaps" }

-- This many of the longest gaps end there, and hold this share of the stage's time.
local FEWEST, WORTH = 5, 0.1


-- The gaps of a stage by what ends them: list of { ended_by, line, count, ns, host_ns, least, most,
-- steps }, the most time first.
local function places_of(results, stage)
  local list, by_key = {}, {}
  for _, gap in ipairs(results.gaps or {}) do
    if gap.stage == stage.name and gap.ended_by then
      local place = lists.entry(list, by_key, gap.ended_by .. "\0" .. (gap.line or ""),
        { ended_by = gap.ended_by, line = gap.line, count = 0, ns = 0, host_ns = 0,
          least = gap.ns, most = 0, steps = {} })
      place.count, place.ns = place.count + 1, place.ns + gap.ns
      place.host_ns = place.host_ns + (gap.host_ns or 0)
      place.least, place.most = math.min(place.least, gap.ns), math.max(place.most, gap.ns)
      place.steps[("%s/%s/%s"):format(gap.rank, gap.rep, gap.step)] = true
    end
  end
  return lists.sort(list, "-ns", "ended_by")
end


-- Does each of these gaps lie in a step of its own, with the CPU outside CUDA most of it?
local function in_many_steps(place)
  local count = 0
  for _ in pairs(place.steps) do count = count + 1 end
  return count == place.count and place.host_ns >= place.ns / 2
end


function rule.examine_stage(results, stage, report)
  local place = places_of(results, stage)[1]
  local ns = place and place.ns / stage.wall.count or 0
  if not place or place.count < FEWEST or ns < WORTH * stage.wall.mean_ns
    or not in_many_steps(place)
    -- told by the rules of longer steps and of the time between steps
    or uneven_steps.waiting_of(stage) > 0
    or (stage.between_steps and stage.between_steps.idle_ns or 0) >= ns then
    return "its longest gaps do not end at one place in each step"
  end
  local where = place.line and (" at %s"):format(place.line) or ""
  report.finding {
    title = ("the GPU waits long before %s%s in step after step of %s"):format(place.ended_by,
      where, stage.name),
    evidence = {
      evidence.seen("%d of the %d longest gaps end there, %s to %s, %s together", place.count,
        #results.gaps, evidence.time(place.least), evidence.time(place.most),
        evidence.time(place.ns)),
      evidence.seen("the CPU spent %s of that outside CUDA", evidence.time(place.host_ns)),
    },
    try = "look at what the program calls there: a plan or a kernel that is rebuilt for each "
      .. "length, a search for the best kernel, a file, a lock",
    changes = { ("remove(gaps:where { stage = %q, after = %q%s, duration = { \">=\", %d } })")
      :format(stage.name, place.ended_by, place.line and (", line = %q"):format(place.line) or "",
        place.least) },
    assumption = "these gaps go; shorter ones at the same place would, too, which is not counted",
  }
end


return rule
