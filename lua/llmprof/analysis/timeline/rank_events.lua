-- The events of several ranks that a page draws: the steps and the collectives of each, all
-- on one clock, of what llmprof.ranks put together. The bytes are a timeline
-- (llmprof.analysis.timeline.encode).
local check = require("llmprof.process.errors").check
local labels = require "llmprof.analysis.kernels.labels"
local lists = require "llmprof.tables.lists"
local pack = require "llmprof.pack"
local rows = require "llmprof.ranks.rows"
local encode = require "llmprof.analysis.timeline.encode"

local rank_events = {}

-- Steps of a rank that are shown first.
local STEPS = 4


-- ---- steps ----

-- Steps that ran something, as they were on the GPU: `start` and `end` are that.
local function on_gpu(steps)
  local ran = check(steps:where { { "length", ">=", 0 } })
  local view = check(ran:select { "world", "phase", "turn", "begin", "length", "last" })
  view:lag { column = "begin", offset = 0, name = "start" }
  view:lag { column = "last", offset = 0, name = "end" }
  return view:lag { column = "length", offset = 0, name = "duration" }
end


-- The frame of marks; they are called by their place among those of their phase, from 0, as
-- the tables call them.
local function marks_of(timeline, view)
  rows.extend(view, { "phase", "turn" }, { { name = "label", type = "integer", get = function(row)
    return timeline.label(row.turn and ("%s, step %d"):format(row.phase or "step", row.turn)
      or row.phase or "step")
  end } })
  return check(view:select { "start", "duration", "lane", "label" })
end


-- A few steps in the middle of the run, decoding ones if there are any, on the lowest rank.
local function view_of(steps, span)
  local decodes = check(steps:where { phase = "decode" })
  local chosen = #decodes > 0 and decodes or steps
  local own = #chosen > 0 and check(chosen:where { world = chosen:sort { { "world" } }
    :get(1, "world") }):sort { { "start" } }
  if not own then return span end
  local first = math.max(#own // 2 - STEPS // 2, 1)
  return { first = own:get(first, "start"),
    last = own:get(math.min(first + STEPS - 1, #own), "end") }
end


-- ---- collectives ----

-- Columns of the page's GPU lanes that collectives of ranks have not.
local ABSENT = { "kernel", "queue_time", "api_start", "operator_label", "module_label",
  "line_label" }


local function gpu_of(timeline, view)
  local read = labels.unique(lists.map(view:group { by = { "name" } }, "name"))
  local phase = rows.has(view, "phase") and "phase" or nil
  view = check(view:select { "start", "duration", "lane", "name", "waiting", "key", "ordinal",
    phase })
  rows.add(view, "label", { "name" }, function(row)
    local label = timeline.label(read[row.name] or "(unnamed)")
    timeline:categorise(label, "communication")
    return label
  end)
  for _, name in ipairs(ABSENT) do rows.add(view, name, {}) end
  rows.add(view, "match", { "key", "ordinal" }, function(row)
    return row.ordinal and row.key << 32 | row.ordinal
  end)
  rows.add(view, "place", { phase or "name" }, function(row)
    return row.phase and timeline.stage(row.phase)
  end)
  return check(view:select(encode.GPU))
end


-- ---- together ----

local TIMES = { "start", "end" }

-- Steps and collectives as frames with start and end, { steps, found }, either may be nil.
-- made: the second value of llmprof.ranks.examine; clock: { offset, at, drift } that is
-- taken from their times, nil for none.
function rank_events.views(made, clock)
  local function on_clock(view)
    return view and clock and pack.join({ view }, { clock }, TIMES) or view
  end
  -- collectives in an order of their own: files and processes may have brought them in any
  local found = made.collectives and check(check(made.collectives:where { { "world", ">=", 0 } })
    :sort { { "world" }, { "start" }, { "key" }, { "ordinal" } })
  return { steps = on_clock(made.steps and on_gpu(made.steps)), found = on_clock(found) }
end


-- Those that are there.
function rank_events.list(views)
  return { views.steps or views.found, views.steps and views.found or nil }
end


-- The same with lanes for each rank.
function rank_events.with_lanes(timeline, views)
  local function lanes(view, kind, what)
    return view and timeline:add_lanes(view, kind, { "world" }, function(row)
      return ("rank %d, %s"):format(row.world, what), row.world
    end)
  end
  return { steps = lanes(views.steps, "step", "steps"),
    found = lanes(views.found, "gpu", "collectives") }
end


-- What there is in a window, as the timeline's frames of marks and of the GPU.
function rank_events.frames(timeline, views, window)
  local function frame(view, f)
    return view and encode.seen(view, window, function(seen) return f(timeline, seen) end)
      or encode.marks {}
  end
  return frame(views.steps, marks_of), frame(views.found, gpu_of)
end


-- What the file packs; nil where neither steps nor collectives are known. made: the second
-- value of llmprof.ranks.examine.
function rank_events.encode(made)
  local timeline, views = encode.new(), rank_events.views(made)
  views = rank_events.with_lanes(timeline, views)
  local list = rank_events.list(views)
  local span = list[1] and encode.span_of(list[1])
  if not span then return nil end
  local all = encode.extent_of(list, span)
  local window = encode.window_of(list, all, { first = all.first + (all.last - all.first) // 2,
    last = all.last }) -- from the middle on
  local marks, gpu = rank_events.frames(timeline, views, window)
  local steps = views.steps and encode.between(views.steps, window.first, window.last)
  return timeline:pack({ span = all, window = window,
    view = steps and view_of(steps, window) or window }, {
    { "mark", marks }, { "gpu", gpu }, { "api", encode.marks {} }, { "range", encode.marks {} },
    { "busy", timeline:shares(list, all, window) } })
end


return rank_events
