-- The events that the page draws: one representative repeat, or as many steps, in full,
-- and how busy each lane was in the rest.
--
-- The file is gzip over: a line of JSON, { version, span (of the GPU's operations), window
-- (what is here in full), view (what is shown first; all { first, last } in ns of the
-- trace), lanes (list of { kind, title }), labels (texts), stages (names),
-- frames (list of { name, bytes }) }, then these frames one after the other as
-- llmprof.pack encodes them. Lanes, labels and stages are counted from 0. Kinds of lanes:
-- gpu, api, range, stage, step, layer.
--
--   gpu    start, duration (ns), lane, label, place (a stage), kernel (id in results.kernels),
--          api_start (of the launching call), queue_time (ns from its end), waiting (ns that a
--          collective waited for others); what is not known is absent
--   api    start, duration, lane, label
--   range  the same, of NVTX
--   mark   the same, of stages, steps and layers, as they were on the GPU
--   busy   lane, share (0 to 255): SHARES rows for each lane, over the whole span; none
--          where the window has all of it
local errors = require "llmprof.base.errors"
local frame = require "llmprof.frame"
local json = require "llmprof.json"
local pack = require "llmprof.pack"
local rows = require "llmprof.ranks.rows"
local text = require "llmprof.text"
local tuple = require "llmprof.base.tuple"

local events = {}

-- Events in full; lanes of a kind; different names; columns of one.
events.MOST = 100000
local LANES, LABELS, LABEL = 48, 20000, 160

-- Shares of a lane over the whole trace.
local SHARES = 1024

-- Halvings until as many events are left as fit: more than times have bits of a day.
local HALVINGS = 48


local function check(value, message, code)
  return errors.check("failed", value, message, code)
end


-- ---- which part of the trace ----

local function between(view, first, last)
  return check(view:where { { "start", "<", last }, { "end", ">", first } })
end


local function count(views, first, last)
  local sum = 0
  for _, view in ipairs(views) do sum = sum + #between(view, first, last) end
  return sum
end


-- First start and last end of GPU operations; nil without any.
local function span_of(ops)
  local first, last = ops:extent()
  if not first or last <= first then return nil end
  return { first = first, last = last }
end


-- The stretches of the repeats that count, by length.
local function repeats_of(found)
  local list, by_rep = {}, {}
  for _, instance in ipairs(found.instances) do
    if instance.used and not instance.parent then
      local stretch = by_rep[instance.rep]
      if not stretch then
        stretch = { first = math.huge, last = -math.huge }
        by_rep[instance.rep], list[#list + 1] = stretch, stretch
      end
      stretch.first = math.min(stretch.first, instance.host_start or instance.start)
      stretch.last = math.max(stretch.last, instance.stop)
    end
  end
  table.sort(list, function(a, b)
    local left, right = a.last - a.first, b.last - b.first
    if left ~= right then return left < right end
    return a.first < b.first
  end)
  return list
end


-- The longest stretch from `first` on, up to `last`, with no more events than fit.
local function shortened(views, first, last)
  local fits, beyond = first, last
  for _ = 1, HALVINGS do
    local middle = fits + (beyond - fits) // 2
    if middle == fits then break end
    if count(views, first, middle) <= events.MOST then fits = middle else beyond = middle end
  end
  return { first = first, last = math.max(fits, first + 1) }
end


-- From the first to the last event of all.
local function extent_of(views, span)
  local first, last = span.first, span.last
  for _, view in ipairs(views) do
    local from, to = view:extent()
    first, last = math.min(first, from or first), math.max(last, to or last)
  end
  return { first = first, last = last }
end


-- What is kept in full: everything, the repeat of middle length, or what fits of it; and
-- that repeat.
local function window_of(views, span, found)
  local repeats, all = repeats_of(found), 0
  local wanted = repeats[(#repeats + 1) // 2] or span
  for _, view in ipairs(views) do all = all + #view end
  if all <= events.MOST then return extent_of(views, span), wanted end
  if count(views, wanted.first, wanted.last) <= events.MOST then return wanted, wanted end
  local window = shortened(views, wanted.first, wanted.last)
  return window, window
end


-- ---- names and lanes ----

-- A list of different texts, each with its number from 0; those beyond the most are one.
local function numbering(most)
  local list, numbers = json.list {}, {}
  return list, function(name)
    local known = text.truncate(text.clean(name), LABEL, "middle")
    if #list >= most and not numbers[known] then known = "(other names)" end
    if not numbers[known] then
      list[#list + 1] = known
      numbers[known] = #list - 1
    end
    return numbers[known]
  end
end


local Scene = {}
Scene.__index = Scene


local function new_scene()
  local self = setmetatable({ lanes = json.list {}, per_kind = {} }, Scene)
  self.labels, self.label = numbering(LABELS)
  self.stages, self.stage = numbering(LABELS)
  return self
end


-- A new lane's number; nil where there are too many of its kind.
function Scene:lane(kind, title)
  self.per_kind[kind] = (self.per_kind[kind] or 0) + 1
  if self.per_kind[kind] > LANES then return nil end
  self.lanes[#self.lanes + 1] = { kind = kind, title = text.truncate(text.clean(title), LABEL,
    "middle") }
  return #self.lanes - 1
end


-- Lanes for the different keys of a frame, in the order of their values; adds "lane" and
-- returns the rows that have one. title: a function of a row of keys.
function Scene:add_lanes(view, kind, by, title)
  local keys, numbers = {}, {}
  for _, row in ipairs(view:group { by = by }) do keys[#keys + 1] = row end
  local function place(row)
    local list = {}
    for i, name in ipairs(by) do list[i] = row[name] or -1 end
    return list
  end
  table.sort(keys, function(a, b)
    local left, right = place(a), place(b)
    for i = 1, #by do
      if left[i] ~= right[i] then return left[i] < right[i] end
    end
    return false
  end)
  for _, row in ipairs(keys) do
    numbers[tuple(table.unpack(place(row)))] = self:lane(kind, title(row)) or false
  end
  rows.extend(view, by, { { name = "lane", type = "integer", get = function(row)
    return numbers[tuple(table.unpack(place(row)))]
  end } })
  return check(view:where { { "lane", ">=", 0 } })
end


-- ---- the GPU ----

local kind_names = { copy = "copy", set = "set", graph = "graph" }


-- A function from a row of stage, part and name to the id of the kernel in the results.
local function kernel_ids(kernels, whole)
  local ids = {}
  for _, kernel in ipairs(kernels) do
    ids[tuple(kernel.stage, kernel.part, kernel.name)] = kernel.id
  end
  return function(row) return ids[tuple(row.stage or whole, row.part, row.name)] end
end


-- By full name the one that is shown.
local function labels_of(kernels)
  local names = {}
  for _, kernel in ipairs(kernels) do names[kernel.name] = kernel.label end
  return names
end


-- By process its rank, where there are several.
local function ranks_of(found)
  local ranks = {}
  for _, instance in ipairs(found.instances) do
    if instance.pid and instance.rank then ranks[instance.pid] = instance.rank end
  end
  return ranks
end


local function gpu_title(ops, found)
  local pids, ranks = #ops:group { by = { "pid" } }, ranks_of(found)
  return function(row)
    local rank = ranks[row.pid or false]
    local process = pids > 1 and row.pid and not rank and (", process %d"):format(row.pid) or ""
    return ("%sGPU %s, stream %s%s"):format(rank and ("rank %d, "):format(rank) or "",
      row.device or "?", row.stream or "?", process)
  end
end


-- How long collectives waited, by when they began on which GPU; collectives: their frame,
-- or nil.
local function waits_of(collectives)
  local waits = {}
  for row = 1, collectives and #collectives or 0 do
    local waiting = collectives:get(row, "waiting")
    if waiting and waiting > 0 then waits[collectives:get(row, "start")] = waiting end
  end
  return waits
end


-- What the events of the GPU say, and where it is from: a column of keys, and a function
-- of a row of these.
function Scene:gpu_columns(given)
  local names, id_of = labels_of(given.kernels), kernel_ids(given.kernels, given.whole)
  local waits = waits_of(given.collectives)
  local function column(name, get) return { { name = name, type = "integer", get = get } } end
  return {
    { { "name", "kind" }, column("label", function(row)
      return self.label(names[row.name] or row.name or kind_names[row.kind] or "(unnamed)")
    end) },
    { { "name", "stage", "part" }, column("kernel", id_of) },
    { { "stage", "part" }, column("place", function(row)
      local stage = row.part or row.stage
      return stage and self.stage(stage)
    end) },
    { { "start" }, column("waiting", function(row) return waits[row.start] end) },
  }
end


function Scene:gpu(view, given)
  for _, made in ipairs(self:gpu_columns(given)) do rows.extend(view, made[1], made[2]) end
  return check(view:select { "start", "duration", "lane", "label", "place", "kernel", "api_start",
    "queue_time", "waiting" })
end


-- ---- the CPU ----

local function thread_title(what)
  return function(row)
    return ("%s, thread %s%s"):format(what, row.tid or "?",
      row.level and row.level > 0 and (", level %d"):format(row.level) or "")
  end
end


-- Events that say no more than what they are.
function Scene:plain(view, name)
  rows.extend(view, { name }, { { name = "label", type = "integer", get = function(row)
    return self.label(row[name] or "(unnamed)")
  end } })
  return check(view:select { "start", "duration", "lane", "label" })
end


-- ---- stages, steps and layers ----

-- A frame of marks: list of { start, stop, lane, label }.
local function marks_frame(list)
  local columns = {}
  for i, name in ipairs { "start", "duration", "lane", "label" } do
    columns[i] = { name = name, type = "integer", values = {} }
  end
  for row, mark in ipairs(list) do
    columns[1].values[row], columns[2].values[row] = mark.start, mark.stop - mark.start
    columns[3].values[row], columns[4].values[row] = mark.lane, mark.label
  end
  return frame.new(#list, columns)
end


local function is_seen(stretch, window)
  return stretch.start < window.last and stretch.stop > window.first
end


-- Lanes of stages by rank, of parts, and of steps by rank.
function Scene:stage_marks(found, add)
  local lanes = {}
  local function lane(kind, title)
    if lanes[title] == nil then lanes[title] = self:lane(kind, title) or false end
    return lanes[title]
  end
  for _, instance in ipairs(found.instances) do
    local rank = instance.rank and ("rank %d, "):format(instance.rank) or ""
    add(instance, lane("stage", rank .. (instance.parent and "parts of stages" or "stages")),
      instance.stage)
    for number, step in ipairs(instance.steps or {}) do
      add(step, lane("step", rank .. "steps"), ("%s, step %d"):format(instance.stage, number))
    end
  end
end


-- Marks of a window, as a frame.
function Scene:marks(given, window)
  local list = {}
  local function add(stretch, lane, label)
    if lane and is_seen(stretch, window) and #list < events.MOST then
      list[#list + 1] = { start = stretch.start, stop = stretch.stop, lane = lane,
        label = self.label(label) }
    end
  end
  self:stage_marks(given.found, add)
  local layers = given.layers(window)
  local lane = #layers > 0 and self:lane("layer", "layers") or nil
  for _, layer in ipairs(layers) do add(layer, lane, ("layer %d"):format(layer.index)) end
  return marks_frame(list)
end


-- ---- the rest, in shares ----

-- The span in SHARES parts, each { from, to }.
local function parts_of(span)
  local parts, length = {}, span.last - span.first
  for i = 1, SHARES do
    local from = span.first + length * (i - 1) // SHARES
    parts[i] = { from, math.max(span.first + length * i // SHARES, from + 1) }
  end
  return parts
end


-- How busy each lane of these views was in each part of the span; none where the window
-- has all of it.
function Scene:shares(views, span, window)
  local lanes, shares, parts = {}, {}, parts_of(span)
  local is_all = window.first <= span.first and window.last >= span.last
  for _, view in ipairs(is_all and {} or views) do
    local covered = view:covered({ "lane" }, parts)
    for i, row in ipairs(view:group { by = { "lane" } }) do
      for n, part in ipairs(parts) do
        lanes[#lanes + 1] = row.lane
        shares[#shares + 1] = covered[i][n] * 255 // (part[2] - part[1])
      end
    end
  end
  return frame.new(#lanes, { { name = "lane", type = "integer", values = lanes },
    { name = "share", type = "integer", values = shares } })
end


-- ---- together ----

-- The frames by name, of a window.
function Scene:frames(given, views, span, window)
  local ops = self:add_lanes(views[1], "gpu", { "device", "stream", "pid" },
    gpu_title(views[1], given.found))
  local api = self:add_lanes(views[2], "api", { "pid", "tid" }, thread_title "CUDA calls")
  local ranges = self:add_lanes(between(views[3], window.first, window.last), "range",
    { "pid", "tid", "level" }, thread_title "NVTX")
  return {
    { "gpu", self:gpu(between(ops, window.first, window.last), given) },
    { "api", self:plain(between(api, window.first, window.last), "name") },
    { "range", self:plain(ranges, "text") },
    { "busy", self:shares({ ops, api }, span, window) },
  }
end


-- What the file packs; nil where the GPU did nothing. given: trace, found (of
-- analysis.stages), kernels (of the results), collectives (a frame of them all; nil without),
-- whole (the name of the stage where the whole run is one), layers (a function of a window
-- that gives a list of { start, stop, index }).
function events.encode(given)
  local views = { check(given.found.ops:where {}), check(given.trace:frame "api"),
    check(given.trace:frame "ranges") }
  local span = span_of(views[1])
  if not span then return nil end
  local scene = new_scene()
  local window, view = window_of(views, span, given.found)
  local marks = scene:marks(given, window)
  local made = scene:frames(given, views, span, window)
  table.insert(made, 1, { "mark", marks })
  local list, bytes = json.list {}, {}
  for i, entry in ipairs(made) do
    bytes[i] = pack.encode(entry[2])
    list[i] = { name = entry[1], bytes = #bytes[i] }
  end
  local head = assert(json.encode { version = 1, span = span, window = window,
    view = view, lanes = scene.lanes, labels = scene.labels, stages = scene.stages, frames = list })
  return head .. "\n" .. table.concat(bytes)
end


return events
