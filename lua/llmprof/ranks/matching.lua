-- Collectives of all files on one clock, each with those of other ranks that are the same: asks
-- the llmprof.ranks.partition of every process that has some, and joins their answers.
local clocks = require "llmprof.ranks.clocks"
local communication = require "llmprof.ranks.communication"
local errors = require "llmprof.process.errors"
local frame = require "llmprof.frame"
local json = require "llmprof.json"
local partition = require "llmprof.ranks.partition"
local tuple = require("llmprof.tables.keys").tuple
local uncounted = require "llmprof.ranks.uncounted"

local matching = {}


-- ---- what they are matched by ----

-- Kinds of collectives, of what every process says: list of { name, communicator }, by name.
local function kinds_of(answers)
  local list, known = {}, {}
  for _, answer in ipairs(answers) do
    for _, own in ipairs(answer.kinds) do
      local key = tuple(own.name, own.communicator)
      if not known[key] then
        known[key], list[#list + 1] = true, { name = own.name, communicator = own.communicator }
      end
    end
  end
  table.sort(list, function(a, b)
    if a.name ~= b.name then return (a.name or "") < (b.name or "") end
    return (a.communicator or math.mininteger) < (b.communicator or math.mininteger)
  end)
  return list
end


-- What shares number collectives by: { kinds, counts, keys, files }.
local function numbering_of(answers, ranks)
  local kinds, number, most = kinds_of(answers), {}, {}
  local told = { kinds = json.list(kinds), counts = json.list {}, keys = json.list {},
    files = json.list {} }
  for key, kind in ipairs(kinds) do
    number[tuple(kind.name, kind.communicator)], told.keys[key], most[key] = key, key, 0
  end
  for _, answer in ipairs(answers) do
    for _, own in ipairs(answer.kinds) do
      local key = number[tuple(own.name, own.communicator)]
      told.counts[#told.counts + 1] = { key, own.world, own.count }
      most[key] = math.max(most[key], own.count)
    end
  end
  table.sort(told.keys, function(a, b)
    if most[a] ~= most[b] then return most[a] > most[b] end
    return a < b
  end)
  for i, rank in ipairs(ranks) do told.files[i] = { rank.rank, rank.part } end
  return told
end


-- The same as clocks.groups wants it.
local function told_of(numbering)
  local told = { counts = {}, keys = numbering.keys, part_of = {} }
  for key in ipairs(numbering.kinds) do told.counts[key] = {} end
  for _, own in ipairs(numbering.counts) do told.counts[own[1]][own[2]] = own[3] end
  for _, own in ipairs(numbering.files) do told.part_of[own[1]] = own[2] end
  return told
end


-- A function for clocks.groups that asks every process.
local function fits_by(ask)
  return function(leader, candidates)
    local list, of_leader = {}, nil
    for _, answer in ipairs(ask("rows_of_rank", { world = leader })) do
      of_leader = of_leader or answer.rows
    end
    if not of_leader then return list end
    for _, answer in ipairs(ask("fits", { leader = leader, candidates = json.list(candidates),
      rows = of_leader })) do
      table.move(answer.fits, 1, #answer.fits, #list + 1, list)
    end
    return list
  end
end


-- What collectives are matched by: list of { kind, leader of a group }, in that order.
local function matching_keys(told, groups)
  local list, known = json.list {}, {}
  for kind, own in ipairs(told.counts) do
    for world in pairs(own) do
      local key = tuple(kind, groups[world].leader)
      if not known[key] then
        known[key], list[#list + 1] = true, { kind, groups[world].leader }
      end
    end
  end
  table.sort(list, function(a, b)
    if a[1] ~= b[1] then return a[1] < b[1] end
    return a[2] < b[2]
  end)
  return list
end


-- All divisions that any process found.
local function divisions_of(answers)
  local list = {}
  for _, answer in ipairs(answers) do
    table.move(answer.divisions, 1, #answer.divisions, #list + 1, list)
  end
  return communication.best_divisions(list)
end


-- ---- clocks ----

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


-- The same with a correction found after it.
local function corrected(clock, correction)
  if not correction then return clock end
  return { offset = clock.offset + correction.offset, drift = correction.drift,
    at = correction.at + clock.offset }
end


-- ---- together ----

-- Groups as shares are told of them.
local function told_groups(groups)
  local list = json.list {}
  for world, group in pairs(groups) do
    list[#list + 1] = { world = world, leader = group.leader, share = group.share }
  end
  return list
end


-- The ranks that have collectives, in order.
local function worlds_of(told)
  local list, known = {}, {}
  for _, own in ipairs(told.counts) do
    for world in pairs(own) do
      if not known[world] then known[world], list[#list + 1] = true, world end
    end
  end
  table.sort(list)
  return list
end


-- Mark the groups whose kinds all have a communicator that none before them has: they are known
-- to be others.
local function mark_named(groups, numbering)
  local nameless = {}
  for _, own in ipairs(numbering.counts) do
    if not numbering.kinds[own[1]].communicator then nameless[own[2]] = true end
  end
  for world, group in pairs(groups) do
    group.named = group.leader == world and not group.tried and not nameless[world]
  end
end


-- Have all processes match; returns what each answers, and the ranks that have collectives.
-- made: parts, ranks, left_out, and clocks, fits, groups, windows, which are found here; drawn: of
-- how many ranks a page draws the rows, nil for none.
function matching.ask_all(made, ask, places, drawn)
  for i, clock in ipairs(made.clocks) do places[i].clock = clock end
  local answers = ask("kinds", { parts = places })
  local divisions, numbering = divisions_of(answers), numbering_of(answers, made.ranks)
  if #numbering.kinds == 0 then return {} end
  ask("number", numbering)
  local told = told_of(numbering)
  local worlds = worlds_of(told)
  made.groups = clocks.groups(ranks_of(made.ranks), told, fits_by(ask))
  mark_named(made.groups, numbering)
  made.fits = fits_of(made.ranks, made.groups)
  for i, clock in ipairs(made.clocks) do
    made.clocks[i] = corrected(clock, clocks.correction(made.fits[i]))
  end
  made.windows = uncounted.windows(made.parts, made.clocks, made.left_out)
  return ask("match", { clocks = json.list(made.clocks), groups = told_groups(made.groups),
    windows = made.windows,
    keys = matching_keys(told, made.groups), divisions = divisions,
    below = drawn and (worlds[drawn] or worlds[#worlds]) + 1 or nil }), worlds
end


-- What met, of all processes.
function matching.met(answers)
  local list = {}
  for _, answer in ipairs(answers) do
    if answer.sums then list[#list + 1] = answer end
  end
  return partition.together(list)
end


-- The rows that are drawn, of all processes, and one of every other rank that has some, by which
-- a page knows how many it leaves out.
function matching.drawn(answers, told)
  local frames, moved, others = {}, {}, {}
  for _, answer in ipairs(answers) do
    if answer.drawn then frames[#frames + 1], moved[#moved + 1] = answer.drawn, {} end
  end
  for i = told.drawn + 1, #told.worlds do others[#others + 1] = told.worlds[i] end
  if #others > 0 then
    frames[#frames + 1], moved[#moved + 1] = errors.check(frame.new(#others, {
      { name = "world", type = "integer", values = others },
      { name = "start", type = "integer", unit = "ns", values = {} } })), {}
  end
  return #frames > 0 and partition.join(frames, moved, {}) or nil
end


return matching
