-- Steps of a stage: the ranges inside it that each mark one token, where the
-- recipe names them (a stage's `step`), or what was inferred.
--
-- A step lasts from when the GPU could begin it to when its token is there: from
-- the end of the step before it to the end of the last operation that its range
-- launched. The first of a stage could begin with its range, or, where the CPU
-- asked for it ahead of time, when what ran before it had ended. The range itself
-- is CPU time: in a loop that does not wait for its tokens it says nothing of
-- them, only how far ahead the CPU is.
local statistics = require "llmprof.statistics"
local errors = require "llmprof.process.errors"
local rows = require "llmprof.ranks.rows"

local steps = {}

local COLUMNS = { "range", "pid", "tid", "host_start", "host_end", "before", "start", "end",
  "kernels" }


-- The rows of a range on several devices are one step, done when the last is.
local function merge(step, row)
  step.before = math.max(step.before or row.before or step.host_start, row.before or 0)
  step.first = math.min(step.first, row.start)
  step.stop = math.max(step.stop, row["end"])
  step.kernels = step.kernels + row.kernels
end


-- Every range of these names that launched something, by start: { range, pid, tid, host_start,
-- host_stop, before (end of what ran before it; nil: nothing did), first (start of its first
-- operation), stop (ns), kernels }.
local function ranges_named(trace, names)
  local found = errors.check(trace:steps(names))
  local list, by_range = {}, {}
  for number = 1, #found do
    local row = {}
    for _, column in ipairs(COLUMNS) do row[column] = found:get(number, column) end
    local step = by_range[row.range]
    if step then
      merge(step, row)
    else
      step = { range = row.range, host_start = row.host_start, host_stop = row.host_end,
        before = row.before, first = row.start, stop = row["end"], kernels = row.kernels,
        pid = row.pid, thread = rows.thread_of(row.pid, row.tid) }
      by_range[row.range], list[#list + 1] = step, step
    end
  end
  table.sort(list, function(a, b) return a.host_start < b.host_start end)
  return list
end


-- When the GPU could begin what a range launched: with the range, or when what ran before it had
-- ended. What still runs on another stream when its first operation starts is not waited for.
local function begin_of(ran, host_start)
  return math.max(host_start, math.min(ran.before or host_start, ran.first))
end


-- Give each of these instances of ranges their time on the GPU, `start` to `stop`: from
-- when it could begin what they launched to the end of its last operation, or of the
-- range where the CPU is done later. The range's own are `host_start` and `host_stop`.
function steps.project(trace, names, instances)
  local by_range = {}
  for _, ran in ipairs(#names > 0 and ranges_named(trace, names) or {}) do
    by_range[ran.range] = ran
  end
  for _, instance in ipairs(instances) do
    instance.host_start = instance.host_start or instance.start
    instance.host_stop = instance.host_stop or instance.stop
    local first, last
    for _, range in ipairs(instance.ranges) do
      local ran = by_range[range]
      if ran then
        local begin = begin_of(ran, instance.host_start)
        first, last = math.min(first or begin, begin), math.max(last or ran.stop, ran.stop)
      end
    end
    if first then
      instance.stop = math.max(instance.host_stop, last)
      instance.start = math.min(first, instance.stop)
    end
  end
end


-- Do ranges of several threads of a process run side by side? list: by start.
local function threads_overlap(list)
  local last_of = {}
  for _, span in ipairs(list) do
    local last = last_of[span.pid or 0]
    if last and span.thread and span.thread ~= last.thread and span.start < last.stop then
      return true
    end
    if not last or span.stop > last.stop then last_of[span.pid or 0] = span end
  end
  return false
end


-- Rows of a frame within the ranges of instances, once for each: of its process, or of its
-- thread, where there are several, which run side by side.
function steps.within(frame, instances)
  local list = {}
  for i, instance in ipairs(instances) do
    list[i] = { start = instance.host_start or instance.start,
      stop = instance.host_stop or instance.stop, pid = instance.pid,
      thread = instance.thread }
  end
  table.sort(list, function(a, b) return a.start < b.start end)
  local key = list[1] and list[1].pid and "pid" or nil
  if threads_overlap(list) then
    rows.add_threads(frame, "pid", "tid")
    key = "thread"
  end
  return errors.check(frame:within(list, key))
end


-- The first of ranges by start that does not start before `time`.
local function first_from(ranges, time)
  return statistics.first_place(#ranges, function(place)
    return ranges[place].host_start >= time
  end)
end


local function is_inside(range, instance)
  return range.host_stop <= instance.host_stop
    and (not instance.pid or range.pid == instance.pid)
end


-- The ranges of steps within an instance: those of its thread, else of any.
local function ranges_inside(instance, ranges)
  local own, all = {}, {}
  for place = first_from(ranges, instance.host_start), #ranges do
    local range = ranges[place]
    if range.host_start > instance.host_stop then break end
    if is_inside(range, instance) then
      all[#all + 1] = range
      if range.thread == instance.thread then own[#own + 1] = range end
    end
  end
  return #own > 0 and own or all
end


-- The marked steps within an instance, each with its start. ranges: by start.
local function inside(instance, ranges)
  local list = {}
  for _, range in ipairs(ranges_inside(instance, ranges)) do
    local before = list[#list]
    local start = before and before.stop or begin_of(range, range.host_start)
    list[#list + 1] = { range = range.range, start = start, stop = math.max(range.stop, start),
      host_start = range.host_start, host_stop = range.host_stop, kernels = range.kernels }
  end
  return #list > 0 and list or nil
end


-- Give each instance of a stage whose recipe names its steps its `steps`: list of
-- { range, start, stop, host_start, host_stop (ns), kernels }; nil without any. Inferred
-- instances have theirs, of start and stop.
function steps.mark(trace, declared, instances)
  for _, stage in ipairs(declared) do
    local ranges = stage.step and ranges_named(trace, { stage.step })
    for _, instance in ipairs(ranges and instances or {}) do
      if instance.stage == stage.name then instance.steps = inside(instance, ranges) end
    end
  end
end


-- The used instances of a stage that have steps.
function steps.of(found, stage)
  local list = {}
  for _, instance in ipairs(found.instances) do
    if instance.used and instance.stage == stage.name and instance.steps then
      list[#list + 1] = instance
    end
  end
  return list
end


-- Steps of a stage that follow each other: those of an instance, or of an engine, whose
-- instances are each a step, those of one rank without another stage in between. List of
-- { stage, parent, rep, rank, used, steps }; instances: by start.
function steps.runs(instances, by_engine)
  local list, open = {}, {}
  for _, instance in ipairs(instances) do
    local rank = instance.rank or -1
    local run = by_engine and open[rank]
    if not instance.steps then
      if not instance.parent then open[rank] = nil end
    elseif run and run.stage == instance.stage then
      table.move(instance.steps, 1, #instance.steps, #run.steps + 1, run.steps)
    else
      run = { stage = instance.stage, parent = instance.parent, rep = instance.rep,
        rank = instance.rank, used = by_engine and true or instance.used,
        steps = table.move(instance.steps, 1, #instance.steps, 1, {}) }
      list[#list + 1], open[rank] = run, run
    end
  end
  return list
end


-- What lies between the range of one step and that of the next, where the CPU does
-- something else: list of { start, stop } in ns.
local function gaps_of(list)
  local gaps = {}
  for i = 2, #list do
    local from, to = list[i - 1].host_stop or list[i - 1].stop, list[i].host_start or list[i].start
    gaps[i - 1] = { start = from, stop = math.max(to, from) }
  end
  return gaps
end


-- Means per instance: { count, between_ns, idle_ns (of the GPU, between steps),
-- and that idle time by what the CPU did: launch_ns, ... }. instances: of steps.of;
-- split: a classifier of llmprof.analysis.stages.idle_causes. nil without steps.
function steps.between(instances, split)
  if #instances == 0 then return nil end
  local sums = { count = 0, between_ns = 0, idle_ns = 0 }
  for _, instance in ipairs(instances) do
    sums.count = sums.count + #instance.steps
    for _, gap in ipairs(gaps_of(instance.steps)) do
      sums.between_ns = sums.between_ns + gap.stop - gap.start
      for class, ns in pairs(split(gap, instance.pid)) do
        sums[class .. "_ns"] = (sums[class .. "_ns"] or 0) + ns
        sums.idle_ns = sums.idle_ns + ns
      end
    end
  end
  for key, sum in pairs(sums) do sums[key] = sum / #instances end
  return sums
end


return steps
