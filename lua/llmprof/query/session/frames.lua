-- What a source adds to the frames of a trace: columns of operations that say where each stands
-- among the others, made for the whole trace when one of them is first asked for; gaps, layers
-- and counters of ncu as frames of their own.
local errors = require "llmprof.process.errors"
local lazy = require "llmprof.io.lazy"
local gaps = require "llmprof.analysis.timeline.gaps"
local lists = require "llmprof.tables.lists"
local places = require "llmprof.analysis.timeline.positions"
local rows = require "llmprof.ranks.rows"
local spans = require "llmprof.spans"
local join = lazy "llmprof.analysis.counters.join"
local kernels = lazy "llmprof.analysis.kernels.table"
local ncu = lazy "llmprof.nvidia.ncu"
local query = require "llmprof.query"
local stages = lazy "llmprof.analysis.stages.find"
local tuple = require("llmprof.tables.keys").tuple

local frames = {}

local check = errors.check


-- Times of an operation among all of the trace: columns, and what makes them of all operations.
local among = {
  { "gap_before", "gap_after", make = function(all)
    return all:gaps { by = { "pid", "device", "context", "stream" }, before = "gap_before",
      after = "gap_after" }
  end },
  { "gpu_gap_before", "gpu_gap_after", make = function(all)
    return all:gaps { by = { "device" }, before = "gpu_gap_before", after = "gpu_gap_after" }
  end },
  { "overlap", make = function(all)
    return all:overlap { by = { "device" }, name = "overlap" }
  end },
}


-- ---- lazy columns ----

-- Promise a frame of operations its columns. source: with trace, found, places and joined.
function frames.add_to(source, frame)
  local function add(names, type, make, unit)
    frame:lazy(lists.map(names, function(name)
      return { name = name, type = type, unit = unit }
    end), make)
  end
  for _, names in ipairs(among) do
    add(names, "integer", function(own)
      local all = check(source.trace:frame "gpu"):select { "op", "start", "end", "pid", "device",
        "context", "stream", "name", "kind" }
      local view, made = own:select { "op" }, names.make(all)
      for _, name in ipairs(names) do spans.look_up(view, "op", made, name, name) end
      return view
    end, "ns")
  end
  if not rows.has(frame, "rank") then
    add({ "rank" }, "integer", function(own)
      return places.add_rank(source.places, own:select { "pid", "device" })
    end)
  end
  add({ "rep" }, "integer", function(own)
    local of = stages.by_range(source.found, "rep")
    return rows.extend(own:select { "stage_range" }, { "stage_range" }, { { name = "rep",
      type = "integer", get = function(key) return of[key.stage_range] end } })
  end)
  add({ "step" }, "integer", function(own)
    local view = own:select { "pid", "device", "start", "api_start" }
    return source.places.known and places.add_steps(source.places, view)
      or rows.extend(view, {}, { { name = "step", type = "integer" } })
  end)
  add({ "layer" }, "integer", function(own)
    return places.add_layer(source.places,
      own:select { "op", "pid", "device", "start", "api_start" })
  end)
  -- what ranges name, else what joined from another run: the operations of both are numbered alike
  for _, what in ipairs { "module", "operator" } do
    add({ what }, "string", function(own)
      local view = own:select { "op" }
      if places.names(source.places, what) then
        return places["add_" .. what](source.places, view)
      elseif source.joined then
        return spans.look_up(view, "op", source.joined, what, what)
      end
      return rows.extend(view, {}, { { name = what, type = "string" } })
    end)
  end
  return frame
end


-- ---- frames of their own ----

-- Shorter times without anything to do are no gaps, in ns.
frames.LEAST = 1000

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
function frames.gaps(source, ops, api, label)
  local view = gaps.frame(source.found, ops, frames.LEAST)
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


-- Layers of steps, each with its kernels and their time. own: kernels, with `step` and `layer`;
-- nil where layers cannot be told.
function frames.layers(source, own)
  local marks = places.layers(source.places)
  if not marks then return nil end
  local by = { "rank", "step", "layer" }
  local sums = own:group { by = by, columns = { { "kernels", "count" },
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


-- With the limits of the GPUs of the trace, where there is one.
local function launches(source)
  local devices, results = source.trace and source.trace:devices(), source.results or nil
  return check(ncu.launches(source.counters_path, devices and join.limits(devices, nil, results)))
end


-- ---- every measured launch ----

-- Columns of figures: name, type, unit, path.
local figures = {
  { "duration", "integer", "ns", "duration_ns" },
  { "sm_percent", "number", nil, "throughput.sm" },
  { "dram_percent", "number", nil, "throughput.dram" },
  { "memory_percent", "number", nil, "throughput.memory" },
  { "tensor_percent", "number", nil, "throughput.tensor" },
  { "occupancy_percent", "number", nil, "occupancy.achieved" },
  { "flop", "number", nil, "flop.total" },
  { "dram_bytes", "integer", "bytes", "bytes.dram" },
  { "intensity", "number", nil, "intensity.dram" },
  { "registers", "integer", nil, "registers" },
  { "waves", "number", nil, "waves" },
}


local shown = { "id", "stage", "duration", "sm_percent", "dram_percent", "occupancy_percent",
  "bound", "name" }


-- What bounds each launch, by its `id`.
local function add_bound(found)
  local of, values = {}, {}
  for _, field in ipairs(ncu.throughputs) do of[field] = found:values("throughput." .. field) end
  for row = 1, #found do
    local throughput = {}
    for field, percents in pairs(of) do throughput[field] = percents[row] or nil end
    values[row] = ncu.bound { throughput = throughput }
  end
  check(found.frame:extend({ "id" }, #found,
    { { name = "bound", type = "string", values = values } }))
end


-- The launches of the raw page of a source: a query.
function frames.counters(source)
  local found = launches(source)
  -- of a page alone the outermost range, as nothing says which are stages
  local stages_of = source.trace and join.stages(found, source.trace, source.found)
    or lists.map(found.classes, function(class) return class.ranges[1] or false end)
  check(found.frame:extend(found.shared, #found.classes,
    { { name = "stage", type = "string", values = stages_of } }))
  check(found.frame:compute { name = "id", type = "integer", steps = { { "launch" } } })
  for _, figure in ipairs(figures) do
    check(found.frame:compute { name = figure[1], type = figure[2], unit = figure[3],
      steps = found:steps(figure[4]) })
  end
  add_bound(found)
  return query.wrap(check(found.frame:select(lists.joined({ "id", "name", "stage" },
    lists.map(figures, function(figure) return figure[1] end), { "bound" }))), shown)
end


-- ---- beside the kernels of a trace ----

-- As results.json gives them for each kernel of a stage.
local JOINED = { "bound", "sm_percent", "dram_percent", "memory_percent", "tensor_percent",
  "occupancy_percent", "intensity" }


-- By kernel of a stage: its counters.
local function index(source)
  local list = kernels.list(source.trace, source.found)
  join.join(list, launches(source), source.found)
  local by_key = {}
  for _, kernel in ipairs(list) do
    by_key[tuple(kernel.stage, kernel.part, kernel.name)] = kernel.counters
  end
  return by_key
end


-- Add the joined columns to a frame (of C) of kernels; absent where no launch
-- of the kernel was measured.
function frames.add_counters(source, frame)
  local by_key = index(source)
  rows.extend(frame, { "stage", "part", "name" }, lists.map(JOINED, function(name)
    return { name = name, type = name == "bound" and "string" or "number", get = function(key)
      local found = by_key[tuple(key.stage or stages.WHOLE_RUN, key.part, key.name)]
      return found and found[name]
    end }
  end))
end


return frames
