-- One answer: do the ranks wait for each other, for whom and where, or is it the
-- transfers that take the time?
local collectives = require "llmprof.ranks.collectives"
local lists = require "llmprof.tables.lists"
local text = require "llmprof.text"
local json = require "llmprof.json"
local step_groups = require "llmprof.ranks.step_groups"

local verdict = {}

-- Collectives are mostly waiting from this share of their time on.
local WAITING = 0.5

-- One rank is blamed if it causes this share of its group's waiting, and its group has this share
-- of all waiting. Of two ranks one causes half anyway: there it must be STANDS_OUT times half.
local ONE_RANK = 0.5

-- A place stands out if it has this many times what the next one has.
local STANDS_OUT = 1.5

-- Collectives below this share of the GPU time matter little.
local LITTLE = 0.1

-- Nothing is said where fewer of the collectives than this were matched.
local MATCHED = 0.9


-- Is time in collectives mostly waiting, and do they matter? All in ns of the same steps.
local function is_waiting(waiting, collective, gpu_time)
  return collective >= LITTLE * gpu_time and waiting >= WAITING * collective and waiting > 0
end


-- Is it one rank of this many that the others wait for?
local function is_one(caused, waiting, ranks)
  return caused >= math.max(ONE_RANK, STANDS_OUT / ranks) * waiting
end


local function time(ns)
  return ns >= 1e9 and text.duration(ns) or text.number(ns / 1e6, 2) .. " ms"
end
local function percent(share) return text.number(share * 100, 0) .. " %" end


-- "decode, layer 3, from step 8", "decode, outside of its layers", "decode, all over the step",
-- nil where no step is known.
local function where_of(made)
  if not made.phase then return nil end
  local where = made.first and "the first collective of a step" or made.spread
    and "all over the step" or made.layer and ("layer %d"):format(made.layer)
    or "outside of its layers"
  return ("%s, %s%s"):format(made.phase, where,
    made.from_step and (", from step %d"):format(made.from_step) or "")
end


-- What the late rank did instead, by what it did more of than the others. group: of collectives.
local function instead_of(group)
  local work, gap = math.max(group.more_work.total or 0, 0), math.max(group.more_gap.total or 0, 0)
  if work + gap == 0 then return nil end
  if (group.more_kernels.mean or 0) >= 1 then
    return ("it ran %s more kernels before it: %s more computing, %s more without a kernel")
      :format(text.number(group.more_kernels.mean, 0), time(work), time(gap))
  elseif work >= gap then
    return ("it computed %s longer before it"):format(time(work))
  end
  return ("its GPU was idle %s longer before it, because the CPU launched later"):format(
    time(gap))
end


-- Of ranks, or what came of them, the one that the others waited for most; nil for none.
local function worst_of(ranks) return (lists.largest(ranks, "caused_ns")) end


-- Those of a list that share collectives with a rank, itself included: others cannot wait for it.
local function group_of(list, leader)
  return lists.filtered(list, function(entry) return entry.leader == leader end)
end


-- Where a rank held the others up, in steps if it did so there: the place that stands out, else the
-- phase, all over it. Each place holds the others up less than the one before it.
local function worst_place(all, rank)
  local own = lists.filtered(all, function(place) return place.rank == rank end)
  if lists.any(own, "phase") then own = lists.filtered(own, "phase") end
  local first, second = own[1], own[2]
  if not second or not first.phase or first.caused_ns >= STANDS_OUT * second.caused_ns then
    return first
  end
  local worst, caused = lists.largest((lists.grouped(own, "phase")), function(places)
    return lists.sum(places, "caused_ns")
  end)
  return { rank = rank, phase = worst[1].phase, spread = true, caused_ns = caused }
end


-- For the rank that the others waited for most: where, and what it did instead before the
-- collective that it held up most there, before all of them where no place stands out.
local function waiting_for(record, all, worst)
  local place = worst_place(record.places, worst.rank)
  local made = { kind = "waiting", rank = worst.rank, waiting_ns = worst.caused_ns,
    share = math.min(worst.caused_ns / record.totals.waiting_ns, 1) }
  if not place then return made end
  made.phase, made.layer, made.place_ns = place.phase, place.layer, place.caused_ns
  made.spread = place.spread
  local wanted, by = { world = place.rank, phase = place.phase }, {}
  if place.phase and not place.spread then
    made.from_step = collectives.first_turn(all, place)
    by, wanted.layer = { "place" }, place.layer or false
    if made.from_step then table.insert(wanted, { "turn", ">=", made.from_step }) end
  end
  local group = lists.largest(collectives.last(all):where(wanted):group { by = by,
    sum = { "caused", "more_work", "more_gap", "more_kernels" } },
    function(own) return own.caused.total end)
  if group then
    made.first = group.place == 0 and not place.layer or nil
    made.instead = instead_of(group)
  end
  return made
