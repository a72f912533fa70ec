-- Parts of any number of files as one: ranks numbered, clocks on one, collectives
-- matched. The order of the files does not matter.
local clocks = require "llmprof.ranks.clocks"
local collectives = require "llmprof.ranks.collectives"
local lists = require "llmprof.tables.lists"
local members = require "llmprof.ranks.members"
local merge = require("llmprof.tables.keys").merged
local native = require "llmprof.collectives"
local pack = require "llmprof.pack"
local part_frames = require("llmprof.ranks.part").frames
local pipeline = require "llmprof.ranks.pipeline"
local rows = require "llmprof.ranks.rows"
local spans = require "llmprof.spans"
local tuple = require("llmprof.tables.keys").tuple
local uncounted = require "llmprof.ranks.uncounted"

local merged = {}

local PIPELINE_TIMES = { "start", "end" }
local MIDDLE = { { "begin" }, { "last" }, "+", 2, "/" } -- of a step
local STEP_TIMES = { "start", "end", "launched", "before", "first", "last", "begin" }


-- The number that a file's name gives its rank: rank3.sqlite, worker_3, run.3.sqlite; nil
-- where it gives places ("dp0_pp1_tp0.sqlite").
local function number_of(file)
  local stem = file:match "([^/]*)$":lower()
  while stem:find "%.[%a-]+$" do stem = stem:gsub("%.[%a-]+$", "") end
  if next(members.places(stem)) then return nil end
  return tonumber(stem:match "rank[_.%-]?(%d+)" or stem:match "(%d+)$")
end


-- The number of the rank of a part: what the file itself says, else its name.
local function number_in(part)
  local ranks = part.about.ranks
  return #ranks == 1 and members.told(ranks[1].process) or number_of(part.about.file)
end


-- Files in order: by the number of their rank, then by name. Of a part about.file and
-- about.ranks are looked at.
function merged.in_order(parts)
  local list, number = lists.joined(parts), {}
  for _, part in ipairs(parts) do number[part] = number_in(part) end
  return lists.sort(list, function(part) return number[part] or math.huge end,
    function(part) return part.about.file end)
end


-- Are the ranks numbered? Only where each file has one, and the numbers are not
-- those of hosts: a few may be missing.
local function are_numbered(parts)
  local seen, most = {}, 0
  for _, part in ipairs(parts) do
    local number = number_in(part)
    if #part.about.ranks ~= 1 or not number or seen[number] then return false end
    seen[number], most = true, math.max(most, number)
  end
  return #parts > 1 and most < 2 * #parts + 1
end


