-- Collectives of a trace: one row for each kernel of one, with what its rank did
-- before it. They are matched with those of other ranks by llmprof.ranks.merged. And what they
-- took: by rank, by kernel, by phase and layer, and which rank the others waited for there.
local native = require "llmprof.collectives"
local rows = require "llmprof.ranks.rows"
local spans = require "llmprof.spans"
local errors = require "llmprof.process.errors"
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"

local collectives = {}

local COMPUTE, COMMUNICATION = 0, 1


-- What the name of a kernel says: op ("all-reduce"), and whose it is.
local operations = {
  { "reduce_?scatter", "reduce-scatter" }, { "all_?reduce", "all-reduce" },
  { "cross_device_reduce", "all-reduce" }, { "all_?gather", "all-gather" },
  { "dcp_%w+_gather", "all-gather" },
  { "all_?to_?all", "all-to-all" }, { "moea2a", "all-to-all" }, { "dispatch", "dispatch" },
  { "combine", "combine" }, { "broadcast", "broadcast" }, { "send_?recv", "send-receive" },
  { "reduce.*lamport", "all-reduce" }, { "reduce", "reduce" },
  { "userbuffers_.*sum", "all-reduce" },
}

local libraries = {
  { "^nccl", "NCCL" }, { "cross_device_", "custom all-reduce" }, { "deep_?ep", "DeepEP" },
  { "quickreduce", "quick all-reduce" }, { "symmetric_memory", "symmetric memory" },
  { "nvshmem", "NVSHMEM" }, { "mnnvl", "multi-node NVLink" },
  { "multimem", "NVLink multicast" },
}

local function first_of(list, text)
  for _, entry in ipairs(list) do
    if text:find(entry[1]) then return entry[2] end
  end
  return nil
end


-- { op, library }, as far as a kernel's names tell: not NCCL's algorithm and protocol, as one
-- kernel is called RING_LL whatever runs.
function collectives.describe(name, short)
  return { op = first_of(operations, (short or name):lower()) or "other",
    library = first_of(libraries, name:lower()) or "other" }
end


-- Add `p2p` to kernels: 1 for sends and receives between two ranks, else 0.
function collectives.add_p2p(kernels)
  return rows.add(kernels, "p2p", { "name" }, function(key)
    return key.name and key.name:find "^nccl[%w_]*SendRecv" and 1 or 0
  end)
end


