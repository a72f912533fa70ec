-- Columns of operations that say where each stands among the others. They are made for
-- the whole trace when one of them is first asked for.
local errors = require "llmprof.process.errors"
local gaps = require "llmprof.analysis.timeline.gaps"
local places = require "llmprof.analysis.timeline.positions"
local rows = require "llmprof.ranks.rows"
local spans = require "llmprof.spans"

local positions = {}

-- What is one stream, and one GPU.
local STREAM = { "pid", "device", "context", "stream" }
local GPU = { "device" }

-- Times of an operation among all of the trace, by the function below that makes them.
local TIMES = {
  by_stream = { "gap_before", "gap_after" },
  by_gpu = { "gpu_gap_before", "gpu_gap_after" },
  beside = { "overlap" },
}


local check = errors.check


-- ---- among all operations ----

-- All operations of a trace, each kind of times on its own: few ask for all of them.
local function timed(trace)
  return check(trace:frame "gpu"):select { "op", "start", "end", "pid", "device", "context",
    "stream", "name", "kind" }
end


function positions.by_stream(trace)
  return timed(trace):gaps { by = STREAM, before = "gap_before", after = "gap_after" }
end


-- With `gpu_previous`, the row of the one before.
function positions.by_gpu(trace)
  return timed(trace):gaps { by = GPU, before = "gpu_gap_before", after = "gpu_gap_after",
    previous = "gpu_previous" }
end


function positions.beside(trace)
  return timed(trace):overlap { by = GPU, name = "overlap" }
end


-- A column without values.
local function absent(frame, name, type)
  return rows.extend(frame, {}, { { name = name, type = type or "integer",
    get = function() return nil end } })
end


-- By range, or number of an inferred stretch, the repeat of its stage.
local function repeats_of(found)
  local of = {}
  for _, instance in ipairs(found.instances) do
    for _, range in ipairs(not instance.parent and (instance.ranges or { instance.range }) or {}) do
      of[range] = instance.rep
    end
  end
  return of
end


-- ---- lazy columns ----

local function declare(names, type, unit)
  local list = {}
  for i, name in ipairs(names) do list[i] = { name = name, type = type, unit = unit } end
  return list
end


local function times(source, made, names)
  return function(frame)
    local view = frame:select { "op" }
    for _, name in ipairs(names) do spans.look_up(view, "op", source[made], name, name) end
    return view
  end
end


local function repeats(source)
  return function(frame)
    local of = repeats_of(source.found)
    return rows.extend(frame:select { "stage_range" }, { "stage_range" }, { { name = "rep",
      type = "integer", get = function(key) return of[key.stage_range] end } })
  end
end


local function steps(source)
  return function(frame)
    local view = frame:select { "pid", "device", "start", "api_start" }
    if not source.places.known then return absent(view, "step") end
    return places.add_steps(source.places, view)
  end
end


-- What ranges name, else what joined from another run. The operations of both are
-- numbered alike.
local function named(source, what)
  return function(frame)
    local view = frame:select { "op" }
    if places.names(source.places, what) then
      return places["add_" .. what](source.places, view)
    end
    if not source.joined then return absent(view, what, "string") end
    return spans.look_up(view, "op", source.joined, what, what)
  end
end


local function placed(source, add, ...)
  local names = { ... }
  return function(frame) return add(source.places, frame:select(names)) end
end


-- Promise a frame of operations its columns. source: with trace, found, by_stream, by_gpu,
-- beside, places and joined.
function positions.add_to(source, frame)
  for _, made in ipairs { "by_stream", "by_gpu", "beside" } do
    frame:lazy(declare(TIMES[made], "integer", "ns"), times(source, made, TIMES[made]))
  end
  if not rows.has(frame, "rank") then
    frame:lazy(declare({ "rank" }, "integer"),
      placed(source, places.add_rank, "pid", "device"))
  end
  frame:lazy(declare({ "rep" }, "integer"), repeats(source))
  frame:lazy(declare({ "step" }, "integer"), steps(source))
  frame:lazy(declare({ "layer" }, "integer"),
    placed(source, places.add_layer, "op", "pid", "device", "start", "api_start"))
  frame:lazy(declare({ "module" }, "string"), named(source, "module"))
  frame:lazy(declare({ "operator" }, "string"), named(source, "operator"))
  return frame
