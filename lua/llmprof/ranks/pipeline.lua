-- Pipeline parallel: which ranks are of which stage, and its bubbles, the time in
-- which a stage computes nothing while another one does.
local collectives = require "llmprof.ranks.collectives"
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"
local pack = require "llmprof.pack"
local rows = require "llmprof.ranks.rows"
local text = require "llmprof.text"

local pipeline = {}

-- Pauses between a rank's kernels that are shorter are those of launching. ns.
local SHORTEST = 10000

-- Stages without collectives of their own work at the same time for less than this part of what
-- they work; else no more is known than that they are ranks.
local AT_ONCE = 0.5


-- When each rank's GPU worked on something else than sends and receives, as a frame of
-- rank, start and end (ns); nil where there are none of these. kernels: with rank;
-- moved: those of collectives, of found.of_kernels.
function pipeline.busy(kernels, moved, list)
  if #moved:where { p2p = 1 } == 0 then return nil end
  local frames = {}
  for i, member in ipairs(list) do
    local worked = kernels:where { rank = member.rank, p2p = 0 }:union()
    local first, last = worked:span()
    if first then
      local idle = worked:gaps(first, last, SHORTEST)
      worked = idle:gaps(first, last)
    end
    frames[i] = rows.extend(worked:frame(), {}, { { name = "rank", type = "integer",
      get = function() return member.rank end } })
  end
  return pack.join(frames)
end


-- ---- which rank is of which stage ----

-- Ranks that meet in the collectives of layers, as lists; what else all ranks share, such
-- as the broadcast of a token, is left out, and what is rarer than sends and receives, such as
-- a barrier.
local of_layers = { ["all-reduce"] = true, ["reduce-scatter"] = true }

