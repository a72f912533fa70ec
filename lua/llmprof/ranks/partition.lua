-- The matching of collectives, as far as one process does it: it has those of some of the
-- files, and owns some of all, by their key and ordinal. merged asks every process for each
-- step in turn, and puts the answers together; where there is one process it has and owns
-- all. What is asked and answered are lists and frames, which can be sent.
local clocks = require "llmprof.ranks.clocks"
local collectives = require "llmprof.collectives"
local errors = require "llmprof.process.errors"
local found = require "llmprof.ranks.collectives"
local interrupt = require "llmprof.interrupt"
local json = require "llmprof.json"
local pack = require "llmprof.pack"
local rows = require "llmprof.ranks.rows"
local spans = require "llmprof.spans"
local tuple = require("llmprof.tables.keys").tuple
local uncounted = require "llmprof.ranks.uncounted"

local partition = {}

-- ---- what is kept of matched collectives ----

-- What is kept of collectives that were matched: sums, and the rows of those who came last.
-- It is small beside them, and that of several processes, each with collectives of its own,
-- makes that of all.

-- The FRAMES of it, and the order of their rows, which is then the same however the
-- collectives were divided.
local FRAMES = { "sums", "last", "steps" }

local ORDER = {
  -- by rank, kernel and place: count, start (the first), duration, hidden, waiting (of those
  -- that met others), members (the most), met (1: of those), uncounted (absent in what counts)
  sums = { "world", "start", "key", "short_name", "phase", "layer", "met", "uncounted" },
  -- who came last, one for each collective
  last = { "world", "start", "key", "ordinal" },
  -- by rank and step, of those that met others: waiting, transfer
  steps = { "world", "number" },
}

local SUMS = { { "count", "count" }, { "start", "min", "start" },
  { "duration", "sum", "duration" }, { "hidden", "sum", "hidden" },
  { "waiting", "sum", "waiting" }, { "members", "max", "members" } }

local OF_STEPS = { { "waiting", "sum", "waiting" }, { "transfer", "sum", "transfer" } }

local LAST = { "world", "key", "ordinal", "short_name", "phase", "layer", "turn", "place",
  "number", "message", "members", "start", "transfer", "skew", "late", "caused", "more_work",
  "more_gap", "more_kernels", "uncounted" }

-- What is read of collectives, and of it what not all have.
local READ = { "world", "key", "ordinal", "short_name", "phase", "layer", "turn", "place",
  "number", "message", "start", "duration", "hidden", "instance", "members", "waiting", "transfer",
  "skew", "late", "caused", "more_work", "more_gap", "more_kernels", "uncounted" }
local TEXTS = { short_name = true, phase = true }


