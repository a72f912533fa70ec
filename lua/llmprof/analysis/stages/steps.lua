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
local check = require("llmprof.process.errors").check
local rows = require "llmprof.ranks.rows"
local lists = require "llmprof.tables.lists"

local steps = {}

local COLUMNS = { "range", "pid", "tid", "host_start", "host_end", "before", "start", "end",
  "kernels" }


-- Every range of these names that launched something, by start: { range, pid, tid, host_start,
-- host_stop, before (end of what ran before it; nil: nothing did), first (start of its first
-- operation), stop (ns), kernels }. The rows of a range on several devices are one step, done when
-- the last is.
local function ranges_named(trace, names)
  local list, by_range = {}, {}
  for _, row in ipairs(rows.list(check(trace:steps(names)), COLUMNS)) do
    local step = by_range[row.range]
    if step then
      step.before = math.max(step.before or row.before or step.host_start, row.before or 0)
      step.first, step.stop = math.min(step.first, row.start), math.max(step.stop, row["end"])
      step.kernels = step.kernels + row.kernels
    else
      step = { range = row.range, host_start = row.host_start, host_stop = row.host_end,
        before = row.before, first = row.start, stop = row["end"], kernels = row.kernels,
        pid = row.pid, thread = rows.thread_of(row.pid, row.tid) }
      by_range[row.range], list[#list + 1] = step, step
    end
  end
  return lists.sort(list, "host_start")
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
  return lists.any(list, function(span)
    local last = last_of[span.pid or 0]
    if not last or span.stop > last.stop then last_of[span.pid or 0] = span end
    return last and span.thread and span.thread ~= last.thread and span.start < last.stop
  end)
end


-- Rows of a frame within the ranges of instances, once for each: of its process, or of its
-- thread, where there are several, which run side by side.
function steps.within(frame, instances)
  local list = lists.map(instances, function(instance)
    return { start = instance.host_start or instance.start,
      stop = instance.host_stop or instance.stop, pid = instance.pid,
      thread = instance.thread }
  end)
  lists.sort(list, "start")
  local key = list[1] and list[1].pid and "pid" or nil
  if threads_overlap(list) then
    rows.add_threads(frame, "pid", "tid")
    key = "thread"
  end
  return check(frame:within(list, key))
end


-- The ranges of steps within an instance: those of its thread, else of any. ranges: by start.
local function ranges_inside(instance, ranges)
  local own, all = {}, {}
  local first = statistics.first_place(#ranges, function(place)
    return ranges[place].host_start >= instance.host_start
  end)
  for place = first, #ranges do
    local range = ranges[place]
    if range.host_start > instance.host_stop then break end
    if range.host_stop <= instance.host_stop
      and (not instance.pid or range.pid == instance.pid) then
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
  return lists.filtered(found.instances, function(instance)
    return instance.used and instance.stage == stage.name and instance.steps
  end)
end


-- Steps of a stage that follow each other: those of an instance, or of an engine, whose
-- instances are each a step, those of one rank without another stage in between. List of
-- { stage, parent, rep, rank, pid, used, steps }; instances: by start.
function steps.runs(instances, by_engine)
  local list, open = {}, {}
  for _, instance in ipairs(instances) do
    local rank = instance.rank or -1
    local run = by_engine and open[rank]
    if not instance.steps then
      if not instance.parent then open[rank] = nil end
    elseif run and run.stage == instance.stage then
      lists.add(run.steps, instance.steps)
    else
      run = { stage = instance.stage, parent = instance.parent, rep = instance.rep,
        rank = instance.rank, pid = instance.pid, used = by_engine and true or instance.used,
        steps = lists.first(instance.steps) }
      list[#list + 1], open[rank] = run, run
    end
  end
  return list
end


-- Means per instance of what lies between the range of one step and that of the next, where the
-- CPU does something else: { count, between_ns, idle_ns (of the GPU, between steps),
-- and that idle time by what the CPU did: launch_ns, ... }. instances: of steps.of;
-- split: a classifier of llmprof.analysis.stages.idle_causes. nil without steps.
function steps.between(instances, split)
  if #instances == 0 then return nil end
  local sums = { count = 0, between_ns = 0, idle_ns = 0 }
  for _, instance in ipairs(instances) do
    local list = instance.steps
    sums.count = sums.count + #list
    for i = 2, #list do
      local from = list[i - 1].host_stop or list[i - 1].stop
      local gap = { start = from, stop = math.max(list[i].host_start or list[i].start, from) }
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


-- ---- kernels that are missing in steps ----

-- Do the steps of a stage run the same kernels? A step of a decode is the same work
-- each time, so that most kernels run equally often in all steps. Where launches were
-- lost together with their calls, nothing else of the capture tells.
--
-- A kernel that runs equally often in nearly all steps is missing in a step that has
-- fewer of it, and fewer kernels in all: one that only gives way to another variant is
-- not. Where too many were lost for that, not one of the frequent kernels is left that
-- runs equally often, though steps are about as long as each other.
--
-- The first and the last step of a decode may do other things, and are not looked at.

local LEAST_STEPS = 8

-- In this part of the steps a kernel runs as often as in most, where it is regular.
local REGULAR = 0.9

-- Kernels of a step that are many, and names of such kernels that tell.
local FREQUENT, ENOUGH = 8, 5

-- A step with fewer kernels than this percentile of the steps has fewer than usual.
local FULL = 75

-- Steps of the same work differ by less than this part of their kernels.
local ALIKE = 0.1


-- By the name of a kernel, how many of `all` steps run it how often: lists of { calls, count }.
local function calls_by_name(counts, all)
  local groups, by_name = lists.grouped(counts:group { by = { "name", "calls" } }, "name")
  for _, own in ipairs(groups) do
    own[#own + 1] = { name = own[1].name, calls = 0, count = all - lists.sum(own, "count") }
  end
  return by_name
end


-- Of the instances of a stage whose ranges of this text mark steps: { kernels (in all of them),
-- missing, irregular (not one frequent kernel runs equally often) }; nil where there are
-- too few steps to tell.
function steps.kernels_lacking(trace, tag, instances)
  local inner = lists.flat(instances, function(instance)
    local own = lists.map(instance.steps or {}, "range")
    return table.move(own, 2, #own - 1, 1, {})
  end)
  if #inner < LEAST_STEPS then return nil end
  local kernels = check(trace:frame "kernels")
  check(trace:label(kernels, "step", { tag }))
  local all = check(kernels:group { by = { "step_range", "name" },
    columns = { { "calls", "count" } } })
  local counts = check(all:where { { "name", "~=", false }, { "step_range", "==", inner } })
  if #counts == 0 then return nil end
  local by_step = counts:group { by = { "step_range" }, sum = { "calls" } }
  local totals = lists.map(by_step, function(step) return step.calls.total end)
  local full = statistics.percentile(totals, FULL)
  local filled = lists.filtered(by_step, function(step) return step.calls.total >= full end)
  local poor = #inner - #filled -- steps with fewer kernels than a full one
  local of_poor = calls_by_name(check(counts:where {
    { "step_range", "~=", lists.map(filled, "step_range") } }), poor)
  local made = { kernels = statistics.sum(totals), missing = 0 }
  local frequent, regular = 0, 0
  for name, own in pairs(calls_by_name(counts, #inner)) do
    local usual = lists.sort(lists.first(own), "-count", "-calls")[1]
    local is_regular = usual.count >= REGULAR * #inner
    local is_frequent = lists.sum(own, function(one) return one.calls * one.count end)
      >= FREQUENT * #inner
    for _, one in ipairs(is_regular and (of_poor[name] or { { calls = 0, count = poor } }) or {}) do
      made.missing = made.missing + one.count * math.max(usual.calls - one.calls, 0)
    end
    frequent = frequent + (is_frequent and 1 or 0)
    regular = regular + (is_frequent and is_regular and 1 or 0)
  end
  local described = statistics.describe(totals)
  local are_alike = described.max - described.min < ALIKE * described.max
  made.irregular = frequent >= ENOUGH and regular == 0 and are_alike
  return made
end


return steps
