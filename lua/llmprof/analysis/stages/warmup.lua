-- One-time costs: loading modules, choosing algorithms, compiling, capturing
-- graphs. They are judged by stage and by step, so that a first prefill that is
-- three times as long as the others does not hide behind a decode that is not.
--
-- Leading repeats of a stage are left out while each takes OUTLIER times the median of the
-- repeats after it, but never more than half of them. Repeats with different numbers of steps
-- are compared by the time of a step. The leading steps of the first decode that counts are left
-- out while each takes OUTLIER times the median of the steps after it, and of the steps at the
-- same place in other decodes.
--
-- The first step of any decode does what the prefill left. Where it took OUTLIER times the
-- median of those behind it, and of the next few, it is no usual one either, whichever decode
-- that is.
--
-- Of a serving engine each step is an instance of its stage, and all are in one repeat.
-- There the first steps of a stage, on each rank, are left out where each took OUTLIER
-- times the longest of those behind, also per token: steps are not alike.
--
-- What was still running when the capture ended says nothing of how long it takes: it counts only
-- where nothing else of its stage was recorded.
local lists = require "llmprof.tables.lists"
local range_name = require "llmprof.trace.nvtx_names"
local statistics = require "llmprof.statistics"
local steps = require "llmprof.analysis.stages.steps"

local cold = {}

-- What took this many times as long as usual is no usual one.
local OUTLIER = 1.5

-- Steps behind a cold one that say what is usual.
local LEAST_STEPS = 4

-- The most steps that an engine's stage begins cold with; where one single step is behind,
-- it has to be this many times as long.
local MOST_FIRST, ALONE = 3, 4


-- ---- stages ----

-- Does each thread that has an instance run the opener, so that threads repeat by themselves?
local function repeat_alone(instances, opener)
  local opens = lists.set(lists.map(instances, function(one)
    return one.stage == opener and one.thread or nil
  end))
  return not lists.any(instances, function(one)
    return not one.thread or not one.parent and not opens[one.thread]
  end)
end


-- Number the repeats of each rank, or of its threads that each run all stages, which is then the
-- `lane`: each begins with the first declared stage that is there. Returns how many the one with
-- the most has.
function cold.number_repeats(declared, instances)
  local opener = lists.map(declared, function(stage)
    return not stage.parent and lists.find(instances, "stage", stage.name) and stage.name or nil
  end)[1]
  local by_thread = repeat_alone(instances, opener)
  local counts, most = {}, #instances > 0 and 1 or 0
  for _, instance in ipairs(instances) do
    local own = ("%s %s"):format(instance.rank, by_thread and instance.thread)
    if instance.stage == opener then counts[own] = (counts[own] or 0) + 1 end
    instance.rep = math.max(counts[own] or 0, 1)
    instance.lane = (instance.rank or by_thread) and own or nil
    most = math.max(most, instance.rep)
  end
  return most
end


