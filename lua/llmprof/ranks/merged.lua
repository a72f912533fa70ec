-- Parts of any number of files as one: ranks numbered, clocks on one, collectives
-- matched. The order of the files does not matter.
local errors = require "llmprof.process.errors"
local collectives = require "llmprof.ranks.collectives"
local json = require "llmprof.json"
local members = require "llmprof.ranks.members"
local pack = require "llmprof.pack"
local pipeline = require "llmprof.ranks.pipeline"
local partition = require "llmprof.ranks.partition"
local uncounted = require "llmprof.ranks.uncounted"
local clocks = require "llmprof.ranks.clocks"
local frame = require "llmprof.frame"
local tuple = require("llmprof.tables.keys").tuple

local merged = {}


-- ---- the same collective on several ranks ----

-- Collectives of all files on one clock, each with those of other ranks that are the same: asks
-- the llmprof.ranks.partition of every process that has some, and joins their answers.

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
  return collectives.best_divisions(list)
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
local function ask_all(made, ask, places, drawn)
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
local function met(answers)
  local list = {}
  for _, answer in ipairs(answers) do
    if answer.sums then list[#list + 1] = answer end
  end
  return partition.together(list)
end


-- The rows that are drawn, of all processes, and one of every other rank that has some, by which
-- a page knows how many it leaves out.
local function drawn(answers, told)
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



-- ---- which rank is which ----

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
  local list, number = table.move(parts, 1, #parts, 1, {}), {}
  for _, part in ipairs(parts) do number[part] = number_in(part) end
  table.sort(list, function(a, b)
    local left, right = number[a], number[b]
    if left ~= right then return (left or math.huge) < (right or math.huge) end
    return a.about.file < b.about.file
  end)
  return list
end


-- Files that say the same number of themselves, as several runs do: list of { file, number, other
-- (the first that says it) }.
function merged.same_numbers(parts)
  local list, first = {}, {}
  for _, part in ipairs(parts) do
    local ranks = part.about.ranks
    local number = #ranks == 1 and members.told(ranks[1].process)
    if number and first[number] then
      list[#list + 1] = { file = part.about.file, number = number, other = first[number] }
    elseif number then
      first[number] = part.about.file
    end
  end
  return list
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
        rank = numbered and number_in(part) or #list }
      for _, key in ipairs { "pid", "device", "gpu", "process", "kernels", "mpi_ns",
        "tp", "pp", "dp", "ep" } do
        rank[key] = about[key]
      end
      if #part.about.ranks == 1 then add_places(rank) end
      list[#list + 1] = rank
    end
  end
  return list
end


-- ---- frames of all parts ----

local function is_moved(clock)
  return clock.offset ~= 0 or clock.drift ~= 0
end


-- Frames with the most columns first: those of the first are those of all. One whose clock is the
-- common one is not copied.
local function join(frames, moved, times)
  if #frames == 1 and not (moved and is_moved(moved[1])) then return frames[1] end
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
  return errors.check(join(frames, own, times):where { { "world", "~=", false } })
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


-- ---- together ----

-- Where each part's rows are among all: what shares are told of it, by place; those of its
-- other frames are told here.
local function renumber_all(parts, ranks)
  local before, list = 0, json.list {}
  for i, part in ipairs(parts) do list[i] = { number = part.number or i, worlds = json.list {} } end
  for _, rank in ipairs(ranks) do
    table.insert(list[rank.part].worlds, { rank.own, rank.rank })
  end
  for i, part in ipairs(parts) do
    local world = {}
    for _, pair in ipairs(list[i].worlds) do world[pair[1]] = pair[2] end
    if part.steps then partition.renumber(part.steps, world) end
    partition.renumber(part.kernels, world)
    if part.busy then partition.renumber(part.busy, world) end
    list[i].before = before
    before = before + (part.steps and #part.steps or 0)
  end
  return list
end


local function made_of(parts, ranks, left_out)
  local moved, epoch = by_utc(parts)
  return { parts = parts, ranks = ranks, clocks = moved, epoch = epoch, fits = {}, groups = {},
    left_out = left_out }
end


-- Collectives on one clock, matched, and how they got there: { parts, ranks, clocks, epoch
-- (UTC of time 0), fits, groups, met, collectives }. places: of renumber_all.
local function collect(parts, ranks, places, left_out)
  local made, files = made_of(parts, ranks, left_out), {}
  for i, part in ipairs(parts) do files[places[i].number] = part.collectives end
  local share = partition.new(files)
  local function ask(name, told) return { share[name](share, told) } end
  made.met = met(ask_all(made, ask, places))
  made.collectives = share.matched
  return made
end


-- The same where each process has collectives of its own: this one gets of them what tables need
-- and, of the first `drawn` ranks, what a page draws.
local function collect_from_all(parts, ranks, places, far, left_out)
  local made = made_of(parts, ranks, left_out)
  local answers, worlds = ask_all(made, far.ask, places, far.drawn)
  made.met = met(answers)
  if far.drawn and worlds then
    made.collectives = drawn(answers, { drawn = far.drawn, worlds = worlds })
  end
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
local function add_pipeline(made, places)
  local busy = joined(made.parts, "busy", made.clocks, PIPELINE_TIMES)
  local told_by = on_one_clock(made.parts) and pipeline.find(made.ranks, made.collectives, busy)
  if not told_by then return made end
  local parts = apart(made.parts)
  local again = collect(parts, made.ranks, places, made.left_out)
  again.parts, again.told_by = made.parts, told_by
  again.busy = joined(parts, "busy", again.clocks, PIPELINE_TIMES)
  again.p2p = joined(parts, "p2p", again.clocks, collectives.times)
  return again
end


-- far: ask (a function that has every process of a job do a step of llmprof.ranks.partition with
-- the parts that are its own, and gives the answers of all) and drawn; then parts have no
-- collectives, nor sends and receives, but the number of their file, and `collectives` are a few.
-- nil where all is here. left_out: what a timeline leaves out, see uncounted.windows.
--
-- { parts (in order), ranks (list of { rank, file, pid, device, tp, ... }), steps, collectives
-- (with what core/ranks/collectives.h adds; each nil without any), kernels, met (what
-- llmprof.ranks.partition keeps of them), clocks (by part: { offset, drift, at }), fits
-- (by part, of llmprof.collectives.clock), groups (by rank: { leader, fit, share }), windows
-- (of uncounted.windows; steps and met have its mark) }, and of a pipeline told_by, busy and
-- p2p (the sends and receives). Frames of the parts are taken over.
function merged.of(given, far, left_out)
  local parts = merged.in_order(given)
  local ranks = number_ranks(parts)
  local places = renumber_all(parts, ranks)
  local made = far and collect_from_all(parts, ranks, places, far, left_out)
    or add_pipeline(collect(parts, ranks, places, left_out), places)
  made.steps = joined(parts, "steps", made.clocks, STEP_TIMES)
  if not made.met then made.windows = uncounted.windows(parts, made.clocks, left_out) end
  made.steps = made.steps and uncounted.mark_steps(made.steps, made.windows)
  made.kernels = joined(parts, "kernels", made.clocks, {})
  return made
end


return merged