end


local function words(made, record)
  local totals = record.totals
  local of = ("%s of %s in collectives are waiting"):format(time(totals.waiting_ns),
    time(totals.collective_ns))
  if made.kind == "transfer" then
    return ("transfer-bound: collectives take %s of the GPU time, and %s of their %s are no "
      .. "waiting"):format(percent(made.gpu_share), time(totals.collective_ns - totals.waiting_ns),
      time(totals.collective_ns))
  elseif made.kind == "balanced" then
    return ((record.pipeline and "balanced within each stage" or "balanced")
      .. ": collectives take %s of the GPU time, %s of it waiting"):format(
      percent(made.gpu_share), time(totals.waiting_ns))
  elseif not made.rank then
    return ("waiting, for no one rank alone: %s"):format(of)
  end
  local place = where_of(made)
  local group = made.group and (", %s of what its group of %d ranks waits"):format(
    percent(made.group_share), made.group) or ""
  return ("waiting for rank %d%s: %s, %s of that for this rank%s"):format(made.rank,
    place and (" (%s)"):format(place) or "", of, percent(made.share), group)
end


local function unknown(why)
  return { kind = "unknown", text = "who waits for whom cannot be told: " .. why }
end


-- What it is, without words. share: collectives of all kernel time.
local function judge(record, all, share)
  local totals, worst = record.totals, worst_of(record.ranks)
  if share < LITTLE then return { kind = "balanced" } end
  if totals.waiting_ns < WAITING * totals.collective_ns then return { kind = "transfer" } end
  local group = lists.filtered(group_of(record.ranks, worst.leader), "waiting_ns")
  local waiting = lists.sum(group, "waiting_ns")
  if not is_one(worst.caused_ns, waiting, #group) or waiting < ONE_RANK * totals.waiting_ns then
    return { kind = "waiting", waiting_ns = totals.waiting_ns }
  end
  local made = waiting_for(record, all, worst)
  if waiting < totals.waiting_ns then
    made.group, made.group_share = #group, math.min(worst.caused_ns / waiting, 1)
  end
  return made
end


-- The verdict over a record that has ranks, totals and places, and, as far as there are such,
-- uncounted (phases of which something does not count, in words) and doubt (why transfers are
-- none), as results.json has it; nil where there is nothing to say. all: its collectives (of
-- llmprof.ranks.merged, nil without any); missing: ranks or files that are not there, in words,
-- which may be those that the others waited for.
function verdict.of(record, all, missing)
  local totals = record.totals
  if not all then
    return #record.ranks > 1 and unknown "there are no collectives in the capture" or nil
  elseif #record.ranks < 2 then
    return unknown "one rank alone was captured"
  elseif totals.matched == 0 or (totals.count - totals.unmatched) < MATCHED * totals.count then
    return unknown(("%s of %s kernels of collectives have no counterpart on another rank"):format(
      text.count(totals.unmatched), text.count(totals.count)))
  end
  local share = record.gpu_time_ns > 0 and totals.collective_ns / record.gpu_time_ns or 0
  local made = judge(record, all, share)
  if made.kind == "transfer" and #missing > 0 then
    return unknown(("%s is missing: what the others waited for it looks like transfer")
      :format(table.concat(missing, ", ")))
  end
  if made.kind ~= "waiting" and record.doubt then return unknown(record.doubt) end
  made.gpu_share = share
  made.text = words(made, record) .. (record.uncounted
    and ("; cold starts of %s are left out"):format(record.uncounted) or "")
    .. (record.doubt and "; but " .. record.doubt or "")
  return made
end


-- By phase of the steps that count: the rank that the others wait for in collectives, how late
-- it comes, and what its being as fast as the next slowest could give back.
--
-- That is not what the others wait: a rank that ran ahead waits, and nobody is slower. A step
-- takes at least as long as each rank needs for it, its CPU (the range of the step less the
-- waits in it) or its GPU (what it runs less the waiting in collectives), whichever is longer.
-- What the late rank needs more than the next slowest is the most that can come back.

-- What each rank needs for a step of a phase, and what it waited: list in order of ranks.
-- between: the CPU goes on from one range to the next, as in a program that marks its steps.
local function needs_of(groups, leader_of, between)
  local list = {}
  for i, group in ipairs(groups) do
    local cpu = group.cpu.mean
    local after = between and cpu and group.cpu_after.median or 0
    list[i] = { rank = group.world, leader = leader_of[group.world], steps = group.count,
      cpu_ns = cpu, start = group.start.mean, between_ns = after > 0 and after or nil,
      work_ns = (group.busy.total - (group.waiting.total or 0)) / group.count,
      waiting_ns = group.waiting.total or 0, collective_ns = group.comm_time.total or 0,
      gpu_time_ns = group.gpu_time.total }
    list[i].needs_ns = cpu and math.max(cpu + after, list[i].work_ns)
  end
  return lists.sort(list, "rank")
end


-- Of each rank of a group what results tell. When its ranges begin is told where all have as many
-- steps, which are then the same ones, and these are ranges.
local function rank_records(group)
  local differ = lists.any(group, function(own)
    return own.steps ~= group[1].steps or not own.cpu_ns
  end)
  local first = not differ and lists.sort(lists.map(group, "start"))[1]
  return json.list(lists.map(group, function(own)
    return { rank = own.rank, steps = own.steps, start_ns = first and own.start - first or nil,
      cpu_ns = own.cpu_ns, between_ns = own.between_ns, work_ns = own.work_ns,
      waiting_ns = own.waiting_ns / own.steps }
  end))
end


-- Is it the rank that others wait for most also without the step of each in which they wait for it
-- longest? A first step, to which processes come as they were started, says nothing of others.
local function is_often(caused, worst)
  local function rest(entry) return entry.caused_ns - entry.longest_ns end
  return rest(worst) > 0 and rest(worst) == select(2, lists.largest(caused, rest))
end


-- A phase in which one rank keeps the others waiting; nil where none does. needs: of all its
-- ranks; caused: list of { rank, caused_ns, late_ns, longest_ns (of a step) }; lacks: the next
-- slowest may not be there. What would come back is known where the CPU time of all is.
local function phase_of(phase, needs, caused, leader_of, lacks)
  local worst = worst_of(caused)
  local group = group_of(needs, leader_of[worst.rank])
  local waiting, own = lists.sum(group, "waiting_ns"), lists.find(group, "rank", worst.rank)
  if #group < 2 or not own or not is_waiting(waiting, lists.sum(group, "collective_ns"),
    lists.sum(group, "gpu_time_ns")) or not is_one(worst.caused_ns, waiting, #group)
    or own.steps > 1 and not is_often(caused, worst) then
    return nil
  end
  local made = { phase = phase, rank = worst.rank, steps = own.steps,
    share = math.min(worst.caused_ns / waiting, 1), late_ns = worst.late_ns / own.steps,
    ranks = rank_records(group) }
  local _, known = lists.parted(group, "needs_ns")
  if not lacks and #known == 0 then
    local next_one, needed = lists.largest(group, function(entry)
      return entry ~= own and entry.needs_ns
    end)
    made.gain_ns = math.max(math.min(own.needs_ns - needed, made.late_ns), 0)
    made.next_rank = next_one.rank
  end
  return made
end


local COLUMNS = { "start", "cpu", "cpu_after", "busy", "waiting", "comm_time", "gpu_time" }

-- What others waited for each rank in a phase. groups: of collectives by rank and step.
local function caused_by(groups)
  return lists.map((lists.grouped(groups, "world")), function(steps)
    local function caused(step) return step.caused.total end
    return { rank = steps[1].world, caused_ns = lists.sum(steps, caused),
      late_ns = lists.sum(steps, function(step) return step.late.total end),
      longest_ns = select(2, lists.largest(steps, caused)) }
  end)
end


-- The phases in which one rank keeps the others waiting, in order, as results.json has them; what
-- it gives back is absent where the CPU time is not known, or ranks are missing. made: of
-- llmprof.ranks.merged, with what step_groups.add_waiting adds; all: collectives that count;
-- ranks: with leader; given: source (what marks the steps), lacks (ranks are missing, or may be).
function verdict.phases(made, all, ranks, given)
  local leader_of = {}
  for _, rank in ipairs(ranks) do leader_of[rank.rank] = rank.leader end
  local _, caused = lists.grouped(collectives.last(all):group {
    by = { "phase", "world", "number" }, total = { "caused", "late" } }, "phase")
  local met = made.steps:where { uncounted = false, { "waiting", "~=", false },
    { "phase", "~=", false } }
  local phases = lists.grouped(met:group { by = { "phase", "world" }, sum = COLUMNS }, "phase")
  lists.sort(phases, function(groups) return step_groups.place(groups[1].phase) end)
  return json.list(lists.map(phases, function(groups)
    local phase = groups[1].phase
    return caused[phase] and phase_of(phase, needs_of(groups, leader_of,
      given.source == "ranges"), caused_by(caused[phase]), leader_of, given.lacks) or nil
  end))
end


return verdict
