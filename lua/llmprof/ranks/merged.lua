-- Parts of any number of files as one: ranks numbered, clocks on one, collectives
-- matched. The order of the files does not matter.
local clocks = require "llmprof.ranks.clocks"
local collectives = require "llmprof.collectives"
local found = require "llmprof.ranks.collectives"
local members = require "llmprof.ranks.members"
local pack = require "llmprof.pack"
local pipeline = require "llmprof.ranks.pipeline"
local rows = require "llmprof.ranks.rows"
local spans = require "llmprof.spans"
local tuple = require "llmprof.base.tuple"

local merged = {}


-- ---- which rank is which ----

-- The number that a file's name gives its rank: rank3.sqlite, worker_3, run.3.sqlite; nil
-- where it gives places ("dp0_pp1_tp0.sqlite").
local function number_of(file)
  local stem = file:match "([^/]*)$":lower():gsub("%.part$", ""):gsub("%.sqlite$", "")
    :gsub("%.nsys%-rep$", "")
  if next(members.places(stem)) then return nil end
  return tonumber(stem:match "rank[_.%-]?(%d+)" or stem:match "(%d+)$")
end


-- Files in order: by the number in their name, then by name.
local function in_order(parts)
  local list, number = table.move(parts, 1, #parts, 1, {}), {}
  for _, part in ipairs(parts) do number[part] = number_of(part.about.file) end
  table.sort(list, function(a, b)
    local left, right = number[a], number[b]
    if left ~= right then return (left or math.huge) < (right or math.huge) end
    return a.about.file < b.about.file
  end)
  return list
end


-- Do names number the ranks? Only where each file has one, and the numbers are not
-- those of hosts: a few may be missing.
local function are_numbered(parts)
  local seen, most = {}, 0
  for _, part in ipairs(parts) do
    local number = number_of(part.about.file)
    if #part.about.ranks ~= 1 or not number or seen[number] then return false end
    seen[number], most = true, math.max(most, number)
  end
  return #parts > 1 and most < 2 * #parts + 1
end


-- Places that the name of a file of one rank gives, where its process' name gives none.
local function add_places(rank)
  for kind, place in pairs(members.places(rank.file:match "([^/]*)$")) do
    rank[kind] = rank[kind] or place
  end
end


local function number_ranks(parts)
  local list, numbered = {}, are_numbered(parts)
  for i, part in ipairs(parts) do
    for _, about in ipairs(part.about.ranks) do
      local rank = { file = part.about.file, part = i, own = about.rank,
        rank = numbered and number_of(part.about.file) or #list }
      for _, key in ipairs { "pid", "device", "gpu", "process", "kernels", "tp", "pp", "dp",
        "ep" } do
        rank[key] = about[key]
      end
      if #part.about.ranks == 1 then add_places(rank) end
      list[#list + 1] = rank
    end
  end
  return list
end


-- ---- frames of all parts ----

-- Add `world`, the rank among all of them, and, where rows are in steps, `number`, the
-- step among all of them.
-- world: by a rank's number in its file.
local function renumber(frame, world, before)
  rows.extend(frame, { "rank" }, { { name = "world", type = "integer",
    get = function(key) return world[key.rank] end } })
  if not before then return frame end
  local has_steps = false
  for _, column in ipairs(frame:columns()) do has_steps = has_steps or column.name == "step" end
  if not has_steps then return frame end
  return rows.extend(frame, { "step" }, { { name = "number", type = "integer",
    get = function(key) return key.step and key.step + before end } })
end


-- Frames with the most columns first: those of the first are those of all.
local function join(frames, moved, times)
  local order, list, own = {}, {}, {}
  for i = 1, #frames do order[i] = i end
  table.sort(order, function(a, b)
    local left, right = #frames[a]:columns(), #frames[b]:columns()
    if left ~= right then return left > right end
    return a < b
  end)
  for i, from in ipairs(order) do list[i], own[i] = frames[from], moved and moved[from] end
  return moved and pack.join(list, own, times) or pack.join(list)
end


local PIPELINE_TIMES = { "start", "end" }
local STEP_TIMES = { "start", "end", "launched", "before", "first", "last", "begin" }

-- All frames of a name on clocks of one each, without rows of no rank, as steps of a
-- process are that ran no kernel; nil when no part has one.
local function joined(parts, name, moved, times)
  local frames, own = {}, {}
  for i, part in ipairs(parts) do
    if part[name] then
      frames[#frames + 1], own[#own + 1] = part[name], moved[i]
    end
  end
  if #frames == 0 then return nil end
  return rows.check(join(frames, own, times):where { { "world", "~=", false } })
end


-- ---- clocks ----

-- Where UTC puts each file's clock: { offset, at, drift }, from the earliest session on;
-- and when that began, ns since 1970, nil where no file says.
local function by_utc(parts)
  local first
  for _, part in ipairs(parts) do
    local epoch = part.about.epoch
    if epoch and (not first or epoch < first) then first = epoch end
  end
  local list = {}
  for i, part in ipairs(parts) do
    list[i] = { offset = part.about.epoch and first - part.about.epoch or 0, at = 0, drift = 0 }
  end
  return list, first
end


-- The same with a correction found after it.
local function corrected(clock, correction)
  if not correction then return clock end
  return { offset = clock.offset + correction.offset, drift = correction.drift,
    at = correction.at + clock.offset }
end


-- ---- matching ----

local at = { rank = "world", start = "start", ["end"] = "end", key = "key" }
local matched = { rank = "world", start = "start", ["end"] = "end", key = "key",
  ordinal = "ordinal", lag = "lag" }

-- A function that gives equal values the same number, from 1 in the order they come.
local function numbering()
  local numbers, last = {}, 0
  return function(...)
    local key = tuple(...)
    if not numbers[key] then
      last = last + 1
      numbers[key] = last
    end
    return numbers[key]
  end
end


-- What collectives are matched by: the communicator that NCCL named, and their name.
local function kinds()
  local number = numbering()
  return function(key) return number(key.short_name, key.communicator) end
end


-- Collectives of all parts, numbered among those of their kind.
local function numbered(parts, moved, kind_of)
  local all = joined(parts, "collectives", moved, found.times)
  if not all or #all == 0 then return nil end
  rows.extend(all, { "short_name", "communicator" }, { { name = "key", type = "integer",
    get = kind_of } })
  collectives.number(all, at, "ordinal")
  return all
end


-- By how much a rank's ordinals of a key lie behind those of its leader, where it was
-- seen from later on.
local function lag_of(groups, counts, rank, key)
  local group, own = groups[rank], counts[key]
  if not group.share or not own[group.leader] or not own[rank] then return 0 end
  return math.floor(group.share * (own[rank] - own[group.leader]) + 0.5)
end


-- Collectives on one clock, each matched with those of the same group of ranks.
local function match(parts, moved, groups, counts, kind_of)
  local number, all = numbering(), joined(parts, "collectives", moved, found.times)
  rows.extend(all, { "short_name", "communicator", "world" }, {
    { name = "key", type = "integer", get = function(key)
      return number(kind_of(key), groups[key.world].leader) end },
    { name = "lag", type = "integer", get = function(key)
      return lag_of(groups, counts, key.world, kind_of(key)) end },
  })
  collectives.number(all, at, "ordinal")
  collectives.match(all, matched)
  spans.rest(all, { start = "previous", ["end"] = "start" }, "work_before", "gap")
  collectives.excess(all, "work_before", "more_work")
  collectives.excess(all, "gap", "more_gap")
  collectives.excess(all, "before", "more_kernels")
  return all
end


-- ---- together ----

local function ranks_of(list)
  local numbers = {}
  for i, rank in ipairs(list) do numbers[i] = rank.rank end
  return numbers
end


local function parts_of(ranks)
  local part_of = {}
  for _, rank in ipairs(ranks) do part_of[rank.rank] = rank.part end
  return part_of
end


-- By part, the fit of its first rank that has one, to a leader of another file.
local function fits_of(ranks, groups)
  local part_of, fits = parts_of(ranks), {}
  for _, rank in ipairs(ranks) do
    local group = groups[rank.rank]
    if not fits[rank.part] and group.fit and part_of[group.leader] ~= rank.part then
      fits[rank.part] = group.fit
    end
  end
  return fits
end


local function renumber_all(parts, ranks)
  local before, worlds = 0, {}
  for i = 1, #parts do worlds[i] = {} end
  for _, rank in ipairs(ranks) do worlds[rank.part][rank.own] = rank.rank end
  for i, part in ipairs(parts) do
    local world = worlds[i]
    if part.steps then renumber(part.steps, world) end
    renumber(part.collectives, world, before)
    renumber(part.kernels, world)
    if part.busy then renumber(part.busy, world) end
    before = before + (part.steps and #part.steps or 0)
  end
end


-- Collectives on one clock, matched, and how they got there: { parts, ranks, clocks, epoch
-- (UTC of time 0), fits, groups, collectives }.
local function collect(parts, ranks)
  local moved, epoch = by_utc(parts)
  local made = { parts = parts, ranks = ranks, clocks = moved, epoch = epoch, fits = {},
    groups = {} }
  local kind_of = kinds()
  local all = numbered(parts, moved, kind_of)
  if not all then return made end
  local groups, counts = clocks.groups(all, ranks_of(ranks), parts_of(ranks))
  made.groups, made.fits = groups, fits_of(ranks, groups)
  for i = 1, #parts do
    moved[i] = corrected(moved[i], clocks.correction(made.fits[i]))
  end
  made.collectives = match(parts, moved, groups, counts, kind_of)
  return made
end


-- The parts without the sends and receives of their collectives, which are two ranks' own;
-- these beside them as `p2p`.
local function apart(parts)
  local list = {}
  for i, part in ipairs(parts) do
    list[i] = setmetatable({ collectives = part.collectives:where { p2p = 0 },
      p2p = part.collectives:where { p2p = 1 } }, { __index = part })
  end
  return list
end


-- Can times of all ranks be compared: of one file, or of files that say when they began?
local function on_one_clock(parts)
  for _, part in ipairs(parts) do
    if #parts > 1 and not part.about.epoch then return false end
  end
  return true
end


-- Add what is known of a pipeline, whose sends and receives are no collectives.
local function add_pipeline(made)
  local busy = joined(made.parts, "busy", made.clocks, PIPELINE_TIMES)
  local told_by = on_one_clock(made.parts) and pipeline.find(made.ranks, made.collectives, busy)
  if not told_by then return made end
  local parts = apart(made.parts)
  local again = collect(parts, made.ranks)
  again.parts, again.told_by = made.parts, told_by
  again.busy = joined(parts, "busy", again.clocks, PIPELINE_TIMES)
  again.p2p = joined(parts, "p2p", again.clocks, found.times)
  return again
end


-- { parts (in order), ranks (list of { rank, file, pid, device, tp, ... }), steps,
-- collectives (with what llmprof/collectives.h adds; each nil without any), kernels,
-- clocks (by part: { offset, drift, at }), fits (by part, of llmprof.collectives.clock),
-- groups (by rank: { leader, fit, share }) }, and of a pipeline told_by, busy and p2p (the
-- sends and receives). Frames of the parts are taken over.
function merged.of(given)
  local parts = in_order(given)
  local ranks = number_ranks(parts)
  renumber_all(parts, ranks)
  local made = add_pipeline(collect(parts, ranks))
  made.steps = joined(parts, "steps", made.clocks, STEP_TIMES)
  made.kernels = joined(parts, "kernels", made.clocks, {})
  return made
end


return merged
