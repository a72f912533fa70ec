-- The events that the page draws: all of a run; of a large one a representative repeat, or as much
-- of it as fits, and of the rest the longest events and how busy each lane was.
-- The bytes are a timeline: llmprof.analysis.timeline.encode.
local check = require("llmprof.process.errors").check
local frames = require "llmprof.frame"
local layers = require "llmprof.analysis.stages.layers"
local layout = require "llmprof.bundle.layout"
local lists = require "llmprof.tables.lists"
local hardware = require "llmprof.model.hardware"
local operators = require "llmprof.analysis.kernels.operators"
local pack = require "llmprof.pack"
local rank_events = require "llmprof.analysis.timeline.rank_events"
local rank_view = require "llmprof.analysis.serving.ranks"
local rows = require "llmprof.ranks.rows"
local encode = require "llmprof.analysis.timeline.encode"
local stages = require "llmprof.analysis.stages.find"
local tuple = require("llmprof.tables.keys").tuple

local events = {}


-- ---- which part of the trace ----

-- The intervals of the repeats that count, by length.
local function repeats_of(found)
  local list, by_rep = {}, {}
  for _, instance in ipairs(found.instances) do
    if instance.used and not instance.parent then
      local interval = lists.entry(list, by_rep, instance.rep,
        { first = math.huge, last = -math.huge })
      interval.first = math.min(interval.first, instance.host_start or instance.start)
      interval.last = math.max(interval.last, instance.stop)
    end
  end
  return lists.sort(list, function(one) return one.last - one.first end, "first")
end


-- ---- the GPU ----

local kind_names = { copy = "copy", set = "set", graph = "graph" }

-- Of what is no kernel the category, as the stages of the results have it.
local kind_categories = { copy = "memory", set = "memory", graph = "graph" }

-- What launched an operation: columns of the trace, and the timeline's of the same. A list, as
-- labels are numbered in its order.
local SOURCES = { { "operator", "operator_label" }, { "torch_module", "module_label" },
  { "line", "line_label" } }


-- A function from a row of stage, part and name to the id of the kernel in the results.
local function kernel_ids(kernels, whole)
  local ids = {}
  for _, kernel in ipairs(kernels) do
    ids[tuple(kernel.stage, kernel.part, kernel.name)] = kernel.id
  end
  return function(row) return row.name and ids[tuple(row.stage or whole, row.part, row.name)] end
end


-- By process its rank, where there are several; not where a process has several.
local function ranks_of(found)
  local ranks = {}
  for _, instance in ipairs(found.instances) do
    local pid, rank = instance.pid, instance.rank
    if pid and rank then ranks[pid] = (ranks[pid] == nil or ranks[pid] == rank) and rank end
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


-- A function of when a collective began and a column of it; collectives: their frame, or nil.
local function collective_at(collectives)
  local at = {}
  for row = 1, collectives and #collectives or 0 do at[collectives:get(row, "start")] = row end
  return function(start, column) return at[start] and collectives:get(at[start], column) end
end


-- A function that makes of operations with lanes the timeline's frame of the GPU.
local function gpu_framer(timeline, given)
  local known, id_of = {}, kernel_ids(given.kernels, given.whole)
  for _, kernel in ipairs(given.kernels) do known[kernel.name] = kernel end
  local collective = collective_at(given.collectives)
  local by_start = given.collectives and { "start" } or {}
  return function(view)
    rows.add(view, "label", { "name", "kind" }, function(row)
      local kernel = known[row.name]
      local number = timeline.label(kernel and kernel.label or row.name or kind_names[row.kind]
        or "(unnamed)")
      timeline:categorise(number, kind_categories[row.kind] or kernel and kernel.category)
      return number
    end)
    rows.add(view, "kernel", { "name", "stage", "part" }, id_of)
    rows.add(view, "place", { "stage", "part" }, function(row)
      local stage = row.part or row.stage
      return stage and timeline.stage(stage)
    end)
    rows.add(view, "waiting", by_start, function(row)
      local waiting = collective(row.start, "waiting")
      return waiting and waiting > 0 and waiting or nil
    end)
    rows.add(view, "match", by_start, function(row)
      local ordinal = not given.ranks and collective(row.start, "ordinal")
      return ordinal and collective(row.start, "key") << 32 | ordinal
    end)
    for _, source in ipairs(SOURCES) do
      local key, name = table.unpack(source)
      rows.add(view, name, rows.has(view, key) and { key } or {},
        function(row) return row[key] and timeline.label(row[key]) end)
    end
    return check(view:select(encode.GPU))
  end
