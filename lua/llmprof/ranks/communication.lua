-- What collectives took: by rank, by kernel, by phase and layer, and which rank the
-- others waited for there.
local found = require "llmprof.ranks.collectives"
local json = require "llmprof.json"
local layers = require "llmprof.ranks.layers"
local rows = require "llmprof.ranks.rows"

local communication = {}

local SUMS = { "duration", "hidden", "waiting" }


-- Collectives that met others of their kind; those that came last, of which there is
-- one for each.
local function matched_of(all) return all:where { { "instance", "~=", false } } end
local function last_of(all) return all:where { { "late", "~=", false } } end


local function total(group, column)
  return group and group[column] and group[column].total or 0
end


local function by_world(frame, sums)
  local list = {}
  for _, group in ipairs(frame:group { by = { "world" }, sum = sums }) do
    list[group.world] = group
  end
  return list
end


-- ---- ranks ----

-- Fill in the records of ranks: collectives, collective_ns, hidden_ns, exposed_ns, and,
-- as far as some were matched, matched, waiting_ns, last (how often it came last) and
-- caused_ns (the others' waiting for it).
function communication.add_to_ranks(ranks, all)
  local own, met = by_world(all, SUMS), by_world(matched_of(all), SUMS)
  local late = by_world(last_of(all), { "caused" })
  for _, rank in ipairs(ranks) do
    local group, matched = own[rank.rank], met[rank.rank]
    rank.collectives = group and group.count or 0
    rank.collective_ns, rank.hidden_ns = total(group, "duration"), total(group, "hidden")
    rank.exposed_ns = rank.collective_ns - rank.hidden_ns
    if matched then
      rank.matched, rank.waiting_ns = matched.count, total(matched, "waiting")
      rank.last = late[rank.rank] and late[rank.rank].count or 0
      rank.caused_ns = total(late[rank.rank], "caused")
    end
  end
end


-- ---- kernels ----

-- A damaged file may lack the short name of a kernel.
local function name_of(group)
  return group.short_name or "(unnamed kernel)"
end


-- By kernel, how many each rank ran in decode steps.
local function in_decode(all)
  local counts = {}
  if not rows.has(all, "phase") then return counts end
  local decodes = all:where { phase = "decode" }
  for _, group in ipairs(decodes:group { by = { "short_name" }, distinct = { "world" } }) do
    counts[name_of(group)] = group.count // group.distinct.world
  end
  return counts
end


-- What a link carries for each byte of a message between n ranks, as nccl-tests has it;
-- and how many messages of a rank make the whole.
local TRAFFIC = {
  ["all-reduce"] = function(n) return 2 * (n - 1) / n, 1 end,
  ["all-gather"] = function(n) return (n - 1) / n, n end,
  ["reduce-scatter"] = function(n) return (n - 1) / n, n end,
  ["all-to-all"] = function(n) return (n - 1) / n, 1 end,
  ["broadcast"] = function() return 1, 1 end,
  ["reduce"] = function() return 1, 1 end,
}

-- Ranks of one node at most: with more the network between nodes is a link, too.
local NODE = 8

-- Message sizes and bandwidths, where NCCL's payloads say them. sized: of the rows that
-- came last, by kernel; link: { name, bytes_per_s } between the GPUs, nil: not known.
local function add_bandwidth(made, sized, link)
  if not sized or sized.message.count == 0 or sized.transfer.total <= 0 then return end
  local traffic = TRAFFIC[made.op]
  made.bytes = sized.message.median
  if not traffic then return end
  local factor, parts = traffic(made.ranks)
  made.algbw = sized.message.total * parts / sized.transfer.total * 1e9
  made.busbw = made.algbw * factor
  if link and made.ranks <= NODE then
    made.link, made.link_share = link.name, made.busbw / link.bytes_per_s
  end
end


local function sized_of(all)
  local list = {}
  local last = all:where { { "late", "~=", false }, { "message", "~=", false } }
  for _, group in ipairs(last:group { by = { "short_name" }, sum = { "message", "transfer" } }) do
    list[name_of(group)] = group
  end
  return list
end


-- Each kernel of a collective: { name, op, library, algorithm, protocol, count (of one
-- rank), decode_count (the same in decode steps), matched (of all), total_ns (of all
-- ranks), waiting_ns, transfer_ns, transfer_p50_ns, skew_p50_ns, bytes, algbw, busbw, link
-- (its name), link_share (of what it carries in one direction) }, as far as known.
function communication.kernels(all, link)
  local list, met, decoding, sized = json.list {}, {}, in_decode(all), sized_of(all)
  for _, group in ipairs(matched_of(all):group { by = { "short_name" }, sum = { "waiting" } }) do
    met[name_of(group)] = { waiting = group.waiting.total }
  end
  for _, group in ipairs(last_of(all):group { by = { "short_name" },
    sum = { "transfer", "skew" } }) do
    local kernel = met[name_of(group)]
    kernel.count, kernel.transfer, kernel.skew = group.count, group.transfer, group.skew
  end
  for i, group in ipairs(all:group { by = { "short_name" }, sum = { "duration" },
    distinct = { "world" } }) do
    local made, own = found.describe(name_of(group), name_of(group)),
      met[name_of(group)] or {}
    made.name, made.ranks = name_of(group), group.distinct.world
    made.count, made.total_ns = group.count // group.distinct.world, group.duration.total
    made.matched, made.waiting_ns = own.count or 0, own.waiting
    made.decode_count = decoding[name_of(group)]
    add_bandwidth(made, sized[name_of(group)], link)
    if own.transfer then
      made.transfer_ns, made.transfer_p50_ns = own.transfer.total, own.transfer.median
      made.skew_p50_ns = own.skew.median
    end
    list[i] = made
  end
  table.sort(list, function(a, b)
    if a.total_ns ~= b.total_ns then return a.total_ns > b.total_ns end
    return a.name < b.name
  end)
  return list
end


-- ---- layers ----

-- What was computed before each collective of one step of a phase on a rank, in order.
local function signatures(all, phase, world, number)
  local step = all:where { phase = phase, world = world,
    number = number }:sort { { "place" } }
  return step:values "signature"
end


-- By phase, how its steps divide into layers: asked of the middle step of each rank,
-- the one that divides best.
local function divisions(all)
  local made, middle = {}, {}
  local placed = all:where { { "place", "==", 0 }, { "phase", "~=", false } }
  for _, group in ipairs(placed:group { by = { "phase", "world" }, sum = { "number" },
    percentiles = { 50 } }) do
    middle[#middle + 1] = group
  end
  for _, group in ipairs(middle) do
    local own = placed:where { phase = group.phase, world = group.world }
    local number = own:sort { { "start" } }:get(#own // 2 + 1, "number")
    local division = layers.of(signatures(all, group.phase, group.world, number))
    local best = made[group.phase]
    if division and (not best or division.count > best.count) then
      made[group.phase] = division
    end
  end
  return made
end


-- Add `layer` to collectives that are in steps; returns how those of each phase divide.
function communication.add_layers(all)
  if not rows.has(all, "place") then return {} end
  local made = divisions(all)
  rows.extend(all, { "phase", "place" }, { { name = "layer", type = "integer",
    get = function(key) return key.phase and layers.at(made[key.phase], key.place) end } })
  return made
end


local function place_record(group)
  return { phase = group.phase, layer = group.layer, rank = group.world, count = group.count,
    caused_ns = group.caused.total, late_ns = group.late.total,
    more_work_ns = total(group, "more_work"), more_gap_ns = total(group, "more_gap"),
    more_kernels = group.more_kernels.mean }
end


-- Who the others waited for, by phase and layer (absent: outside of layers), the most
-- first: list of { phase, layer, rank, count, caused_ns, late_ns, more_work_ns,
-- more_gap_ns, more_kernels }. more_work_ns: how much longer the late rank computed
-- before it than the others as their mean, more_gap_ns: how much longer it did nothing,
-- more_kernels: how many more it ran, as the mean.
function communication.places(all)
  local list = json.list {}
  local by = rows.has(all, "layer") and { "world", "phase", "layer" } or { "world" }
  for i, group in ipairs(last_of(all):group { by = by,
    sum = { "caused", "late", "more_work", "more_gap", "more_kernels" } }) do
    list[i] = place_record(group)
  end
  table.sort(list, function(a, b)
    if a.caused_ns ~= b.caused_ns then return a.caused_ns > b.caused_ns end
    if a.rank ~= b.rank then return a.rank < b.rank end
    return (a.phase or "") .. (a.layer or -1) < (b.phase or "") .. (b.layer or -1)
  end)
  return list
end


local function layer_key(group)
  return ("%s/%s"):format(group.phase, group.layer)
end


local function by_layer(a, b)
  if a.phase ~= b.phase then return (a.phase or "") < (b.phase or "") end
  return (a.layer or -1) < (b.layer or -1)
end


-- By phase and layer over all ranks: list of { phase, layer, collectives, collective_ns,
-- hidden_ns, exposed_ns, waiting_ns, transfer_ns (each collective once) }, which add up:
-- without a layer is what lies outside of them, without a phase outside of steps. Empty
-- where no step has layers.
function communication.layers(all)
  local list, known = json.list {}, {}
  if not rows.has(all, "layer") or #all:where { { "layer", "~=", false } } == 0 then
    return list
  end
  for i, group in ipairs(all:group { by = { "phase", "layer" }, sum = SUMS }) do
    local made = { phase = group.phase, layer = group.layer, collectives = group.count,
      collective_ns = group.duration.total, hidden_ns = group.hidden.total,
      exposed_ns = group.duration.total - group.hidden.total,
      waiting_ns = group.waiting.count > 0 and group.waiting.total or nil }
    list[i], known[layer_key(group)] = made, made
  end
  for _, group in ipairs(last_of(all):group { by = { "phase", "layer" }, sum = { "transfer" } }) do
    local made = known[layer_key(group)]
    made.transfer_ns = group.transfer.total
  end
  table.sort(list, by_layer)
  return list
end


-- ---- all together ----

-- Sums over all ranks: { count, matched, unmatched (rows), collective_ns, waiting_ns,
-- transfer_ns, hidden_ns, exposed_ns }.
function communication.totals(all)
  local everything = all:group { sum = SUMS }[1]
  local met, last = matched_of(all), last_of(all):group { sum = { "transfer" } }[1]
  local waiting = met:group { sum = { "waiting" } }[1]
  return { count = #all, matched = last and last.count or 0, unmatched = #all - #met,
    collective_ns = everything.duration.total, hidden_ns = everything.hidden.total,
    exposed_ns = everything.duration.total - everything.hidden.total,
    waiting_ns = waiting and waiting.waiting.total, transfer_ns = last and last.transfer.total }
end


-- The first of a phase's steps, as they are counted since the last step of another
-- phase, from which on a rank held the others up in a layer: where its caused waiting
-- per step rises for good; nil when it did so from the first, or on and off.
function communication.first_turn(all, place)
  local of = last_of(all):where { phase = place.phase, layer = place.layer,
    world = place.rank, { "turn", "~=", false } }
  local caused, most = {}, -1
  for _, group in ipairs(of:group { by = { "turn" }, sum = { "more_work", "more_gap" } }) do
    caused[group.turn] = math.max(total(group, "more_work"), 0)
      + math.max(total(group, "more_gap"), 0)
    most = math.max(most, group.turn)
  end
  return communication.rise(caused, most)
end


-- Where values[0..last] rise for good: the split at which what follows is more than
-- RISE times what was before it; nil without one.
local RISE = 3

function communication.rise(values, last)
  local best, best_gain = nil, 0
  local before, after = 0, 0
  for i = 0, last do after = after + (values[i] or 0) end
  for split = 1, last - 1 do
    before, after = before + (values[split - 1] or 0), after - (values[split - 1] or 0)
    local low, high = before / split, after / (last + 1 - split)
    local gain = (high - low) * (high - low) * split * (last + 1 - split)
    if high > RISE * low and gain > best_gain then best, best_gain = split, gain end
  end
  return best
end


return communication
