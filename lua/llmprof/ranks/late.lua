-- By phase of the steps that count: the rank that the others wait for in collectives, how late
-- it comes, and what its being as fast as the next slowest could give back.
--
-- That is not what the others wait: a rank that ran ahead waits, and nobody is slower. A step
-- takes at least as long as each rank needs for it, its CPU (the range of the step less the
-- waits in it) or its GPU (what it runs less the waiting in collectives), whichever is longer.
-- What the late rank needs more than the next slowest is the most that can come back.
local json = require "llmprof.json"
local step_groups = require "llmprof.ranks.step_groups"
local verdict = require "llmprof.ranks.verdict"

local late = {}


-- What each rank needs for a step of a phase, and what it waited: list in order of ranks.
-- between: the CPU goes on from one range to the next, as in a program that marks its steps.
local function needs_of(groups, between)
  local list = {}
  for i, group in ipairs(groups) do
    local cpu = group.cpu.mean
    local after = between and cpu and group.cpu_after.median or 0
    list[i] = { rank = group.world, steps = group.count, cpu_ns = cpu, start = group.start.mean,
      between_ns = after > 0 and after or nil,
      work_ns = (group.busy.total - (group.waiting.total or 0)) / group.count,
      waiting_ns = group.waiting.total or 0, collective_ns = group.comm_time.total or 0,
      gpu_time_ns = group.gpu_time.total }
    list[i].needs_ns = cpu and math.max(cpu + after, list[i].work_ns)
  end
  table.sort(list, function(a, b) return a.rank < b.rank end)
  return list
end


local function sum_of(list, field)
  local sum = 0
  for _, own in ipairs(list) do sum = sum + own[field] end
  return sum
end


-- The ranks of a list that meet in collectives with one of them.
local function group_of(list, leader_of, rank)
  local own = {}
  for _, entry in ipairs(list) do
    if leader_of[entry.rank] == leader_of[rank] then own[#own + 1] = entry end
  end
  return own
end


-- What would come back if a rank needed no more than the next slowest, and which that is; nil
-- where the CPU time of one of them is not known.
local function gain_of(group, rank, late_ns)
  local own, next_one
  for _, entry in ipairs(group) do
    if not entry.needs_ns then return nil end
    if entry.rank == rank then
      own = entry
    elseif not next_one or entry.needs_ns > next_one.needs_ns then
      next_one = entry
    end
  end
  if not own or not next_one then return nil end
  return math.max(math.min(own.needs_ns - next_one.needs_ns, late_ns), 0), next_one.rank
end


-- When the ranges of the first rank begin, on the mean; nil where ranks have more or fewer steps
-- than others, which are then not the same ones, or steps are no ranges.
local function first_start(group)
  local first = math.huge
  for _, own in ipairs(group) do
    if own.steps ~= group[1].steps or not own.cpu_ns then return nil end
    first = math.min(first, own.start)
  end
  return first
end


local function rank_records(group)
  local list, first = json.list {}, first_start(group)
  for i, own in ipairs(group) do
    list[i] = { rank = own.rank, steps = own.steps, start_ns = first and own.start - first,
      cpu_ns = own.cpu_ns, between_ns = own.between_ns, work_ns = own.work_ns,
      waiting_ns = own.waiting_ns / own.steps }
  end
  return list
end


-- A phase in which one rank keeps the others waiting; nil where none does. needs: of all its
-- ranks; caused: list of { rank, caused_ns, late_ns }; lacks: the next slowest may not be there.
local function phase_of(phase, needs, caused, leader_of, lacks)
  local worst = verdict.worst(caused)
  if not worst then return nil end
  local group = group_of(needs, leader_of, worst.rank)
  local waiting, steps = sum_of(group, "waiting_ns"), 0
  if #group < 2 or not verdict.is_waiting(waiting, sum_of(group, "collective_ns"),
    sum_of(group, "gpu_time_ns")) or not verdict.is_one(worst.caused_ns, waiting, #group) then
    return nil
  end
  for _, own in ipairs(group) do
    if own.rank == worst.rank then steps = own.steps end
  end
  if steps == 0 then return nil end
  local made = { phase = phase, rank = worst.rank, steps = steps,
    share = math.min(worst.caused_ns / waiting, 1), late_ns = worst.late_ns / steps,
    ranks = rank_records(group) }
  if not lacks then made.gain_ns, made.next_rank = gain_of(group, worst.rank, made.late_ns) end
  return made
end


local COLUMNS = { "start", "cpu", "cpu_after", "busy", "waiting", "comm_time", "gpu_time" }

-- By phase, groups of steps by rank: of those that count and met others in collectives.
local function steps_by_phase(steps)
  local by_phase, order = {}, {}
  local own = steps:where { uncounted = false, { "waiting", "~=", false },
    { "phase", "~=", false } }
  for _, group in ipairs(own:group { by = { "phase", "world" }, sum = COLUMNS }) do
    if not by_phase[group.phase] then
      by_phase[group.phase], order[#order + 1] = {}, group.phase
    end
    table.insert(by_phase[group.phase], group)
  end
  table.sort(order, step_groups.before)
  return by_phase, order
end


-- The phases in which one rank keeps the others waiting, in order: list of { phase, rank, steps
-- (of it, that count), share (of the waiting), late_ns (after the next to last, of a step),
-- ranks (of its group: { rank, steps, start_ns, cpu_ns, between_ns, work_ns, waiting_ns }, of a
-- step), gain_ns (of a step, at most), next_rank (the next slowest; both nil where the CPU time
-- is not known, or ranks are missing) }. made: of llmprof.ranks.merged, with what per_step adds;
-- last: what came last, of llmprof.ranks.partition, that counts; ranks: with leader; given:
-- source (what marks the steps), lacks (ranks are missing, or may be).
function late.phases(made, last, ranks, given)
  local list, caused, leader_of = json.list {}, {}, {}
  for _, rank in ipairs(ranks) do leader_of[rank.rank] = rank.leader end
  for _, group in ipairs(last:group { by = { "phase", "world" }, sum = { "caused", "late" } }) do
    caused[group.phase or false] = caused[group.phase or false] or {}
    table.insert(caused[group.phase or false], { rank = group.world,
      caused_ns = group.caused.total, late_ns = group.late.total })
  end
  local by_phase, order = steps_by_phase(made.steps)
  for _, phase in ipairs(order) do
    list[#list + 1] = caused[phase] and phase_of(phase,
      needs_of(by_phase[phase], given.source == "ranges"), caused[phase], leader_of,
      given.lacks) or nil
  end
  return list
end


return late