end


-- ---- the CPU ----

local function thread_title(what)
  return function(row)
    return ("%s, thread %s%s"):format(what, row.tid or "?",
      row.level and row.level > 0 and (", level %d"):format(row.level) or "")
  end
end


-- ---- stages, steps and layers ----

-- Lanes of stages by rank, of parts, and of steps by rank unless other files' lanes have these.
-- Steps are numbered from 0; those of an engine, each a stage of its own, until another stage's.
local function stage_marks(timeline, found, has_steps, add)
  local lanes, last = {}, {}
  local function lane(kind, title)
    if lanes[title] == nil then lanes[title] = timeline:lane(kind, title) or false end
    return lanes[title]
  end
  for _, instance in ipairs(found.instances) do
    local rank = instance.rank and ("rank %d, "):format(instance.rank) or ""
    add(instance, lane("stage", rank .. (instance.parent and "parts of stages" or "stages")),
      instance.stage)
    local before = found.by_engine and last[rank] or {}
    local count = before.stage == instance.stage and before.count or 0
    for _, step in ipairs(not has_steps and instance.steps or {}) do
      add(step, lane("step", rank .. "steps"), ("%s, step %d"):format(instance.stage, count))
      count = count + 1
    end
    last[rank] = { stage = instance.stage, count = count }
  end
end


-- All stages and steps, and the layers of a window, as a frame.
local function marks_frame(timeline, given, window)
  local list = {}
  local function add(interval, lane, label)
    if lane and #list < encode.MOST then
      list[#list + 1] = { start = interval.start, stop = interval.stop, lane = lane,
        label = timeline.label(label) }
    end
  end
  stage_marks(timeline, given.found, (given.ranks or {}).steps, add)
  local intervals = given.layers(window)
  local lane = #intervals > 0 and timeline:lane("layer", "layers") or nil
  for _, layer in ipairs(intervals) do add(layer, lane, ("layer %d"):format(layer.index)) end
  return encode.marks(list)
end


-- ---- hardware samples ----

-- Columns of samples and what their lanes are called.
local SAMPLES = { { "gpu", "front end" }, { "sm", "SMs" }, { "tensor", "tensor pipes" },
  { "dram_read", "memory read" }, { "dram_write", "memory written" } }


-- The samples of one column that are there, with their lanes; nil without any.
local function sampled_column(timeline, samples, name, title)
  local there = check(samples:where { { name, ">=", 0 } })
  if #there == 0 then return nil end
  local view = check(there:select { "device", "start", "duration", name })
  rows.add(view, "percent", { name }, function(row)
    return math.floor(row[name] + 0.5)
  end)
  view = timeline:add_lanes(view, "sample", { "device" }, function(row)
    return ("GPU %s, %s %%"):format(row.device or "?", title)
  end)
  rows.add(view, "label", { "lane" }, function() return timeline.label(title) end)
  return pack.join { check(view:select { "start", "duration", "lane", "label", "percent" }) }
end


