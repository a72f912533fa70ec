-- The events that the page of ranks draws: the steps and the collectives of each, all on
-- one clock. The bytes are a scene (llmprof.analysis.scene), of what llmprof.ranks put
-- together.
local errors = require "llmprof.base.errors"
local frame = require "llmprof.frame"
local labels = require "llmprof.analysis.labels"
local rows = require "llmprof.ranks.rows"
local scenes = require "llmprof.analysis.scene"

local rank_events = {}

-- Steps of a rank that are shown first.
local STEPS = 4


local function check(value, message, code)
  return errors.check("failed", value, message, code)
end


-- ---- steps ----

-- Steps that ran something, as they were on the GPU: `start` and `end` are that.
local function on_gpu(steps)
  local ran = check(steps:where { { "length", ">=", 0 } })
  local view = check(ran:select { "world", "phase", "turn", "begin", "length", "last" })
  view:lag { column = "begin", offset = 0, name = "start" }
  view:lag { column = "last", offset = 0, name = "end" }
  return view:lag { column = "length", offset = 0, name = "duration" }
end


-- With their lanes.
local function steps_of(scene, steps)
  return scene:add_lanes(on_gpu(steps), "step", { "world" }, function(row)
    return ("rank %d, steps"):format(row.world)
  end)
end


-- The frame of marks; they are called by their place among those of their phase, from 0, as
-- the tables call them.
local function marks_of(scene, view)
  rows.extend(view, { "phase", "turn" }, { { name = "label", type = "integer", get = function(row)
    return scene.label(row.turn and ("%s, step %d"):format(row.phase or "step", row.turn)
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

-- With their lanes.
local function collectives_of(scene, found)
  return scene:add_lanes(check(found:where { { "world", ">=", 0 } }), "gpu", { "world" },
    function(row) return ("rank %d, collectives"):format(row.world) end)
end


-- A column of integers, from a function of a row.
local function column(name, get) return { name = name, type = "integer", get = get } end


-- By full name the one that a person can read.
local function labels_of(view)
  local names = {}
  for _, row in ipairs(view:group { by = { "name" } }) do names[#names + 1] = row.name end
  return labels.unique(names)
end


local function gpu_of(scene, view)
  local function nothing() return nil end
  local read = labels_of(view)
  rows.extend(view, { "name" }, {
    column("label", function(row) return scene.label(read[row.name] or "(unnamed)") end),
    column("kernel", nothing), column("queue_time", nothing),
  })
  rows.extend(view, { rows.has(view, "phase") and "phase" or "name" }, {
    column("place", function(row) return row.phase and scene.stage(row.phase) end) })
  return check(view:select { "start", "duration", "lane", "label", "place", "kernel", "api_start",
    "queue_time", "waiting" })
end


-- ---- together ----

-- Lanes that no rank has: of calls and ranges.
local function empty()
  local columns = {}
  for i, name in ipairs { "start", "duration", "lane", "label" } do
    columns[i] = { name = name, type = "integer", values = {} }
  end
  return frame.new(0, columns)
end


-- All of the time, or from its middle on as much as fits.
local function window_of(views, all)
  if scenes.count(views, all.first, all.last) <= scenes.MOST then return all end
  return scenes.shortened(views, all.first + (all.last - all.first) // 2, all.last)
end


-- What the file packs; nil where neither steps nor collectives are known. made: the second
-- value of llmprof.ranks.examine.
function rank_events.encode(made)
  local scene, views = scenes.new(), {}
  local steps = made.steps and steps_of(scene, made.steps)
  local found = made.collectives and collectives_of(scene, made.collectives)
  for _, view in ipairs { steps or found, found } do views[#views + 1] = view end
  local span = views[1] and scenes.span_of(views[1])
  if not span then return nil end
  local all = scenes.extent_of(views, span)
  local window = window_of(views, all)
  local function seen(view) return scenes.between(view, window.first, window.last) end
  return scene:pack({ span = all, window = window,
    view = steps and view_of(seen(steps), window) or window }, {
    { "mark", steps and marks_of(scene, seen(steps)) or empty() },
    { "gpu", found and gpu_of(scene, seen(found)) or empty() },
    { "api", empty() }, { "range", empty() }, { "busy", scene:shares(views, all, window) } })
end


return rank_events
