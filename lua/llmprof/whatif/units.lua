-- What a replay measures: the steps of a stage, or, where none are known, each time it ran, as
-- ranges of the thread that launched them.
local errors = require "llmprof.process.errors"
local frame = require "llmprof.frame"
local outermost = require "llmprof.analysis.stages.outermost"
local places = require "llmprof.analysis.timeline.positions"
local rank_view = require "llmprof.analysis.serving.ranks"
local stages = require "llmprof.analysis.stages.find"
local lists = require "llmprof.tables.lists"
local rows = require "llmprof.ranks.rows"

local units = {}


local check = errors.check


-- Of a report without a recipe the results do not say which ranges were steps: the trace does.
local function with_steps(source)
  local timeline = (source.results.source or {}).timeline
  local seen = timeline and timeline.from == "files" and outermost.or_inferred(source.trace) or {}
  return lists.map(source.declared, function(one)
    return not one.parent and lists.find(seen, "name", one.name) or one
  end)
end


-- The stages of a source of llmprof.query.session, as its report would find them.
function units.stages(source)
  local declared, policy
  if source.results then
    declared, policy = with_steps(source), source.results.repeats
  else
    declared, policy = outermost.or_inferred(source.trace), "auto"
  end
  return stages.find(source.trace, declared, policy)
end


-- ---- steps ----

local LAUNCHED = { { "count", "count" }, { "first", "min", "api_start" },
  { "last", "max", "api_end" }, { "ran", "min", "start" } }

-- Where the calls lie that launched what runs in steps, or in all of a process, on the thread that
-- launched most of it: by row of the step, or by process (by: the column that says it), {
-- launch_pid, launch_tid, count, first, last, ran (its first operation; ns) }.
local function launched_in(ops, by)
  local threads, made = { "launch_pid", "launch_tid" }, {}
  if by ~= "launch_pid" then table.insert(threads, 1, by) end
  local groups = check(ops:group { by = threads, columns = LAUNCHED })
  for _, one in ipairs(rows.list(groups, rows.names(groups))) do
    local key = one[by]
    if key and one.launch_tid and one.first and (not made[key] or one.count > made[key].count) then
      made[key] = one
    end
  end
  return made
end


-- Is a time in one of the parts of a phase that figures leave out?
local function is_left_out(spans, time)
  return lists.any(spans or {}, function(span)
    return span.left_out and span.from <= time and time < span.to
  end)
end


