-- What a replay measures: the steps of a stage, or, where none are known, each time it ran, as
-- ranges of the thread that launched them.
local errors = require "llmprof.process.errors"
local frame = require "llmprof.frame"
local outermost = require "llmprof.analysis.stages.outermost"
local places = require "llmprof.analysis.timeline.positions"
local rank_view = require "llmprof.analysis.serving.ranks"
local stages = require "llmprof.analysis.stages.find"

local units = {}


local check = errors.check


-- The stages of a source of llmprof.query.session, as its report would find them.
function units.stages(source)
  local declared, policy
  if source.results then
    declared, policy = source.declared, source.results.repeats
  else
    declared, policy = outermost.or_inferred(source.trace), "auto"
  end
  return stages.find(source.trace, declared, policy)
end


-- ---- steps ----

local LAUNCHED = { { "count", "count" }, { "first", "min", "api_start" },
  { "last", "max", "api_end" }, { "ran", "min", "start" } }

-- Where the calls lie that launched what runs in steps, on the thread that launched most of it:
-- by row of the step { pid, tid, first, last, ran (its first operation; ns) }.
local function launched_in(ops)
  local groups, made = check(ops:group { by = { "step_row", "launch_pid", "launch_tid" },
    columns = LAUNCHED }), {}
  for i = 1, #groups do
    local row, tid = groups:get(i, "step_row"), groups:get(i, "launch_tid")
    local one = { pid = groups:get(i, "launch_pid"), tid = tid, count = groups:get(i, "count"),
      first = groups:get(i, "first"), last = groups:get(i, "last"), ran = groups:get(i, "ran") }
    if row and tid and one.first and (not made[row] or one.count > made[row].count) then
      made[row] = one
    end
  end
  return made
end


-- Is a step in a part of its phase that figures leave out?
local function is_left_out(by_phase, phase, time)
  for _, span in ipairs(by_phase[phase] or {}) do
    if span.left_out and span.from <= time and time < span.to then return true end
  end
  return false
end


-- Steps by rank and start, of those that count. By engines and ranges that mark them they begin
-- with the range; where they were inferred, with the first call that launched for them.
local function steps_of(trace, found)
  local made = places.find(trace, found)
  local known = made.known
  if not known then return {}, {} end
  local launched = launched_in(places.add_steps(made, check(trace:frame "gpu")))
  local by_phase = rank_view.uncounted(trace, found).by_phase
  local list, phases, last, runs = {}, {}, {}, 0
  for row = 0, #known.frame - 1 do
    local function cell(name) return known.frame:get(row + 1, name) end
    local calls, phase, rank = launched[row], cell "phase", cell "rank"
    local counts = calls and phase and not is_left_out(by_phase, phase, calls.ran)
    if counts then
      local marked = known.time == "api_start"
      local follows = last[rank] and last[rank].stage == phase
        and (marked or phase == "decode") -- of inferred steps only these follow each other
      if not follows then runs = runs + 1 end
      local one = { stage = phase, run = follows and last[rank].run or runs, first = not follows,
        pid = calls.pid, tid = calls.tid, start = marked and cell "start" or calls.first,
        stop = marked and math.max(cell "end", calls.last) or calls.last }
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
  for run, instance in ipairs(found.instances) do
    if instance.thread and instance.used and not instance.parent
      and not has_steps[instance.stage] then
      list[#list + 1] = { stage = instance.stage, run = "stage " .. run, first = true,
        pid = instance.process, tid = instance.tid, start = instance.host_start,
        stop = instance.host_stop }
    end
  end
  return list
end


-- List of { stage, run (what they are steps of), first (in it), pid, tid, start, stop (ns, of
-- the CPU) }; repeats that figures leave out are not in it. found: of units.stages.
function units.list(trace, found)
  if found.whole then return {} end
  local list, has_steps = steps_of(trace, found)
  return add_instances(list, found, has_steps)
end


local COLUMNS = { "pid", "tid", "start", "stop" }

-- Units as a frame of ranges: pid, tid, start, end.
function units.frame(list)
  local columns = {}
  for i, name in ipairs(COLUMNS) do
    local values = {}
    for row, one in ipairs(list) do values[row] = one[name] end
    columns[i] = { name = name == "stop" and "end" or name, type = "integer", values = values }
  end
  return frame.new(#list, columns)
end


return units
