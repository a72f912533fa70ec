-- What the page's timeline draws, as bytes; the lanes, names and events of it are
-- put together here, what they are of is llmprof.analysis.timeline.events (a trace) and
-- llmprof.analysis.timeline.rank_events (parts of ranks).
--
-- The bytes are a line of JSON, { version, span (of the GPU's operations), window (what is
-- here in full, and `least`, ns, of the events of the rest those that last as long; nil: all are
-- in the window), view (what is shown first; all { first, last } in ns of the trace), lanes
-- (list of { kind, title, rank (where all ranks are beside each other) }), hidden (lanes
-- beyond the most of their kind), samples_until (ns; where not all of the window's are here),
-- labels (texts), categories (by number of a label its category, "" where there is none), stages
-- (names), frames (list of { name, bytes }) }, then these frames one
-- after the other as llmprof.pack encodes them. Lanes, labels and stages are counted from 0.
-- Kinds of lanes: gpu, api, range, stage, step, layer, sample.
--
--   gpu    start, duration (ns), lane, label, place (a stage), kernel (id in results.kernels),
--          api_start (of the launching call), queue_time (ns from its end), waiting (ns that a
--          collective waited for others), operator_label, module_label and line_label (of what
--          launched it), match (a number that the same collective has on each rank); what is not
--          known is absent
--   api    start, duration, lane, label
--   range  the same, of NVTX
--   mark   the same, of stages, steps and layers, as they were on the GPU
--   sample start, duration, lane, label, percent: what hardware samples say of a GPU
--   busy   lane, share (0 to 255): SHARES rows for each lane, over the whole span; none
--          where the window has all of it
local check = require("llmprof.process.errors").check
local frame = require "llmprof.frame"
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"
local pack = require "llmprof.pack"
local rows = require "llmprof.ranks.rows"
local text = require "llmprof.text"
local tuple = require("llmprof.tables.keys").tuple

local encode = {}

-- Events; lanes of a kind; different names; columns of one.
encode.MOST, encode.LANES = 200000, 48
local LABELS, LABEL = 20000, 160

-- Shares of a lane over the whole trace.
local SHARES = 1024

-- Columns of the GPU's operations.
encode.GPU = { "start", "duration", "lane", "label", "place", "kernel", "api_start", "queue_time",
  "waiting", "operator_label", "module_label", "line_label", "match" }


-- ---- which part of the time ----

-- Rows that overlap an interval.
function encode.between(view, first, last)
  return check(view:where { { "start", "<", last }, { "end", ">", first } })
end


-- The same of several frames, counted.
local function count(views, first, last)
  return lists.sum(views, function(view) return #encode.between(view, first, last) end)
end


-- First start and last end of GPU operations; nil without any.
function encode.span_of(ops)
  local first, last = rows.extent(ops)
  if not first or not last or last <= first then return nil end
  return { first = first, last = last }
end


-- The longest interval from `first` on, up to `last`, with no more events than `most`.
function encode.shortened(views, first, last, most)
  local fits, beyond = first, last
  while beyond - fits > 1 do
    local middle = fits + (beyond - fits) // 2
    if count(views, first, middle) <= most then fits = middle else beyond = middle end
  end
  return { first = first, last = math.max(fits, first + 1) }
end


-- Events of at least `least` ns before a window, and behind it.
local function outside(view, window, least)
  return check(view:where { { "start", "<=", window.first }, { "duration", ">=", least },
    { "end", "<=", window.first } }),
    check(view:where { { "start", ">=", window.last }, { "duration", ">=", least } })
end


-- A window that has room for its own events, with `least`, so that with the longest of the rest
-- there are no more than fit.
local function with_longest(views, window)
  local room, list = encode.MOST - count(views, window.first, window.last), {}
  for _, view in ipairs(views) do
    local before, after = outside(view, window, 1)
    for _, rest in ipairs { before, after } do
      local longest = check(rest:sort({ { "duration", true } }, room + 1))
      list[#list + 1] = check(longest:select { "duration" })
    end
  end
  local rest = check(pack.join(list):sort({ { "duration", true } }, room + 1))
  window.least = 1 + (#rest > room and rest:get(room + 1, "duration") or 0)
  return window
end


-- The window of what is here in full: all, or of what is wanted as much as fits beside the longest
-- of the rest.
function encode.window_of(views, all, wanted)
  if count(views, all.first, all.last) <= encode.MOST then return all end
  local most, window = encode.MOST // 2, { first = wanted.first, last = wanted.last }
  if count(views, window.first, window.last) > most then
    window = encode.shortened(views, window.first, window.last, most)
  end
  return with_longest(views, window)
end


-- A frame of what f makes of the events that are here.
function encode.seen(view, window, f)
  local list = { f(encode.between(view, window.first, window.last)) }
  if window.least then
    local before, after = outside(view, window, window.least)
    list[2], list[3] = f(before), f(after)
  end
  return pack.join(list)
end


-- From the first to the last event of all.
function encode.extent_of(views, span)
  local first, last = span.first, span.last
  for _, view in ipairs(views) do
    local from, to = rows.extent(view)
    first, last = math.min(first, from or first), math.max(last, to or last)
  end
  return { first = first, last = last }
end


-- ---- names and lanes ----

-- A list of different texts, each with its number from 0; those beyond the most are one.
local function numbering()
  local list, numbers = json.list {}, {}
  return list, function(name)
    local known = text.truncate(text.clean(name), LABEL, "middle")
    if #list >= LABELS and not numbers[known] then known = "(other names)" end
    if not numbers[known] then
      list[#list + 1] = known
      numbers[known] = #list - 1
    end
    return numbers[known]
  end
end


local Timeline = {}
Timeline.__index = Timeline


-- One without lanes.
function encode.new()
  local self = setmetatable({ lanes = json.list {}, per_kind = {}, hidden = 0,
    categories = {} }, Timeline)
  self.labels, self.label = numbering()
  self.stages, self.stage = numbering()
  return self
end


-- Give a label, by its number, its category, where that is not nil.
function Timeline:categorise(label, category) self.categories[label] = category end


-- A new lane's number; nil where there are too many of its kind.
function Timeline:lane(kind, title, rank)
  self.per_kind[kind] = (self.per_kind[kind] or 0) + 1
  if self.per_kind[kind] > encode.LANES then
    self.hidden = self.hidden + 1
    return nil
  end
  self.lanes[#self.lanes + 1] = { kind = kind, rank = rank,
    title = text.truncate(text.clean(title), LABEL, "middle") }
  return #self.lanes - 1
end


-- Lanes for the different keys of a frame, in the order of their values; adds "lane" and
-- returns the rows that have one. title: a function of a row of keys, which may give the
-- rank, too.
function Timeline:add_lanes(view, kind, by, title)
  local numbers = {}
  local function key_of(row)
    return tuple(table.unpack(lists.map(by, function(name) return row[name] or -1 end)))
  end
  for _, row in ipairs(lists.sort(view:group { by = by }, table.unpack(by))) do
    numbers[key_of(row)] = self:lane(kind, title(row)) or false
  end
  rows.add(view, "lane", by, function(row) return numbers[key_of(row)] end)
  return check(view:where { { "lane", ">=", 0 } })
end


-- ---- events ----

-- Events that say no more than what they are.
function Timeline:plain(view, name)
  rows.add(view, "label", { name }, function(row)
    return self.label(row[name] or "(unnamed)")
  end)
  return check(view:select { "start", "duration", "lane", "label" })
end


-- A frame of marks: list of { start, stop, lane, label }.
function encode.marks(list)
  local columns = lists.map({ "start", "duration", "lane", "label" }, function(name)
    return { name = name, type = "integer", values = {} }
  end)
  for row, mark in ipairs(list) do
    columns[1].values[row], columns[2].values[row] = mark.start, mark.stop - mark.start
    columns[3].values[row], columns[4].values[row] = mark.lane, mark.label
  end
  return frame.new(#list, columns)
end


-- ---- the rest, in shares ----

-- How busy each lane of these views was in each part of the span; none where the window
-- has all of it.
function Timeline:shares(views, span, window)
  local lanes, shares, parts, length = {}, {}, {}, span.last - span.first
  local is_all = window.first <= span.first and window.last >= span.last
  for i = 1, SHARES do -- the span in parts, each { from, to }
    local from = span.first + length * (i - 1) // SHARES
    parts[i] = { from, math.max(span.first + length * i // SHARES, from + 1) }
  end
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

-- The bytes. when: span, window and view; made: list of { name, frame }.
function Timeline:pack(when, made)
  local list, bytes = json.list {}, {}
  for i, entry in ipairs(made) do
    bytes[i] = pack.encode(entry[2])
    list[i] = { name = entry[1], bytes = #bytes[i] }
  end
  local categories = json.list {}
  for i = 1, #self.labels do categories[i] = self.categories[i - 1] or "" end
  local head = check(json.encode { version = 2, span = when.span, window = when.window,
    view = when.view, lanes = self.lanes, hidden = self.hidden, labels = self.labels,
    categories = categories, stages = self.stages, samples_until = self.samples_until,
    frames = list })
  return head .. "\n" .. table.concat(bytes)
end


return encode