-- The rows of a trace's collectives: kernels, with rank, work and step, that are some.
-- Adds lane (0 on the stream where its rank has most, else 1), previous, before,
-- signature, follows, which look back to the last one of its lane: what runs beside the layers
-- must not divide them; and how much of the row and of the time before it computing kernels of
-- the rank covered: hidden, work_before.
function collectives.of_kernels(kernels, list)
  local computing = kernels:where { work = COMPUTE, { "rank", "~=", false } }
  local made = kernels:where { work = COMMUNICATION, { "rank", "~=", false } }
  local main, sets = {}, {}
  for _, own in ipairs((lists.grouped(made:group { by = { "rank", "stream" } }, "rank"))) do
    main[own[1].rank] = lists.largest(own, "count").stream
  end
  rows.extend(made, { "rank", "stream" }, { { name = "lane", type = "integer",
    get = function(key) return key.stream == main[key.rank] and 0 or 1 end } })
  native.before(made, { rank = "rank", start = "start", ["end"] = "end", lane = "lane" }, computing,
    { rank = "rank", start = "start", name = "short_name" })
  for _, member in ipairs(#made > 0 and list or {}) do
    sets[member.rank + 1] = computing:where { rank = member.rank }:union()
  end
  spans.cover(made, { start = "start", ["end"] = "end", key = "rank" }, sets,
    "hidden")
  spans.cover(made, { start = "previous", ["end"] = "start", key = "rank" }, sets,
    "work_before")
  computing:close()
  return made
end


-- Add `place`: which of its step's collectives on the main stream a row is, from 0.
function collectives.place(made)
  rows.extend(made, { "lane", "step" }, { { name = "placed", type = "integer",
    get = function(key) return key.lane == 0 and key.step or nil end } })
  native.number(made, { rank = "rank", start = "start", ["end"] = "end",
    key = "placed" }, "place")
  return made
end


-- Columns that a part keeps, in this order.
collectives.kept = { "rank", "step", "phase", "turn", "place", "name", "short_name", "stream",
  "communicator", "message", "p2p", "said", "start", "end", "duration", "api_start", "previous",
  "before", "signature", "follows", "hidden", "work_before" }

-- Those of them that are times on the trace's clock.
collectives.times = { "start", "end", "api_start", "previous" }


-- ---- layers ----

-- Layers: the period inside a step. The collectives of a step are alike from layer to
-- layer in what was computed before them; a layer's number counts from 0.

-- Fewer collectives in a row that repeat are no layers.
local LEAST = 4


-- From where to where the list repeats itself after `period`, for longest:
-- the first and the last place, from 0.
local function repetition(list, period)
  local best_first, best_last, first = 0, -1, 1
  for i = 1, #list do
    if i + period > #list or list[i] ~= list[i + period] then
      if i > first and i - 1 + period - first > best_last - best_first then
        best_first, best_last = first - 1, i - 2 + period
      end
      first = i + 1
    end
  end
  return best_first, best_last
end


-- Does a layer begin at this place, too, whatever was computed before it: do its collectives
-- follow the same kernels as those of the next one?
local function is_alike(follows, start, period)
  for place = start + 1, start + period do
    if not follows[place] or follows[place] ~= follows[place + period] then return false end
  end
  return true
end


-- How a step divides: { period (collectives of a layer), first (place of the first one's
-- first), count }; nil when it has none. what: of each collective of a step, in order,
-- what was computed before it, follows: the kernel that ran last before it. The last layer is
-- a whole one; the first may begin otherwise than the rest.
function collectives.layers_of(what, follows)
  for period = 1, #what // 2 do
    local first, last = repetition(what, period)
    local length = last - first + 1
    if length >= math.max(LEAST, 2 * period, #what // 2) then
      local count = (length + period - 1) // period
      local start = last + 1 - count * period
      if start < 0 then count, start = count - 1, start + period end
      if start >= period and is_alike(follows, start - period, period) then
        count, start = count + 1, start - period
      end
      return { period = period, first = start, count = count }
    end
  end
  return nil
end


-- The layer of the collective at a place (from 0) of its step; nil outside of them.
function collectives.layer_at(division, place)
  if not division or not place or place < division.first then return nil end
  local layer = (place - division.first) // division.period
  return layer < division.count and layer or nil
end


-- ---- communication ----

local function total(group, column) return group and group[column] and group[column].total or 0 end


-- Of rows as llmprof.ranks.merged makes them, here and below, those that met others of their
-- kind; and those of the ranks that came last, one for each collective.
function collectives.matched(all) return all:where { { "instance", "~=", false } } end

function collectives.last(all) return all:where { { "late", "~=", false } } end


-- Fill in what records of ranks tell of collectives, and of waiting as far as some were matched.
function collectives.add_to_ranks(ranks, all)
  local own = rows.by(all, "world", { total = { "duration", "hidden", "waiting" } })
  local late = rows.by(collectives.last(all), "world", { total = { "caused" } })
  for _, rank in ipairs(ranks) do
    local group, last = own[rank.rank], late[rank.rank]
    rank.collectives = group and group.count or 0
    rank.collective_ns, rank.hidden_ns = total(group, "duration"), total(group, "hidden")
    rank.exposed_ns = rank.collective_ns - rank.hidden_ns
    if group and group.waiting.count > 0 then
      rank.matched, rank.waiting_ns = group.waiting.count, group.waiting.total
      rank.last, rank.caused_ns = last and last.count or 0, total(last, "caused")
    end
  end
end


-- ---- kernels ----

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
  if not sized or sized.transfer.total <= 0 then return end
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


-- The least that a link needs for a collective, ns; nil of operations that are not known.
function collectives.least(name, ranks, bytes, link)
  local traffic = name and TRAFFIC[collectives.describe(name, name).op]
  if not traffic then return nil end
  local factor, parts = traffic(ranks)
  return bytes * parts * factor / link.bytes_per_s * 1e9
end


-- Each kernel of a collective, as results.json has it. A damaged file may lack the short name of
-- one.
function collectives.kernels(all, link)
  local list, last = json.list {}, collectives.last(all)
  local decoding = rows.by(all:where { phase = "decode" }, "short_name",
    { distinct = { "world" } })
  local sized = rows.by(last:where { { "message", "~=", false } }, "short_name",
    { sum = { "message", "transfer" } })
  local met = rows.by(last, "short_name", { sum = { "transfer", "skew" } })
  for kernel, group in pairs(rows.by(all, "short_name", { total = { "duration", "waiting" },
    distinct = { "world" } })) do
    local name = kernel or "(unnamed kernel)"
    local made, own, decodes = collectives.describe(name, name), met[kernel], decoding[kernel]
    made.name, made.ranks = name, group.distinct.world
    made.count, made.total_ns = group.count // group.distinct.world, group.duration.total
    made.matched, made.waiting_ns = own and own.count or 0, group.waiting.total
    made.decode_count = decodes and decodes.count // decodes.distinct.world
    add_bandwidth(made, sized[kernel], link)
    if own then
      made.transfer_ns, made.transfer_p50_ns = own.transfer.total, own.transfer.median
      made.skew_p50_ns = own.skew.median
    end
    list[#list + 1] = made
  end
  return lists.sort(list, "-total_ns", "name")
end


-- ---- layers ----

-- How the steps of each phase divide into layers (see layers_of), by phase: asked of the middle
-- step of each rank, what divides best, of the lowest such rank. all: rows of whole ranks.
function collectives.divisions(all)
  local best = {}
  local placed = all:where { { "place", "==", 0 }, { "phase", "~=", false } }
  for _, group in ipairs(lists.sort(placed:group { by = { "phase", "world" } }, "world")) do
    local phase, world, known = group.phase, group.world, best[group.phase]
    local own = placed:where({ phase = phase, world = world }):sort { { "start" } }
    local step = all:where({ phase = phase, world = world, number = own:get(#own // 2 + 1,
      "number") }):sort { { "place" } }
    local made = collectives.layers_of(step:values "signature", step:values "follows")
    if made and (not known or made.count > known.count) then best[phase] = made end
  end
  return best
end


-- Add `layer` to collectives that are in steps. divisions: such.
function collectives.add_layers(all, divisions)
  rows.add(all, "layer", { "phase", "place" }, function(key)
    return key.phase and collectives.layer_at(divisions[key.phase], key.place)
  end)
end


-- Who the others waited for, by phase and layer (absent: outside of layers), the most first.
function collectives.places(all)
  local groups = collectives.last(all):group { by = { "world", "phase", "layer" },
    sum = { "caused", "late", "more_work", "more_gap", "more_kernels" } }
  return json.list(lists.sort(lists.map(groups, function(group)
    return { phase = group.phase, layer = group.layer, rank = group.world, count = group.count,
      caused_ns = group.caused.total, late_ns = group.late.total,
      more_work_ns = total(group, "more_work"), more_gap_ns = total(group, "more_gap"),
      more_kernels = group.more_kernels.mean }
  end), "-caused_ns", "rank", "phase", "layer"))
end


-- Sums over all ranks by columns, transfer_ns being of each collective once; make(group): the
-- record that they are laid over.
local function summed(all, by, make)
  local view = errors.check(all:select { "phase", "layer", "duration", "hidden", "waiting",
    "transfer", "late" })
  view:compute { name = "once", type = "integer", steps = { { "transfer" }, { "late" }, "where" } }
  return lists.map(view:group { by = by, total = { "duration", "hidden", "waiting", "once" } },
    function(group)
      local made = make(group)
      made.collective_ns, made.hidden_ns = group.duration.total, group.hidden.total
      made.exposed_ns = made.collective_ns - made.hidden_ns
      made.waiting_ns, made.transfer_ns = group.waiting.total, group.once.total
      return made
    end)
end


-- By phase and layer over all ranks: rows that add up, as without a layer is what lies outside of
-- them, without a phase outside of steps. Empty where no step has layers.
function collectives.layers(all)
  local list = summed(all, { "phase", "layer" }, function(group)
    return { phase = group.phase, layer = group.layer, collectives = group.count }
  end)
  return json.list(lists.any(list, "layer") and lists.sort(list, "phase", "layer") or {})
end


-- The same of all.
function collectives.totals(all)
  return summed(all, {}, function(group)
    return { count = group.count, matched = group.once.count,
      unmatched = group.count - group.waiting.count }
  end)[1]
end


-- The first of a phase's steps, as they are counted since the last step of another
-- phase, from which on a rank held the others up in a layer: where its caused waiting
-- per step rises for good; nil when it did so from the first, or on and off.
function collectives.first_turn(all, place)
  local of = collectives.last(all):where { phase = place.phase, layer = place.layer,
    world = place.rank, { "turn", "~=", false } }
  local caused, most = {}, -1
  for _, group in ipairs(of:group { by = { "turn" }, sum = { "more_work", "more_gap" } }) do
    caused[group.turn] = math.max(total(group, "more_work"), 0)
      + math.max(total(group, "more_gap"), 0)
    most = math.max(most, group.turn)
  end
  return collectives.rise(caused, most)
end


-- Where values[0..last] rise for good: the split at which what follows is more than
-- RISE times what was before it; nil without one.
local RISE = 3

function collectives.rise(values, last)
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


return collectives