-- A view with all that is read; absent what is not there.
local function with_all(all)
  local there, lacking = {}, {}
  for _, name in ipairs(READ) do
    if rows.has(all, name) then
      there[#there + 1] = name
    else
      lacking[#lacking + 1] = { name = name, type = TEXTS[name] and "string" or "integer",
        get = function() return nil end }
    end
  end
  local view = errors.check(all:select(there))
  return #lacking > 0 and rows.extend(view, {}, lacking) or view
end


-- all: collectives as llmprof.ranks.partition has matched them.
local function totals_of(all)
  local view = with_all(all)
  view:compute { name = "met", type = "integer", steps = { 1, { "instance" }, "where" } }
  local in_steps = view:where { met = 1, { "number", "~=", false } }
  return {
    sums = view:group { by = { "world", "key", "short_name", "phase", "layer", "met",
      "uncounted" }, columns = SUMS },
    last = view:where({ { "late", "~=", false } }):select(LAST),
    steps = in_steps:group { by = { "world", "number" }, columns = OF_STEPS },
  }
end


-- The same of what counts alone; steps are as they were.
function partition.counted(all)
  return { sums = errors.check(all.sums:where { uncounted = false }),
    last = errors.check(all.last:where { uncounted = false }), steps = all.steps }
end


-- That of several, which are taken over; nil of none.
function partition.together(list)
  if #list == 0 then return nil end
  local made = {}
  for _, name in ipairs(FRAMES) do
    local frames, order = {}, {}
    for i, own in ipairs(list) do frames[i] = own[name] end
    for i, column in ipairs(ORDER[name]) do order[i] = { column } end
    made[name] = errors.check(pack.join(frames):sort(order))
  end
  return made
end


-- ---- collectives of all ranks ----

local Partition = {}
Partition.__index = Partition

local at = { rank = "world", start = "start", ["end"] = "end", key = "key" }
local matched = { rank = "world", start = "start", ["end"] = "end", key = "key",
  ordinal = "ordinal", lag = "lag" }


-- ---- frames ----

-- Add `world`, the rank among all of them, and, where rows are in steps, `number`, the
-- step among all of them. world: by a rank's number in its file; before: steps of the files
-- before, nil where no number is wanted.
function partition.renumber(frame, world, before)
  rows.extend(frame, { "rank" }, { { name = "world", type = "integer",
    get = function(key) return world[key.rank] end } })
  if not before or not rows.has(frame, "step") then return frame end
  return rows.extend(frame, { "step" }, { { name = "number", type = "integer",
    get = function(key) return key.step and key.step + before end } })
end


-- Frames, one after the other, with the columns of the one that has most.
function partition.join(frames, moved, times)
  local widest = frames[1]
  for _, frame in ipairs(frames) do
    if #frame:columns() > #widest:columns() then widest = frame end
  end
  local none = errors.check(widest:where { { "start", "<", math.mininteger + 1 } })
  return pack.join({ none, table.unpack(frames) }, { {}, table.unpack(moved) }, times)
end


-- The rows of all files, on clocks of one each; nil of none. Those of no rank are left out.
local function joined(self, clocks_of)
  local frames, moved = {}, {}
  for _, own in ipairs(self.parts) do
    frames[#frames + 1], moved[#moved + 1] = own.collectives, clocks_of[own.place]
  end
  if #frames == 0 then return nil end
  local all = partition.join(frames, moved, found.times)
  all = errors.check(all:where { { "world", "~=", false } })
  return #all > 0 and all or nil
end


-- ---- what is asked ----

-- files: by number, the collectives of this process' files. exchange: a function of frames by
-- process, from 1, that gives those which the processes sent to this one; size: how many there
-- are. Both nil where there is one.
function partition.new(files, exchange, size)
  return setmetatable({ files = files, exchange = exchange, size = size or 1 }, Partition)
end


-- Which kinds of collectives there are: list of { name, communicator, world, count }; and how
-- steps divide into layers: of communication.divisions. plan.parts: list of { number (of the
-- file), worlds (list of { a rank's number in its file, among all }), before (steps of the files
-- before), clock (what its UTC says) }, all parts in order.
function Partition:kinds(plan)
  local first = {}
  self.parts = {}
  for place, told in ipairs(plan.parts) do
    local world, own = {}, self.files[told.number]
    for _, pair in ipairs(told.worlds) do world[pair[1]] = pair[2] end
    if own and not rows.has(own, "world") then partition.renumber(own, world, told.before) end
    if own then self.parts[#self.parts + 1] = { place = place, collectives = own } end
    first[place] = told.clock
  end
  self.files = nil
  self.all = joined(self, first)
  local kinds = json.list {}
  if not self.all then return { kinds = kinds, divisions = json.list {} } end
  for i, group in ipairs(self.all:group { by = { "short_name", "communicator", "world" } }) do
    kinds[i] = { name = group.short_name, communicator = group.communicator, world = group.world,
      count = group.count }
  end
  return { kinds = kinds, divisions = found.divisions(self.all) }
end


-- Number the rows of each kind. told: kinds (list of { name, communicator }, whose places are
-- keys), counts (list of { key, world, count }), keys (the most frequent first), files (list of
-- { world, file }).
function Partition:number(told)
  local numbers, counts, part_of = {}, {}, {}
  for key, kind in ipairs(told.kinds) do
    numbers[tuple(kind.name, kind.communicator)], counts[key] = key, {}
  end
  for _, own in ipairs(told.counts) do counts[own[1]][own[2]] = own[3] end
  for _, own in ipairs(told.files) do part_of[own[1]] = own[2] end
  self.told = { counts = counts, keys = told.keys, part_of = part_of }
  self.kind_of = function(key) return numbers[tuple(key.short_name, key.communicator)] end
  if self.all then
    rows.extend(self.all, { "short_name", "communicator" }, { { name = "key", type = "integer",
      get = self.kind_of } })
    collectives.number(self.all, at, "ordinal")
    self.rows_of = clocks.finder(self.all)
  end
  return {}
end


-- { rows } of a rank, where it is one of this process.
function Partition:rows_of_rank(asked)
  local own = self.all and errors.check(self.all:where { world = asked.world })
  return own and #own > 0 and { rows = own:select(clocks.COLUMNS) } or {}
end


-- What clocks.fit finds of a leader, whose rows are given, and those of the candidates that
-- are of this process: { fits = list of { world, fit, share } }.
function Partition:fits(asked)
  local list, own = json.list {}, {}
  for _, group in ipairs(self.all and self.all:group { by = { "world" } } or {}) do
    own[group.world] = true
  end
  for _, world in ipairs(asked.candidates) do
    if own[world] then
      local fit, share = clocks.fit(asked.rows, self.rows_of, self.told, asked.leader, world)
      if fit then list[#list + 1] = { world = world, fit = fit, share = share } end
    end
  end
  return { fits = list }
end


-- By how much a rank's ordinals of a key lie behind those of its leader, where it was
-- seen from later on.
local function lag_of(group, own, world)
  if not group.share or not own[group.leader] or not own[world] then return 0 end
  return math.floor(group.share * (own[world] - own[group.leader]) + 0.5)
end


-- Rows with what they are matched by: key, of a kind and a group of ranks, ordinal and lag.
local function add_keys(self, all, told)
  local numbers, groups = {}, {}
  for number, key in ipairs(told.keys) do numbers[tuple(key[1], key[2])] = number end
  for _, own in ipairs(told.groups) do groups[own.world] = own end
  rows.extend(all, { "short_name", "communicator", "world" }, {
    { name = "key", type = "integer", get = function(key)
      return numbers[tuple(self.kind_of(key), groups[key.world].leader)] end },
    { name = "lag", type = "integer", get = function(key)
      return lag_of(groups[key.world], self.told.counts[self.kind_of(key)], key.world) end },
  })
  return collectives.number(all, at, "ordinal")
end


-- What its owner reads of a row.
local SENT = { "world", "key", "ordinal", "lag", "short_name", "name", "phase", "turn", "place",
  "number", "message", "start", "end", "duration", "previous", "hidden", "work_before", "before" }

-- The rows that this process owns of those that all have.
local function exchanged(self, all)
  local out = {}
  if all then
    local sent = {}
    for _, name in ipairs(SENT) do
      if rows.has(all, name) then sent[#sent + 1] = name end
    end
    rows.extend(all, { "key", "ordinal", "lag" }, { { name = "owner", type = "integer",
      get = function(key) return (key.key + key.ordinal - key.lag) % self.size + 1 end } })
    for process = 1, self.size do
      out[process] = errors.check(all:where({ owner = process }):select(sent))
    end
  end
  local came, moved = self.exchange(out), {}
  for i in ipairs(came) do moved[i] = {} end
  return #came > 0 and partition.join(came, moved, {}) or nil
end


-- Of the rows of few ranks what a page draws.
local function drawn_of(all, below)
  local seen = {}
  for _, name in ipairs { "world", "key", "ordinal", "start", "end", "duration", "name", "phase",
    "waiting" } do
    if rows.has(all, name) then seen[#seen + 1] = name end
  end
  return errors.check(all:where({ { "world", "<", below } }):select(seen))
end


-- Match the rows that this process owns; what llmprof.ranks.partition keeps of them and,
-- of ranks below `below`, `drawn`; nothing where it owns none. told: clocks (by place), groups
-- (list of { world, leader, share }), keys (list of { kind, leader }, whose places are keys),
-- divisions (by phase), windows (of uncounted, or nil), below (nil: nothing is drawn).
function Partition:match(told)
  self.all, self.rows_of = nil, nil
  local all = joined(self, told.clocks)
  if all then add_keys(self, all, told) end
  if self.exchange then
    self.parts = {}
    all = exchanged(self, all)
    interrupt.collect()
  end
  if not all then return {} end
  collectives.match(all, matched)
  spans.rest(all, { start = "previous", ["end"] = "start" }, "work_before", "gap")
  collectives.excess(all, "work_before", "more_work")
  collectives.excess(all, "gap", "more_gap")
  collectives.excess(all, "before", "more_kernels")
  found.add_layers(all, told.divisions)
  all = uncounted.mark(all, "end", told.windows)
  self.matched = all
  local made = totals_of(all)
  made.drawn = told.below and drawn_of(all, told.below) or nil
  return made
end


return partition
