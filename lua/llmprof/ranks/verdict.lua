-- One answer: do the ranks wait for each other, for whom and where, or is it the
-- transfers that take the time?
local collectives = require "llmprof.ranks.collectives"
local lists = require "llmprof.tables.lists"
local text = require "llmprof.text"
local json = require "llmprof.json"
local step_groups = require "llmprof.ranks.step_groups"
local tuple = require("llmprof.tables.keys").tuple

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
function verdict.is_waiting(waiting, collective, gpu_time)
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


-- "decode, layer 3", "decode, outside of its layers", "decode, all over the step", nil
-- where no step is known.
local function where_of(place)
  if not place.phase then return nil end
  if place.spread then return place.phase .. ", all over the step" end
  return place.phase .. (place.layer and (", layer %d"):format(place.layer)
    or ", outside of its layers")
end


-- What the late rank did instead, by what it did more of than the others.
local function instead_of(place)
  local work, gap = math.max(place.more_work_ns, 0), math.max(place.more_gap_ns, 0)
  if work + gap == 0 then return nil end
  if place.more_kernels and place.more_kernels >= 1 then
    return ("it ran %s more kernels before it: %s more computing, %s more without a kernel")
      :format(text.number(place.more_kernels, 0), time(work), time(gap))
  elseif work >= gap then
    return ("it computed %s longer before it"):format(time(work))
  end
  return ("its GPU was idle %s longer before it, because the CPU launched later"):format(
    time(gap))
end


-- Of ranks, or what came of them, the one that the others waited for most; nil for none.
function verdict.worst(ranks) return (lists.largest(ranks, "caused_ns")) end