-- The time of instances, and how many steps they have where all know theirs: { ns, steps }. Lanes
-- run side by side: the one that took longest counts, and no sum. nil of none.
local function time_of(instances)
  local function lacks_steps(instance) return not instance.steps end
  local lanes = lists.grouped(instances, function(instance) return instance.lane or "" end)
  return (lists.largest(lists.map(lanes, function(own)
    local all = not lists.any(own, lacks_steps) and lists.flat(own, "steps")
    return { ns = lists.sum(own, "wall"), steps = all and #all or nil }
  end), "ns"))
end


-- By repeat, that time of those of its instances.
local function times_by_repeat(instances)
  local times, _, by_repeat = {}, lists.grouped(instances, "rep")
  for rep, own in pairs(by_repeat) do times[rep] = time_of(own) end
  return times
end


-- By repeat the times of a stage in ns, of one step where repeats, which all have some, differ in
-- how many; and whether they are of one.
local function stage_times(instances)
  local times, list, per_step = times_by_repeat(instances), {}, false
  for _, entry in pairs(times) do list[#list + 1] = entry end
  if not lists.any(list, function(one) return (one.steps or 0) == 0 end) then
    per_step = lists.any(list, function(one) return one.steps ~= list[1].steps end)
  end
  for rep, entry in pairs(times) do times[rep] = per_step and entry.ns / entry.steps or entry.ns end
  return times, per_step
end


-- The median of the repeats behind one; nil without others.
local function usual_wall(times, rep, count)
  local others = {}
  for other = rep + 1, count do others[#others + 1] = times[other] end
  return statistics.median(others)
end


local function is_outlier(ns, usual) return usual ~= nil and usual > 0 and ns > OUTLIER * usual end


-- The first repeats of a stage that do not count.
local function cold_repeats(instances, count, policy)
  local times, per_step = stage_times(instances)
  local list = {}
  for rep = 1, count // 2 do
    local usual = times[rep] and usual_wall(times, rep, count)
    local leave = usual and ((policy == "yes" and rep == 1)
      or (policy == "auto" and is_outlier(times[rep], usual)))
    if not leave then break end
    list[rep] = { stage = instances[1].stage, rep = rep, ns = times[rep], usual_ns = usual,
      per_step = per_step or nil }
  end
  return list
end


-- The stages that do not count in the first repeats: list of { stage, rep, ns, usual_ns,
-- per_step }, those of the first repeat first; and how many stages there are.
local function cold_stages(instances, count, policy)
  local stages = lists.grouped(lists.filtered(instances, function(instance)
    return not (instance.parent or instance.cut)
  end), "stage")
  local left_out = lists.flat(stages, function(own) return cold_repeats(own, count, policy) end)
  return lists.stable(left_out, "rep"), #stages
end


-- How many of the first repeats all stages are left out of.
local function skipped(left_out, stage_count)
  local rep, _, by_rep = 0, lists.grouped(left_out, "rep")
  while stage_count > 0 and #(by_rep[rep + 1] or {}) == stage_count do rep = rep + 1 end
  return rep
end


-- The stages that were cut by the end of the capture and of which others were not, as entries of
-- repeats.left_out.
local function cut_stages(instances)
  local cut, whole = lists.parted(instances, "cut")
  local _, others = lists.grouped(whole, "stage")
  local groups = lists.grouped(cut, function(one) return ("%s %d"):format(one.stage, one.rep) end)
  return lists.map(groups, function(own)
    local first, of_stage = own[1], others[own[1].stage]
    return of_stage and { stage = first.stage, rep = first.rep, cut = true, ns = first.wall,
      usual_ns = statistics.median(lists.map(of_stage, "wall")) } or nil
  end)
end


-- Which repeat of the timeline one of a plain run is like: that of its number; nil for one that the
-- same process ran apart from those, and is no cold start. profiled: the workload's own metrics of
-- the timeline, which may be absent; i: its place in the plain run.
function cold.place_of(profiled, rep, i)
  local list = profiled and profiled.repeats or {}
  if not (rep.index and list[1] and list[1].index) then return i end
  for place, other in ipairs(list) do
    if other.index == rep.index then return place end
  end
  return nil
end


-- Is an entry of repeats.left_out about all that ran of a stage in a repeat?
function cold.is_stage(entry) return not (entry.step or entry.first or entry.openings) end


-- How many of the first repeats are left out as a whole. repeats: of cold.judge.
function cold.skipped(repeats)
  if not repeats.skipped_first then return 0 end
  return repeats.used and math.max(repeats.count - repeats.used, 1) or 1
end


-- Is a stage of this repeat left out? repeats: of cold.judge. Children follow
-- their parents: parent may be nil. "prefill" stands for "LLM:prefill", too.
function cold.left_out(repeats, rep, stage, parent)
  if repeats and rep and rep <= cold.skipped(repeats) then return true end
  return lists.any(repeats and repeats.left_out or {}, function(entry)
    return cold.is_stage(entry) and entry.rep == rep and (entry.stage == stage
      or entry.stage == parent or range_name.role(entry.stage) == stage)
  end)
end


-- ---- steps ----

local function length(step) return step.stop - step.start end


local function lengths(list, first)
  return lists.map(table.move(list, first, #list, 1, {}), length)
end


-- Mark the cold steps that the first of these instances begins with; adds them
-- to the list as { stage, rep, step (from 0), ns, usual_ns }.
local function judge_steps(instances, list)
  local first = instances[1]
  local others = table.move(instances, 2, #instances, 1, {})
  for place, step in ipairs(first.steps) do
    if #first.steps - place < LEAST_STEPS then return end
    local usual = statistics.median(lengths(first.steps, place + 1))
    local elsewhere = statistics.median(lists.map(others, function(instance)
      return instance.steps[place] and length(instance.steps[place])
    end))
    if not is_outlier(length(step), usual)
      or (elsewhere and not is_outlier(length(step), elsewhere)) then
      return
    end
    step.cold = true
    list[#list + 1] = { stage = first.stage, rep = first.rep, step = place - 1, ns = length(step),
      usual_ns = usual }
  end
end


-- Mark the first step of a run of steps as cold where it took far longer than those behind
-- it: { stage, rep, ns, usual_ns }; nil where it did not.
local function judge_opening(run)
  local first = run.steps[1]
  if not run.used or first.cold or #run.steps <= LEAST_STEPS then return nil end
  local behind = lengths(run.steps, 2)
  local usual, next_ones = statistics.median(behind),
    statistics.median(lists.first(behind, LEAST_STEPS))
  if not is_outlier(length(first), math.max(usual, next_ones)) then return nil end
  first.cold = true
  return { stage = run.stage, rep = run.rep, ns = length(first), usual_ns = usual }
end


-- Mark the cold first steps of runs (of llmprof.analysis.stages.steps), and list them, once for a
-- stage. Of several ranks' steps each counts.
local function judge_openings(runs, list)
  for _, own in ipairs(lists.grouped(lists.map(runs, judge_opening), "stage")) do
    list[#list + 1] = { stage = own[1].stage, rep = own[1].rep, openings = #own,
      ns = lists.sum(own, "ns") // #own, usual_ns = lists.sum(own, "usual_ns") / #own }
  end
end


-- ---- the first steps of an engine ----

-- Did the first this many each take far longer than all behind them?
local function begins_cold(values, count)
  local least = math.min(table.unpack(values, 1, count))
  local most = statistics.describe(table.move(values, count + 1, #values, 1, {})).max
  return least > (#values - count == 1 and ALONE or OUTLIER) * most
end


-- How many steps the stage begins cold with, by their times, and by those of a token where all
-- steps say how many they work on.
local function first_cold(list)
  local walls, per_token = lists.map(list, "wall"), lists.map(list, function(one)
    return (one.work or 0) > 0 and one.wall / one.work or nil
  end)
  for count = math.min(MOST_FIRST, (#list + 1) // 3), 1, -1 do
    if begins_cold(walls, count)
      and (#per_token < #list or begins_cold(per_token, count)) then
      return count
    end
  end
  return 0
end


-- Leave the first ones of a stage out; what repeats.left_out says of them, of several ranks on one.
local function leave_first_out(list, count, rank)
  local first = lists.first(list, count)
  for _, instance in ipairs(first) do
    instance.used = false
    for _, step in ipairs(instance.steps or {}) do step.cold = true end
  end
  local others = lists.map(table.move(list, count + 1, #list, 1, {}), "wall")
  return { stage = list[1].stage, rep = 1, rank = rank, first = count,
    ns = lists.sum(first, "wall"), usual_ns = statistics.median(others) }
end


-- How many were left out of a stage when the same capture was judged before.
local function judged_first(before, stage, rank)
  return lists.map(before, function(entry)
    return entry.stage == stage and entry.rank == rank and entry.first or nil
  end)[1] or 0
end


-- Mark the steps that an engine begins its stages cold with, and list them. Instances are each a
-- step, in order; before: what was left out of the same capture, nil where it was not judged.
local function judge_first(instances, list, before)
  local several = #lists.grouped(instances, "rank") > 1
  for _, own in ipairs(lists.grouped(instances, function(instance)
    return not instance.parent and ("%s %s"):format(instance.stage, instance.rank) or nil
  end)) do
    local rank = several and own[1].rank or nil
    local count = before and math.min(judged_first(before, own[1].stage, rank), #own - 1)
      or not before and first_cold(own) or 0
    if count > 0 then list[#list + 1] = leave_first_out(own, count, rank) end
  end
end


-- ---- together ----

-- How many times as long as the median of the others the whole first repeat
-- took, and by how much in ns; nil for one repeat.
local function slowdown_of(instances, count)
  local _, cut = lists.grouped(lists.filtered(instances, "cut"), "rep")
  local times = times_by_repeat(lists.filtered(instances, function(one) return not one.parent end))
  local walls = {}
  for rep = 1, count do
    walls[rep] = not cut[rep] and (times[rep] and times[rep].ns or 0) or nil
  end
  local usual = usual_wall(walls, 1, count)
  if not usual or usual <= 0 or not walls[1] then return nil end
  return walls[1] / usual, walls[1] - usual
end


-- Give each instance `used`, and each cold step `cold`. policy: repeats.skip_first,
-- or what was judged of the same capture, repeats of results; by_engine: instances are its steps.
-- Returns { count, used, skipped_first (all of the first repeat is left out),
-- slowdown, first_is_outlier, first_excess_ns (nil for one repeat), left_out (nil
-- when nothing is), cut (stages of which nothing but one that was cut was recorded) }.
function cold.judge(instances, count, policy, by_engine)
  local before = type(policy) == "table" and (policy.left_out or {}) or nil
  local first = before and policy.skipped_first
  local left_out, stage_count = cold_stages(instances, count, first and "yes" or policy)
  local as_before = lists.filtered(before or {}, cold.is_stage)
  if before and (#as_before > 0 or not first) then
    left_out = as_before
  else
    lists.add(left_out, cut_stages(instances))
  end
  local slowdown, excess = slowdown_of(instances, count)
  local without = skipped(left_out, stage_count)
  local repeats = { count = count, used = count - without, skipped_first = without > 0,
    slowdown = slowdown, first_excess_ns = excess, left_out = left_out }
  if slowdown then repeats.first_is_outlier = slowdown > OUTLIER end
  for _, instance in ipairs(instances) do
    instance.used = not cold.left_out(repeats, instance.rep, instance.stage, instance.parent)
  end
  local cut = lists.map(instances, function(one)
    return one.cut and one.used and one.stage or nil
  end)
  repeats.cut = #cut > 0 and cut or nil
  local function are_judged(field) -- that entries about such steps have
    return before and lists.any(before, field) or policy == "auto"
  end
  local with_steps = are_judged "step" and lists.grouped(instances,
    function(one) return one.used and one.steps and one.stage or nil end) or {}
  for _, own in ipairs(with_steps) do judge_steps(own, left_out) end
  if by_engine and (before or policy == "auto") then judge_first(instances, left_out, before) end
  if are_judged "openings" then judge_openings(steps.runs(instances, by_engine), left_out) end
  if #left_out == 0 then repeats.left_out = nil end
  return repeats
end


return cold