end


-- ---- frames of their own ----

-- Shorter times without anything to do are no gaps, in ns.
positions.LEAST = 1000

-- What an operation is called, as a column for people.
local function called(name, from, label)
  return { { name = name, type = "string", get = function(key)
    local given = key[from]
    return given and (label[given] or given:match "^%[CUDA (.*)%]$" or given)
  end } }
end


-- Add the operation, the first of several, whose time in a column is that of a gap.
local function add_operation(view, ops, own, column, name)
  local first = check(ops:group { by = { "device", column }, columns = { { "op", "min", "op" } } })
  view:match { by = { "device", own }, other = first, keys = { "device", column },
    name = name .. "_row" }
  spans.look_up(view, name .. "_row", first, "op", name)
end


-- What is told of the operation that ended a gap.
local TOLD = { "rank", "stage", "part", "rep", "step", "layer", "module", "line", "function",
  "name", "api", "api_start", "launch_pid", "launch_tid" }

-- Times in which a GPU had nothing to do, cut where a repeat begins or ends: what ended each,
-- and what was before it. ops: all operations of the trace with their stages and what is
-- promised; api: calls of the trace; label: names to what they are called.
function positions.gaps(source, ops, api, label)
  local view = gaps.frame(source.found, ops, positions.LEAST)
  add_operation(view, ops, "end", "start", "op")
  add_operation(view, ops, "start", "end", "previous")
  for _, column in ipairs(TOLD) do spans.look_up(view, "op", ops, column, column) end
  spans.look_up(view, "previous", ops, "name", "name_before")
  spans.look_up(view, "previous", ops, "line", "line_before")
  rows.extend(view, { "name_before" }, called("before", "name_before", label))
  rows.extend(view, { "name" }, called("after", "name", label))
  view:less { column = "end", by = "start", name = "duration" }
  view:less { column = "start", by = "start", name = "none" }
  spans.rest(view, { start = "start", ["end"] = "api_start" }, "none", "unlaunched")
  rows.add_threads(view, "launch_pid", "launch_tid")
  rows.add_threads(api, "pid", "tid")
  spans.assign(view, { time = "start", key = "thread" }, api,
    { start = "start", ["end"] = "end", key = "thread" }, "call_row")
  spans.look_up(view, "call_row", api, "name", "call")
  return view:select { "device", "rank", "stage", "part", "rep", "step", "layer", "module",
    "line", "function", "duration", "end", "start", "unlaunched", "before", "line_before",
    "after", "api", "launch_tid", "call_row", "call" }
end


-- Layers of steps, each with its kernels and their time. kernels: with `step` and `layer`;
-- nil where layers cannot be told.
function positions.layers(source, kernels)
  local marks = places.layers(source.places)
  if not marks then return nil end
  local by = { "rank", "step", "layer" }
  local sums = kernels:group { by = by, columns = { { "kernels", "count" },
    { "gpu_time", "sum", "duration" } } }
  local made = check(marks:select { "rank", "step_row", "step", "layer", "start", "until" })
  made:lag { column = "until", offset = 0, name = "end" }
  made:less { column = "until", by = "start", name = "duration" }
  made:match { by = by, other = sums, keys = by, name = "row" }
  spans.look_up(made, "row", sums, "kernels", "kernels")
  spans.look_up(made, "row", sums, "gpu_time", "gpu_time")
  spans.look_up(made, "step_row", source.places.known.frame, "phase", "phase")
  return made:select { "rank", "step", "phase", "layer", "start", "end", "duration",
    "kernels", "gpu_time" }
end


return positions