-- The total waiting of the ranks that share this rank's collectives, itself included, and how many
-- they are. Ranks of other groups cannot wait for it.
local function group_of(ranks, of)
  local own = lists.filtered(ranks, function(rank)
    return rank.leader == of.leader and rank.waiting_ns
  end)
  return { waiting_ns = lists.sum(own, "waiting_ns"), ranks = #own }
end


-- The places of a rank, those in steps before others; each holds the others up less
-- than the one before it.
local function places_of(places, rank)
  local own = lists.filtered(places, function(place) return place.rank == rank end)
  return lists.any(own, "phase") and lists.filtered(own, "phase") or own
end


-- The phase in which a rank held the others up most, as a place that is spread over it.
local function worst_phase(places)
  return (lists.largest(lists.map((lists.grouped(places, "phase")), function(own)
    return { rank = own[1].rank, phase = own[1].phase, spread = true,
      caused_ns = lists.sum(own, "caused_ns") }
  end), "caused_ns"))
end


-- Where a rank held the others up: the place that stands out, else the phase.
local function worst_place(all, rank)
  local places = places_of(all, rank)
  local first, second = places[1], places[2]
  if second and first.phase and first.caused_ns < STANDS_OUT * second.caused_ns then
    return worst_phase(places)
  end
  return first
end


-- Of that place, the collective that the rank held up most, from a step on: { place
-- (nil without steps), caused_ns, more_work_ns, more_gap_ns, more_kernels }; of one that
-- is spread over a phase, all of them.
local function worst_collective(all, place, from_step)
  local conditions = { world = place.rank }
  if place.phase then
    conditions.phase = place.phase
    if not place.spread then conditions.layer = place.layer or false end
    if from_step then table.insert(conditions, { "turn", ">=", from_step }) end
  end
  local by = place.phase and not place.spread and { "place" } or {}
  local worst
  for _, group in ipairs(collectives.last(all):where(conditions):group { by = by,
    sum = { "caused", "more_work", "more_gap", "more_kernels" } }) do
    if not worst or group.caused.total > worst.caused_ns then
      worst = { place = group.place, caused_ns = group.caused.total, count = group.count,
        more_work_ns = group.more_work.total or 0, more_gap_ns = group.more_gap.total or 0,
        more_kernels = group.more_kernels.mean }
    end
  end
  return worst
end


local function waiting_for(record, all, worst)
  local place = worst_place(record.places, worst.rank)
  local made = { kind = "waiting", rank = worst.rank, waiting_ns = worst.caused_ns,
    share = worst.caused_ns / record.totals.waiting_ns }
  if not place then return made end
  made.phase, made.layer, made.place_ns = place.phase, place.layer, place.caused_ns
  made.spread = place.spread
  made.from_step = place.phase and not place.spread and collectives.first_turn(all, place)
    or nil
  local worst_one = worst_collective(all, place, made.from_step)
  if worst_one then
    made.first = worst_one.place == 0 and not place.layer or nil
    made.instead = instead_of(worst_one)
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
  local place = made.phase and where_of(made)
  if made.first then place = made.phase .. ", the first collective of a step" end
  local group = made.group and (", %s of what its group of %d ranks waits"):format(
    percent(made.group_share), made.group) or ""
  return ("waiting for rank %d%s%s: %s, %s of that for this rank%s"):format(made.rank,
    place and (" (" .. place) or "", place and ((made.from_step and (", from step %d"):format(
      made.from_step) or "") .. ")") or "", of, percent(made.share), group)
end


local function sentence(made, record)
  return words(made, record) .. (record.uncounted
    and ("; cold starts of %s are left out"):format(record.uncounted) or "")
    .. (record.doubt and "; but " .. record.doubt or "")
end


local function unknown(why)
  return { kind = "unknown", text = "who waits for whom cannot be told: " .. why }
end


-- What it is, without words. share: collectives of all kernel time.
local function judge(record, all, share)
  local totals, worst = record.totals, verdict.worst(record.ranks)
  if share < LITTLE then return { kind = "balanced" } end
  if totals.waiting_ns < WAITING * totals.collective_ns then return { kind = "transfer" } end
  local group = group_of(record.ranks, worst)
  if not is_one(worst.caused_ns, group.waiting_ns, group.ranks)
    or group.waiting_ns < ONE_RANK * totals.waiting_ns then
    return { kind = "waiting", waiting_ns = totals.waiting_ns }
  end
  local made = waiting_for(record, all, worst)
  if group.waiting_ns < totals.waiting_ns then
    made.group, made.group_share = group.ranks, worst.caused_ns / group.waiting_ns
  end
  return made
end


-- The verdict over a record that has ranks, totals and places, and, as far as there are such,
-- uncounted (phases of which something does not count, in words) and doubt (why transfers are
-- none); all: its collectives (of llmprof.ranks.matching, nil without any). {
-- kind ("waiting", "transfer", "balanced" or "unknown"), text, rank, phase, layer, first (the
-- first collective of a step), spread (over the phase: no place stands out), from_step,
-- instead, share (of the waiting), waiting_ns, gpu_share }; nil where there is nothing to say.
-- missing: ranks or files that are not there, in words, which may be those that the others
-- waited for.
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
  made.text = sentence(made, record)
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
  return lists.sort(list, "rank")
end


-- The ranks of a list that meet in collectives with one of them.
local function met_by(list, leader_of, rank)
  return lists.filtered(list, function(entry) return leader_of[entry.rank] == leader_of[rank] end)
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
  local differ = lists.any(group, function(own)
    return own.steps ~= group[1].steps or not own.cpu_ns
  end)
  return not differ and lists.sort(lists.map(group, "start"))[1] or nil
end


local function rank_records(group)
  local first = first_start(group)
  return json.list(lists.map(group, function(own)
    return { rank = own.rank, steps = own.steps, start_ns = first and own.start - first,
      cpu_ns = own.cpu_ns, between_ns = own.between_ns, work_ns = own.work_ns,
      waiting_ns = own.waiting_ns / own.steps }
  end))
end


-- Is it the rank that others wait for most also without the step of each in which they wait for it
-- longest? A first step, to which processes come as they were started, says nothing of others.
local function is_often(caused, rank)
  local function rest(entry) return entry.caused_ns - entry.longest_ns end
  local own, _, most = rest(lists.find(caused, "rank", rank)), lists.largest(caused, rest)
  return own > 0 and own == most
end


-- A phase in which one rank keeps the others waiting; nil where none does. needs: of all its
-- ranks; caused: list of { rank, caused_ns, late_ns, longest_ns (of a step) }; lacks: the next
-- slowest may not be there.
local function phase_of(phase, needs, caused, leader_of, lacks)
  local worst = verdict.worst(caused)
  if not worst then return nil end
  local group = met_by(needs, leader_of, worst.rank)
  local waiting, own = lists.sum(group, "waiting_ns"), lists.find(group, "rank", worst.rank)
  if #group < 2 or not verdict.is_waiting(waiting, lists.sum(group, "collective_ns"),
    lists.sum(group, "gpu_time_ns")) or not is_one(worst.caused_ns, waiting, #group) then
    return nil
  end
  local steps = own and own.steps or 0
  if steps == 0 or steps > 1 and not is_often(caused, worst.rank) then return nil end
  local made = { phase = phase, rank = worst.rank, steps = steps,
    share = math.min(worst.caused_ns / waiting, 1), late_ns = worst.late_ns / steps,
    ranks = rank_records(group) }
  if not lacks then made.gain_ns, made.next_rank = gain_of(group, worst.rank, made.late_ns) end
  return made
end


local COLUMNS = { "start", "cpu", "cpu_after", "busy", "waiting", "comm_time", "gpu_time" }

-- By phase, groups of steps by rank: of those that count and met others in collectives.
local function steps_by_phase(steps)
  local own = steps:where { uncounted = false, { "waiting", "~=", false },
    { "phase", "~=", false } }
  local groups, by_phase = lists.grouped(own:group { by = { "phase", "world" }, sum = COLUMNS },
    "phase")
  local order = lists.map(groups, function(group) return group[1].phase end)
  return by_phase, lists.sort(order, step_groups.place)
end


-- The phases in which one rank keeps the others waiting, in order: list of { phase, rank, steps
-- (of it, that count), share (of the waiting), late_ns (after the next to last, of a step),
-- ranks (of its group: { rank, steps, start_ns, cpu_ns, between_ns, work_ns, waiting_ns }, of a
-- step), gain_ns (of a step, at most), next_rank (the next slowest; both nil where the CPU time
-- is not known, or ranks are missing) }. made: of llmprof.ranks.merged, with what per_step adds;
-- all: collectives that count; ranks: with leader; given:
-- source (what marks the steps), lacks (ranks are missing, or may be).
function verdict.phases(made, all, ranks, given)
  local caused, leader_of = {}, {}
  for _, rank in ipairs(ranks) do leader_of[rank.rank] = rank.leader end
  local entries = {}
  for _, group in ipairs(collectives.last(all):group {
    by = { "phase", "world", "number" }, total = { "caused", "late" } }) do
    local own, phase = group.caused.total, group.phase or false
    caused[phase] = caused[phase] or {}
    local entry = lists.entry(caused[phase], entries, tuple(phase, group.world),
      { rank = group.world, caused_ns = 0, late_ns = 0, longest_ns = 0 })
    entry.caused_ns, entry.late_ns = entry.caused_ns + own, entry.late_ns + group.late.total
    entry.longest_ns = math.max(entry.longest_ns, own)
  end
  local by_phase, order = steps_by_phase(made.steps)
  return json.list(lists.map(order, function(phase)
    return caused[phase] and phase_of(phase, needs_of(by_phase[phase], given.source == "ranges"),
      caused[phase], leader_of, given.lacks)
  end))
end


return verdict