-- Steps by rank and start, of those that count. By engines and ranges that mark them they begin
-- with the range; where they were inferred, with the first call that launched for them.
local function steps_of(trace, found)
  local made = places.find(trace, found)
  local known = made.known
  if not known then return {}, {} end
  -- an export has its ranges in any order
  known.frame = check(known.frame:sort { { "rank" }, { "start" } })
  local launched = launched_in(places.add_steps(made, check(trace:frame "gpu")), "step_row")
  local by_phase = rank_view.uncounted(trace, found).by_phase
  local list, phases, last = {}, {}, {}
  for i, step in ipairs(rows.list(known.frame, { "phase", "rank", "start", "end" })) do
    local calls, phase, rank = launched[i - 1], step.phase, step.rank or -1
    if calls and phase and not is_left_out(by_phase[phase], calls.ran) then
      local marked = known.time == "api_start"
      local follows = last[rank] and last[rank].stage == phase
        and (marked or phase == "decode") -- of inferred steps only these follow each other
      local one = { stage = phase, first = not follows, pid = calls.launch_pid,
        tid = calls.launch_tid, start = marked and step.start or calls.first,
        stop = marked and math.max(step["end"], calls.last) or calls.last }
      list[#list + 1], last[rank], phases[phase] = one, one, true
    else
      last[rank] = nil
    end
  end
  return list, phases
end


-- ---- stages without steps ----

-- Every time that a stage which has no steps ran and counts.
local function add_instances(list, found, has_steps)
  for _, instance in ipairs(found.instances) do
    if instance.thread and instance.used and not instance.parent
      and not has_steps[instance.stage] then
      list[#list + 1] = { stage = instance.stage, first = true, pid = instance.process,
        tid = instance.tid, start = instance.host_start, stop = instance.host_stop }
    end
  end
  return list
end


-- ---- the whole run ----

-- One for each process: from the first to the last call of the thread that launched most.
local function whole_run(trace)
  local list = {}
  for pid, own in pairs(launched_in(check(trace:frame "gpu"), "launch_pid")) do
    list[#list + 1] = { stage = stages.WHOLE_RUN, first = true, pid = pid, tid = own.launch_tid,
      start = own.first, stop = own.last }
  end
  return lists.sort(list, "pid")
end


-- Number the runs of each stage in a process.
local function number_runs(list)
  local turns = {}
  for _, one in ipairs(list) do
    local key = ("%s %s"):format(one.pid, one.stage)
    turns[key] = (turns[key] or 0) + (one.first and 1 or 0)
    one.turn = math.max(turns[key], 1)
  end
  return list
end


-- The last step of a run has what its stage does after it, too, as its `tail`: to when (ns).
local function add_tails(list, found)
  local _, by_stage = lists.grouped(found.instances, function(instance)
    return instance.thread and instance.host_stop
      and ("%s %s %s"):format(instance.stage, instance.process, instance.tid) or nil
  end)
  for i, one in ipairs(list) do
    local next_one, own = list[i + 1], ("%s %s %s"):format(one.stage, one.pid, one.tid)
    local is_last = not next_one or next_one.first
    for _, instance in ipairs(is_last and by_stage[own] or {}) do
      if instance.host_start <= one.start and one.stop < instance.host_stop then
        one.tail = instance.host_stop
      end
    end
  end
end


-- Threads that launch for those of the units of their process, as autograd's do for the one that
-- called it: those that have no units.
local function add_helpers(list, trace)
  local own, helpers = {}, {}
  for _, one in ipairs(list) do own[("%s %s"):format(one.pid, one.tid)] = true end
  local groups = check(trace:frame "gpu"):group { by = { "launch_pid", "launch_tid" } }
  for _, group in ipairs(groups) do
    local pid, tid = group.launch_pid, group.launch_tid
    if pid and tid and not own[("%s %s"):format(pid, tid)] then
      helpers[pid] = helpers[pid] or {}
      table.insert(helpers[pid], tid)
    end
  end
  for _, one in ipairs(list) do one.helpers = helpers[one.pid] end
end


-- List of { stage, turn (of its run of steps among those of the stage in the process), first (in
-- that), pid, tid, start, stop (ns, of the CPU), tail (nil: none), helpers (threads that launch for
-- this one; nil: none) }, of each thread by start; repeats that figures leave out are not in it.
-- found: of units.stages.
function units.list(trace, found)
  local list, has_steps
  if found.whole then
    list = whole_run(trace)
  else
    list, has_steps = steps_of(trace, found)
    lists.sort(add_instances(list, found, has_steps), "pid", "tid", "start")
    add_tails(list, found)
  end
  add_helpers(list, trace)
  return number_runs(list)
end


-- When what belongs to the unit `i` of a list by start begins: once those before it are done.
local function edge(list, i)
  local start, done = list[i].start, nil
  for k = 1, i - 1 do
    if list[k].stop <= start then done = math.max(done or list[k].stop, list[k].stop) end
  end
  return done and math.min(done + 1, start) or start
end


-- From when to when the units from the first of a stage (nil: of any) on are at most so many, as
-- whole runs if one fits; nil where there is none. list: units of all processes on one clock.
function units.window(list, stage, most)
  table.sort(list, function(a, b) return a.start < b.start end)
  local first = 1
  while list[first] and stage and list[first].stage ~= stage do first = first + 1 end
  local one, last = list[first], first + most
  if not one then return nil end
  for i = first + 1, math.min(last, #list) do
    local other = list[i]
    if other.first and other.stage == one.stage and other.thread == one.thread then last = i end
  end
  return edge(list, first), list[last] and edge(list, last) or math.maxinteger
end


-- Those of a list that lie in a time; the first of each process follows none.
function units.within(list, from, to)
  local made, seen = {}, {}
  for _, one in ipairs(list) do
    if one.start >= from and one.stop <= to then
      local own = setmetatable({ first = one.first or not seen[one.pid] }, { __index = one })
      made[#made + 1], seen[one.pid] = own, true
    end
  end
  return made
end


-- What the ranges of units extend over: themselves; these with the tail; what lies before them,
-- from the end of the one that they follow; all of it; or up to the next one that follows.
local extents = {}

function extents.own(one) return one.start, one.stop end

function extents.with_tail(one) return one.start, one.tail or one.stop end

function extents.before(one, previous)
  if previous then return previous.stop + 1, one.start + 1 end
end

function extents.whole(one, previous)
  return previous and previous.stop + 1 or one.start, (one.tail or one.stop) + 1
end

function extents.until_next(one, _, next_one)
  return one.start, next_one and next_one.start or one.stop
end


-- Ranges, by column lists of integers, as a frame.
function units.frame_of(ranges)
  local columns = {}
  for name, values in pairs(ranges) do
    columns[#columns + 1] = { name = name, type = "integer", values = values }
  end
  return frame.new(#ranges.pid, columns)
end


-- Units of a stage, or of all (nil), as a frame of ranges: pid, tid, start, end. list: of
-- units.list; extent: own (nil), with_tail, before (and tails), whole or until_next; turn: of these
-- runs alone; helped: on the threads that launch for them, too.
function units.frame(list, stage, extent, turn, helped)
  local ranges, extend = { pid = {}, tid = {}, start = {}, ["end"] = {} }, extents[extent or "own"]
  local add
  function add(one, start, stop, tid)
    local row = #ranges.pid + 1
    ranges.pid[row], ranges.tid[row] = one.pid, tid or one.tid
    ranges.start[row], ranges["end"][row] = start, stop
    for _, other in ipairs(helped and not tid and one.helpers or {}) do
      add(one, start, stop, other)
    end
  end
  for i, one in ipairs(list) do
    local next_one = list[i + 1]
    if (not stage or one.stage == stage) and (not turn or one.turn == turn) then
      local start, stop = extend(one, not one.first and list[i - 1] or nil,
        next_one and not next_one.first and next_one or nil)
      if start then add(one, start, stop) end
      if extent == "before" and one.tail then add(one, one.stop + 1, one.tail + 1) end
    end
  end
  return units.frame_of(ranges)
end


return units
