-- Collectives of all ranks on one clock, each with those of other ranks that are the same. Files
-- begin on the clock that their UTC says; which ranks belong together,
-- and by how much their clocks differ, is told by collectives that end together.
local clocks = require "llmprof.ranks.clocks"
local collectives = require "llmprof.ranks.collectives"
local errors = require "llmprof.process.errors"
local native = require "llmprof.collectives"
local pack = require "llmprof.pack"
local rows = require "llmprof.ranks.rows"
local spans = require "llmprof.spans"
local tuple = require("llmprof.tables.keys").tuple
local uncounted = require "llmprof.ranks.uncounted"
local lists = require "llmprof.tables.lists"

local matching = {}


-- ---- frames of all files ----

-- Frames of one name of all parts that have it, one after the other, on clocks of one each (by
-- part); nil when no part has one. times: their columns that a clock moves.
function matching.joined(parts, name, moved, times)
  local frames, own = {}, {}
  for i, part in ipairs(parts) do
    if part[name] then frames[#frames + 1], own[#own + 1] = part[name], moved[i] end
  end
  if #frames == 0 then return nil end
  if #frames > 1 or own[1].offset ~= 0 or own[1].drift ~= 0 then
    return pack.join(frames, own, times)
  end
  return errors.check(frames[1]:select(rows.names(frames[1])))
end


local function joined_collectives(made)
  local all = matching.joined(made.parts, "collectives", made.clocks, collectives.times)
  return all and #all > 0 and all or nil
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
  local groups, most = all:group { by = { "short_name", "communicator", "world" } }, {}
  for _, group in ipairs(lists.sort(groups, "short_name", "communicator")) do
    local kind = kind_of(group)
    if not told.number[kind] then
      table.insert(told.counts, {})
      told.number[kind] = #told.counts
    end
    local key = told.number[kind]
    told.keys[key], told.counts[key][group.world] = key, group.count
    most[key] = math.max(most[key] or 0, group.count)
    if not group.communicator then told.nameless[group.world] = true end
  end
  lists.sort(told.keys, function(key) return -most[key] end, function(key) return key end)
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


-- Match the collectives of all parts. made: parts and ranks, whose numbers (world) all frames
-- have; clocks (by part, as UTC says), which are corrected here; left_out (see
-- uncounted.windows). Adds fits (by part, of llmprof.collectives.clock), groups (by rank:
-- { leader, fit, share, named }), windows, and, where there are collectives, these as
-- `collectives` with what core/ranks/collectives.h adds.
function matching.add(made)
  made.fits, made.groups = {}, {}
  local all = joined_collectives(made)
  local told, divisions
  if all then
    divisions = collectives.divisions(all)
    told = number_kinds(all)
    group_ranks(made, all, told)
  end
  made.windows = uncounted.windows(made.parts, made.clocks, made.left_out)
  if not all then return made end
  all = joined_collectives(made)
  add_keys(all, made.groups, told)
  made.collectives = match(all, divisions, made.windows)
  return made
end


return matching