-- The ranks of all parts. Where the name of a process gives no places, that of a file of one rank
-- may.
local function number_ranks(parts)
  local list, numbered = {}, are_numbered(parts)
  for i, part in ipairs(parts) do
    local own, file = part.about.ranks, part.about.file
    for _, about in ipairs(own) do
      list[#list + 1] = merge(#own == 1 and members.places(file:match "([^/]*)$") or {}, about,
        { file = file, part = i, own = about.rank, rank = numbered and number_in(part) or #list })
    end
  end
  return list
end


-- Where UTC puts each file's clock: { offset, at, drift }, from the earliest session on;
-- and when that began, ns since 1970, nil where no file says.
local function by_utc(parts)
  local first = lists.sort(lists.map(parts, function(part) return part.about.epoch end))[1]
  local list = lists.map(parts, function(part)
    return { offset = part.about.epoch and first - part.about.epoch or 0, at = 0, drift = 0 }
  end)
  return list, first
end


-- Add `world`, the rank among all of them, and, where rows are in steps, `number`, the step among
-- all of them, to the frames of every part.
local function renumber_all(parts, ranks)
  local worlds, before = {}, 0
  for i in ipairs(parts) do worlds[i] = {} end
  for _, rank in ipairs(ranks) do worlds[rank.part][rank.own] = rank.rank end
  for i, part in ipairs(parts) do
    for _, name in ipairs(part_frames) do
      local frame = part[name]
      if frame then
        rows.add(frame, "world", { "rank" }, function(key) return worlds[i][key.rank] end)
      end
    end
    local first = before
    rows.extend(part.collectives, { "step" }, { { name = "number", type = "integer",
      get = function(key) return key.step and key.step + first end } })
    before = before + (part.steps and #part.steps or 0)
  end
end


-- The parts without the sends and receives of their collectives, which are two ranks' own;
-- these beside them as `p2p`.
local function apart(parts)
  return lists.map(parts, function(part)
    return setmetatable({ collectives = part.collectives:where { p2p = 0 },
      p2p = part.collectives:where { p2p = 1 } }, { __index = part })
  end)
end


-- ---- frames of all files ----

-- Frames of one name of all parts that have it, one after the other, on clocks of one each (by
-- part); nil when no part has one. times: their columns that a clock moves.
local function joined(parts, name, moved, times)
  local frames, own = {}, {}
  for i, part in ipairs(parts) do
    if part[name] then frames[#frames + 1], own[#own + 1] = part[name], moved[i] end
  end
  return #frames > 0 and pack.join(frames, own, times) or nil
end


-- ---- kinds ----

-- Collectives of one kernel and communicator are numbered together, from each rank's first on.
local AT = { rank = "world", start = "start", ["end"] = "end", key = "key" }

local function kind_of(row) return tuple(row.short_name, row.communicator) end


-- Add `key`, the number of a row's kind, and its `ordinal`. { number (of each kind), counts (by
-- key and rank, how many rows), keys (the most frequent first), nameless (ranks that have
-- collectives without a communicator) }.
local function number_kinds(all)
  local told = { number = {}, counts = {}, keys = {}, nameless = {} }
  local groups = lists.sort(all:group { by = { "short_name", "communicator", "world" } },
    "short_name", "communicator")
  local kinds = lists.grouped(groups, kind_of)
  for key, own in ipairs(kinds) do
    told.number[kind_of(own[1])], told.keys[key], told.counts[key] = key, key, {}
    for _, group in ipairs(own) do
      told.counts[key][group.world] = group.count
      if not group.communicator then told.nameless[group.world] = true end
    end
  end
  lists.sort(told.keys, function(key) return -select(2, lists.largest(kinds[key], "count")) end,
    function(key) return key end)
  rows.extend(all, { "short_name", "communicator" }, { { name = "key", type = "integer",
    get = function(row) return told.number[kind_of(row)] end } })
  native.number(all, AT, "ordinal")
  return told
end


-- ---- clocks ----

-- Find which ranks belong together, and correct the clocks of their files by the fit of the first
-- rank of each that has one, to a leader of another file. A group is `named` whose kinds all have a
-- communicator that none before it has: it is known to be another.
local function group_ranks(made, all, told)
  local part_of = {}
  for _, rank in ipairs(made.ranks) do part_of[rank.rank] = rank.part end
  made.groups = clocks.groups(all, lists.map(made.ranks, "rank"), told, part_of)
  for world, group in pairs(made.groups) do
    group.named = group.leader == world and not group.tried and not told.nameless[world]
  end
  for _, rank in ipairs(made.ranks) do
    local group, i = made.groups[rank.rank], rank.part
    if not made.fits[i] and group.fit and part_of[group.leader] ~= i then
      made.fits[i] = group.fit
      local clock, correction = made.clocks[i], clocks.correction(group.fit)
      made.clocks[i] = correction and { offset = clock.offset + correction.offset,
        drift = correction.drift, at = correction.at + clock.offset } or clock
    end
  end
end


-- ---- matching ----

local MATCHED = { rank = "world", start = "start", ["end"] = "end", key = "key",
  ordinal = "ordinal", lag = "lag" }


-- By how much a rank's ordinals of a kind lie behind those of its leader, where it was seen from
-- later on.
local function lag_of(group, own, world)
  if not group.share or not own[group.leader] or not own[world] then return 0 end
  return math.floor(group.share * (own[world] - own[group.leader]) + 0.5)
end


-- Rows with what they are matched by: key, of a kind and a group of ranks, ordinal and lag.
local function add_keys(all, groups, told)
  local by, keys, count = { "short_name", "communicator", "world" }, {}, 0
  local function kind(row) return told.number[kind_of(row)] end
  local function leader(row) return groups[row.world].leader end
  for _, group in ipairs(lists.sort(all:group { by = by }, kind, leader)) do
    local place = tuple(kind(group), leader(group))
    if not keys[place] then count, keys[place] = count + 1, count + 1 end
  end
  rows.extend(all, by, {
    { name = "key", type = "integer",
      get = function(row) return keys[tuple(kind(row), leader(row))] end },
    { name = "lag", type = "integer",
      get = function(row) return lag_of(groups[row.world], told.counts[kind(row)], row.world) end },
  })
  return native.number(all, AT, "ordinal")
end


-- What each row waited, who came last, and what that one did more of than the others.
local function match(all, divisions, windows)
  native.match(all, MATCHED)
  spans.rest(all, { start = "previous", ["end"] = "start" }, "work_before", "gap")
  native.excess(all, "work_before", "more_work")
  native.excess(all, "gap", "more_gap")
  native.excess(all, "before", "more_kernels")
  collectives.add_layers(all, divisions)
  return uncounted.mark(all, { { "end" } }, windows)
end


-- Match the collectives of parts: which ranks belong together, and by how much their clocks differ,
-- is told by collectives that end together. { parts, ranks, clocks (by part), epoch (UTC of time
-- 0), fits (by part, of llmprof.collectives.clock), groups (by rank: { leader, fit, share, named
-- }), windows }, and, where there are collectives, these as `collectives` with what
-- core/ranks/collectives.h adds. left_out: see uncounted.windows.
local function collect(parts, ranks, left_out)
  local made = { parts = parts, ranks = ranks, left_out = left_out, fits = {}, groups = {} }
  made.clocks, made.epoch = by_utc(parts)
  local all = joined(parts, "collectives", made.clocks, collectives.times)
  local there = all and #all > 0
  local told, divisions
  if there then
    divisions, told = collectives.divisions(all), number_kinds(all)
    group_ranks(made, all, told)
  end
  made.windows = uncounted.windows(parts, made.clocks, left_out)
  if there then
    all = joined(parts, "collectives", made.clocks, collectives.times)
    add_keys(all, made.groups, told)
    made.collectives = match(all, divisions, made.windows)
  end
  return made
end


-- Add what is known of a pipeline, whose sends and receives are no collectives, where times of all
-- ranks can be compared: of one file, or of files that say when they began.
local function add_pipeline(made)
  local busy = joined(made.parts, "busy", made.clocks, PIPELINE_TIMES)
  local apart_in_time = #made.parts > 1
    and lists.any(made.parts, function(part) return not part.about.epoch end)
  local told_by = not apart_in_time and pipeline.find(made.ranks, made.collectives, busy)
  if not told_by then return made end
  local parts = apart(made.parts)
  local again = collect(parts, made.ranks, made.left_out)
  again.parts, again.told_by = made.parts, told_by
  again.busy = joined(parts, "busy", again.clocks, PIPELINE_TIMES)
  again.p2p = joined(parts, "p2p", again.clocks, collectives.times)
  return again
end


-- left_out: what a timeline leaves out, see uncounted.windows.
--
-- { parts (in order), ranks (list of { rank, file, pid, device, tp, ... }), steps, kernels, clocks
-- (by part: { offset, drift, at }), epoch, what collect adds (steps have the mark of `windows`,
-- too) }, and of a pipeline told_by, busy and p2p (the sends and receives). Frames of the parts are
-- taken over.
function merged.of(given, left_out)
  local parts = merged.in_order(given)
  local ranks = number_ranks(parts)
  renumber_all(parts, ranks)
  local made = add_pipeline(collect(parts, ranks, left_out))
  made.steps = joined(parts, "steps", made.clocks, STEP_TIMES)
  made.steps = made.steps and uncounted.mark(made.steps, MIDDLE, made.windows)
  made.kernels = joined(parts, "kernels", made.clocks, {})
  return made
end


return merged