-- Samples of a window as one frame, as many as fit; nil without any.
local function samples_of(timeline, trace, window)
  local samples = encode.between(check(trace:frame "samples"), window.first, window.last)
  if #samples * #SAMPLES > encode.MOST then
    local fits = encode.shortened({ samples, samples, samples, samples, samples }, window.first,
      window.last, encode.MOST)
    samples = encode.between(samples, fits.first, fits.last)
    timeline.samples_until = fits.last
  end
  local list = lists.map(SAMPLES, function(column)
    return sampled_column(timeline, samples, column[1], column[2])
  end)
  return #list > 0 and pack.join(list) or nil
end


-- ---- together ----

-- The frames by name, of a window. ranks: views of all ranks with their lanes; marks: frame.
local function frames_of(timeline, given, views, span, window, ranks, marks)
  local rank_marks, rank_gpu = rank_events.frames(timeline, ranks, window)
  local ops = timeline:add_lanes(views[1], "gpu", { "device", "stream", "pid" },
    gpu_title(views[1], given.found))
  local amd = hardware.is_amd(given.trace:devices())
  local api = timeline:add_lanes(views[2], "api", { "pid", "tid" },
    thread_title(amd and "HIP calls" or "CUDA calls"))
  local ranges = timeline:add_lanes(views[3], "range", { "pid", "tid", "level" },
    thread_title(amd and "ranges" or "NVTX"))
  local samples = samples_of(timeline, given.trace, window)
  local made = {
    { "mark", pack.join { marks, rank_marks } },
    { "gpu", pack.join { encode.seen(ops, window, gpu_framer(timeline, given)), rank_gpu } },
    { "api", encode.seen(api, window, function(view) return timeline:plain(view, "name") end) },
    { "range", encode.seen(ranges, window,
      function(view) return timeline:plain(view, "text") end) },
    { "busy", timeline:shares({ ops, api, table.unpack(rank_events.list(ranks)) }, span, window) },
  }
  if samples then made[#made + 1] = { "sample", samples } end
  return made
end


-- What the file packs; nil where the GPU did nothing. given: trace, found (of
-- analysis.stages.find), operators (of the operators pass; nil without), kernels (of the
-- results), collectives (a frame of them all; nil without), whole (the name of the stage where
-- the whole run is one), layers (a function of a window that gives a list of { start, stop,
-- index }), ranks (of rank_events.views, on the trace's clock; nil without other files).
function events.encode(given)
  local ops = given.operators and operators.find(given.trace, given.found, given.operators)
    or check(given.found.ops:where {})
  local views = { ops, check(given.trace:frame "api"), check(given.trace:frame "ranges") }
  local span = encode.span_of(views[1])
  if not span then return nil end
  local timeline, others = encode.new(), rank_events.list(given.ranks or {})
  span = encode.extent_of(others, span)
  lists.add(views, others)
  local repeats = repeats_of(given.found)
  local wanted = repeats[(#repeats + 1) // 2] or span -- the repeat of middle length
  local window = encode.window_of(views, encode.extent_of(views, span), wanted)
  local view = window.least and { first = window.first, last = window.last } or wanted
  local ranks = rank_events.with_lanes(timeline, given.ranks or {})
  local marks = marks_frame(timeline, given, window)
  return timeline:pack({ span = span, window = window, view = view },
    frames_of(timeline, given, views, span, window, ranks, marks))
end


-- ---- of results ----

-- The events of what results were made of, as gzip; nil where the GPU did nothing. fields: of
-- llmprof.analysis.inputs.
function events.packed(fields, results)
  local trace, found = fields.trace, fields.found
  if not trace then return nil end
  frames.tidy()
  local views, own
  if fields.merged then views, own = rank_view.beside(fields.merged, trace) end
  local has_own = not own and #(results.ranks and results.ranks.collectives or {}) > 0
  if has_own then own = rank_view.frames(trace, layout.timeline, found).collectives end
  local bytes = events.encode { trace = trace, found = found, kernels = results.kernels,
    operators = fields.operators,
    whole = found.whole and stages.WHOLE_RUN or nil, layers = layers.finder(trace, found),
    collectives = own, ranks = views }
  return bytes and pack.gzip(bytes)
end


return events