local function meeting(all)
  local of, found, sent = {}, {}, {}
  for _, group in ipairs(all:where { p2p = 1 }:group { by = { "world" } }) do
    sent[group.world] = group.count
  end
  local met = all:where { { "instance", "~=", false } }
  for _, group in ipairs(met:group { by = { "key", "short_name", "world" } }) do
    if of_layers[collectives.describe(group.short_name, group.short_name).op]
      and group.count >= (sent[group.world] or 0) then
      of[group.key] = of[group.key] or {}
      table.insert(of[group.key], group.world)
    end
  end
  for _, list in pairs(of) do found[#found + 1] = lists.sort(list) end
  return found
end


-- Give all ranks that meet somewhere one number: by rank, the least of them.
local function joined(ranks, sets)
  local least = {}
  for _, rank in ipairs(ranks) do least[rank.rank] = rank.rank end
  for _ = 1, #ranks do
    for _, list in ipairs(sets) do
      local smallest = math.huge
      for _, rank in ipairs(list) do smallest = math.min(smallest, least[rank]) end
      for _, rank in ipairs(list) do least[rank] = smallest end
    end
  end
  return least
end


-- Number the sets of ranks by when the first of them began to work.
local function in_order(least, begun)
  local first, order, place = {}, {}, {}
  for rank, key in pairs(least) do
    if begun[rank] then first[key] = math.min(first[key] or math.huge, begun[rank]) end
  end
  for key in pairs(first) do order[#order + 1] = key end
  lists.sort(order, function(key) return first[key] end, function(key) return key end)
  for i, key in ipairs(order) do place[key] = i - 1 end
  return place, #order
end


local function by_names(ranks)
  return #lists.map(ranks, "pp") == #ranks and select(2, lists.largest(ranks, "pp")) > 0
end


-- Do sends and receives of their own, or a name that is cut behind "PP", say that these
-- are stages of a pipeline, though no rank meets another in a collective?
local function is_said(ranks, all)
  local function is_cut(rank) return (rank.process or ""):find "_PP$" end
  if lists.any(ranks, is_cut) then return true end
  local calls = lists.set(lists.map(all:group { by = { "said" } }, "said"))
  return calls.ncclSend and calls.ncclRecv or false
end


-- What both of two sets cover, within [from, to).
local function both(a, b, from, to)
  local outside = a:gaps(from, to):join(b:gaps(from, to))
  return outside:gaps(from, to)
end


-- Do ranks that all send and receive take turns? Those that run the same on other data, as ranks of
-- expert parallel, work at the same time.
local function take_turns(ranks, all, busy)
  local sets = {}
  for i, rank in ipairs(ranks) do
    if #all:where { p2p = 1, world = rank.rank } == 0 then return false end
    sets[i] = busy:where { world = rank.rank }:union()
  end
  for i, one in ipairs(sets) do
    local other = sets[i % #sets + 1]
    local from, to = one:join(other):span()
    local least = math.min(one:covered(), other:covered())
    if least == 0 or both(one, other, from, to):covered() > AT_ONCE * least then return false end
  end
  return true
end


local function begun_by(busy)
  local begun = {}
  for _, group in ipairs(busy:group { by = { "world" }, sum = { "start" } }) do
    begun[group.world] = group.start.min
  end
  return begun
end


-- How ranks are known to be stages of a pipeline ("names", "collectives": those that meet in
-- collectives are of one stage, or "turns": none meet, and they work in turn), having set their
-- `pp`; nil where nothing says that they are. all: matched collectives, with p2p and said; busy:
-- of all ranks.
function pipeline.find(ranks, all, busy)
  if not all or not busy or #ranks < 2 then return nil end
  if by_names(ranks) then return "names" end
  local sets = meeting(all)
  local least = joined(ranks, sets)
  local place, count = in_order(least, begun_by(busy))
  local in_turn = #sets == 0 and not is_said(ranks, all)
  if count < 2 or (in_turn and not take_turns(ranks, all, busy)) then return nil end
  if #sets > 0 and count == #ranks then return nil end
  for _, rank in ipairs(ranks) do rank.pp = place[least[rank.rank]] end
  return in_turn and "turns" or "collectives"
end


-- ---- bubbles ----

local function union_of(sets)
  local made = sets[1]
  for i = 2, #sets do made = made:join(sets[i]) end
  return made
end


-- By rank what the rows of a frame cover.
local function sets_of(frame, ranks)
  local sets = {}
  for _, rank in ipairs(ranks) do sets[rank.rank] = frame:where { world = rank.rank }:union() end
  return sets
end


-- What all ranks of the pipeline but those of one stage work on; nil for none.
local function of_others(ranks, sets, stage)
  local list = lists.map(ranks, function(rank)
    return rank.pp ~= stage and sets[rank.rank] or nil
  end)
  return #list > 0 and union_of(list) or nil
end


-- Fill in a rank's bubble_ns and p2p_ns; busy_ns and the bubble's part in sends and
-- receives are returned beside them.
local function measure(rank, sets, waits, others, from, to)
  local idle = sets[rank.rank]:gaps(from, to)
  local bubble = both(idle, others, from, to)
  rank.bubble_ns = bubble:covered()
  rank.p2p_ns = waits[rank.rank]:covered()
  return { busy_ns = sets[rank.rank]:covered(), bubble_ns = rank.bubble_ns,
    in_p2p_ns = bubble:overlap(waits[rank.rank]) }
end


local function stage_records(one, sets, waits, active, from, to)
  local by_stage, list = {}, json.list {}
  for _, rank in ipairs(lists.sort(one, "rank")) do
    local stage = lists.entry(list, by_stage, rank.pp,
      { stage = rank.pp, dp = rank.dp, ranks = json.list {}, measured = {} })
    local others = of_others(one, sets, rank.pp)
    if not others then return nil end
    table.insert(stage.ranks, rank.rank)
    table.insert(stage.measured, measure(rank, sets, waits, others, from, to))
  end
  for i, stage in ipairs(lists.sort(list, "stage")) do
    local made = { stage = stage.stage, dp = stage.dp, ranks = stage.ranks }
    for _, key in ipairs { "busy_ns", "bubble_ns", "in_p2p_ns" } do
      made[key] = lists.sum(stage.measured, key) / #stage.measured
    end
    made.share = made.bubble_ns / active
    list[i] = made
  end
  return list
end


-- Of one pipeline: its stages, and how long any of them worked.
local function examine(one, sets, waits)
  local worked = union_of(lists.map(one, function(rank) return sets[rank.rank] end))
  local active = worked:covered()
  if active == 0 then return nil end
  local from, to = worked:span()
  return stage_records(one, sets, waits, active, from, to), active
end


local function sentence(worst)
  return ("pipeline: stage %d (%s%s) works on nothing for %s %% of the time in which any stage "
    .. "works: bubbles"):format(worst.stage, #worst.ranks == 1 and "rank "
    or "ranks ", table.concat(worst.ranks, ", "), text.number(worst.share * 100, 0))
end


-- Of ranks whose `pp` is known: { text, told_by, active_ns (any stage worked; mean over
-- pipelines), stages: list of { stage, dp, ranks, busy_ns, bubble_ns, in_p2p_ns, share
-- (of active_ns) }, means over the ranks of a stage }; nil where nothing worked. Fills in
-- the ranks' bubble_ns and p2p_ns.
function pipeline.examine(ranks, told_by, busy, moved)
  local sets, waits = sets_of(busy, ranks), sets_of(moved, ranks)
  local stages, total, count = json.list {}, 0, 0
  local pipelines = lists.grouped(ranks, function(rank) -- in data parallel there are several
    return rank.pp and (rank.dp or 0) or nil
  end)
  for _, one in ipairs(pipelines) do
    local list, active = examine(one, sets, waits)
    if list then
      lists.add(stages, list)
      total, count = total + active, count + 1
    end
  end
  if #stages < 2 then return nil end
  return { text = sentence(lists.largest(stages, "share")), told_by = told_by,
    active_ns = total / count, stages = stages }
end


return pipeline
