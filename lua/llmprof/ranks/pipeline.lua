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
    frames[i] = rows.add(worked:frame(), "rank", {}, function() return member.rank end)
  end
  return pack.join(frames)
end


-- ---- which rank is of which stage ----

-- Ranks that meet in the collectives of layers, as lists; what else all ranks share, such
-- as the broadcast of a token, is left out, and what is rarer than sends and receives, such as
-- a barrier.
local of_layers = { ["all-reduce"] = true, ["reduce-scatter"] = true }

local function meeting(all)
  local sent = {}
  for _, group in ipairs(all:where { p2p = 1 }:group { by = { "world" } }) do
    sent[group.world] = group.count
  end
  local met = collectives.matched(all)
  local groups = lists.filtered(met:group { by = { "key", "short_name", "world" } }, function(group)
    return of_layers[collectives.describe(group.short_name, group.short_name).op]
      and group.count >= (sent[group.world] or 0)
  end)
  return lists.map((lists.grouped(groups, "key")), function(own) return lists.map(own, "world") end)
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


-- Number the sets of ranks by when the first of them began to work, and how many there are.
local function in_order(least, busy)
  local place, count = {}, 0
  local groups = busy:group { by = { "world" }, total = { "start" } }
  lists.sort(groups, function(group) return group.start.min end, "world")
  for _, group in ipairs(groups) do
    local key = least[group.world]
    if not place[key] then place[key], count = count, count + 1 end
  end
  return place, count
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
    local least = math.min(one:covered(), other:covered())
    if least == 0 or one:overlap(other) > AT_ONCE * least then return false end
  end
  return true
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
  local place, count = in_order(least, busy)
  local in_turn = #sets == 0 and not is_said(ranks, all)
  if count < 2 or (in_turn and not take_turns(ranks, all, busy)) then return nil end
  if #sets > 0 and count == #ranks then return nil end
  for _, rank in ipairs(ranks) do rank.pp = place[least[rank.rank]] end
  return in_turn and "turns" or "collectives"
end


-- ---- bubbles ----

-- What the rows of some ranks cover.
local function set_of(frame, ranks)
  return frame:where { world = lists.map(ranks, "rank") }:union()
end


-- The stages of one pipeline, and how long any of them worked; nil where one alone did. Fills in
-- the ranks' bubble_ns and p2p_ns.
local function stages_of(one, busy, moved)
  local worked, list = set_of(busy, one), json.list {}
  local active, from, to = worked:covered(), worked:span()
  local groups = lists.grouped(lists.sort(one, "rank"), "pp")
  if active == 0 or #groups < 2 then return nil end
  for i, own in ipairs(lists.sort(groups, function(ranks) return ranks[1].pp end)) do
    local pp = own[1].pp
    local others = set_of(busy, lists.filtered(one, function(rank) return rank.pp ~= pp end))
    local apart = others:gaps(from, to)
    local made = { stage = pp, dp = own[1].dp, ranks = json.list(lists.map(own, "rank")),
      busy_ns = 0, bubble_ns = 0, in_p2p_ns = 0 }
    for _, rank in ipairs(own) do
      local set, waited = set_of(busy, { rank }), set_of(moved, { rank })
      local bubble = set:join(apart):gaps(from, to) -- in which others work
      rank.bubble_ns, rank.p2p_ns = bubble:covered(), waited:covered()
      made.busy_ns = made.busy_ns + set:covered()
      made.bubble_ns = made.bubble_ns + rank.bubble_ns
      made.in_p2p_ns = made.in_p2p_ns + bubble:overlap(waited)
    end
    for _, key in ipairs { "busy_ns", "bubble_ns", "in_p2p_ns" } do made[key] = made[key] / #own end
    made.share = made.bubble_ns / active
    list[i] = made
  end
  return list, active
end


local function sentence(worst)
  return ("pipeline: stage %d (%s%s) works on nothing for %s %% of the time in which any stage "
    .. "works: bubbles"):format(worst.stage, #worst.ranks == 1 and "rank "
    or "ranks ", table.concat(worst.ranks, ", "), text.number(worst.share * 100, 0))
end


-- Of ranks whose `pp` is known what results.json tells; nil where nothing worked. Fills in the
-- ranks' bubble_ns and p2p_ns.
function pipeline.examine(ranks, told_by, busy, moved)
  local stages, total, count = json.list {}, 0, 0
  local pipelines = lists.grouped(ranks, function(rank) -- in data parallel there are several
    return rank.pp and (rank.dp or 0) or nil
  end)
  for _, one in ipairs(pipelines) do
    local list, active = stages_of(one, busy, moved)
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
