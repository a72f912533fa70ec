-- One thing that was asked about: the folder of a run, a trace, or counters of
-- ncu. Its parts load when they are first used.
local lazy = require "llmprof.io.lazy"
local artifacts = lazy "llmprof.bundle.artifacts"
local categories = lazy "llmprof.analysis.kernels.categories"
local combine = require "llmprof.query.combine"
local cpu_samples = lazy "llmprof.analysis.timeline.cpu_samples"
local document = lazy "llmprof.io.document"
local errors = require "llmprof.process.errors"
local nsys = lazy "llmprof.nvidia.nsys"
local frame = require "llmprof.frame"
local fs = require "llmprof.fs"
local handed = lazy "llmprof.trace.handed"
local joined = lazy "llmprof.analysis.kernels.operators"
local labels = lazy "llmprof.analysis.kernels.labels"
local layout = lazy "llmprof.bundle.layout"
local lists = require "llmprof.tables.lists"
local occupancy = lazy "llmprof.analysis.kernels.occupancy"
local outermost = lazy "llmprof.analysis.stages.outermost"
local query = require "llmprof.query"
local places = lazy "llmprof.analysis.timeline.positions"
local rank_view = lazy "llmprof.analysis.serving.ranks"
local results_file = lazy "llmprof.bundle.results_file"
local sqlite = require "llmprof.sqlite"
local frames = require "llmprof.query.session.frames"
local rows = require "llmprof.ranks.rows"
local stages = lazy "llmprof.analysis.stages.find"
local trace = require "llmprof.trace"
local trace_file = lazy "llmprof.trace.file"
local user = lazy "llmprof.recipe.user"

local source = {}

local Source = {}

-- What is printed of frames with many columns.
local shown = {
  kernels = { "start", "duration", "stage", "part", "category", "sm_percent", "dram_percent",
    "label" },
  ops = { "start", "duration", "kind", "bytes", "stage", "part", "name" },
  transfers = { "start", "duration", "bytes", "stage", "part", "name" },
  api = { "start", "duration", "tid", "name" },
  stages = { "stage", "parent", "rep", "used", "start", "duration", "busy", "idle", "gpu_time",
    "kernels", "copies", "launches" },
  gaps = { "start", "duration", "stage", "step", "layer", "unlaunched", "call", "before",
    "after" },
  layers = { "rank", "step", "phase", "layer", "start", "duration", "kernels", "gpu_time" },
  steps = { "world", "step", "phase", "batch", "tokens", "begin", "length", "interval", "idle",
    "busy", "kernels", "waiting", "transfer" },
  collectives = { "world", "phase", "layer", "start", "duration", "waiting", "transfer", "late",
    "short_name" },
  ranges = { "start", "duration", "level", "tid", "tag" },
  cpu_samples = { "time", "tid", "stage", "name", "module", "caller", "depth", "weight" },
  samples = { "device", "start", "duration", "gpu", "sm", "tensor", "dram_read", "dram_write" },
}


-- Of these, what is printed only where it is known: which line launched an operation.
local LINES = { kernels = { "module", "line" }, ops = { "line" }, gaps = { "line" } }


local check = errors.check


-- ---- what a path is ----

local function from_folder(folder)
  artifacts.check_links(folder)
  local stacks = layout.stacks_in(folder)[1]
  return { path = folder,
    trace_path = layout.find_captured(folder, "timeline"),
    results_path = layout.find(folder, "results"),
    manifest_path = layout.find(folder, "manifest"),
    counters_path = layout.find_captured(folder, "counters"),
    operators_path = layout.find_operators(folder),
    stacks_path = stacks and folder .. "/" .. stacks }
end


-- A folder of traces: one source for each, the first with what lies beside them.
local function from_traces(folder)
  local there = handed.look({ folder }, nsys.exported)
  local list = lists.map(there.traces, function(path)
    return setmetatable({ path = path, trace_path = path }, Source)
  end)
  list[1].counters_path = there.files[layout.counters]
  list[1].operators_path = there.files[layout.workload.operators]
  list[1].stacks_path = there.stacks[1]
  return list
end


-- The path that a word stands for: a file or folder, or a run where runs are
-- kept, by its id or "latest". nil and why not when there is none. root: nil for the user's own.
function source.locate(word, root)
  local info, message = fs.stat(word)
  if info then return word end
  root = root or user.root()
  if not layout.find(root .. "/" .. word, "manifest") then return nil, message end
  return artifacts.open(word, root).dir
end


-- What a file holds, by the reader that claims it: a trace unless it is one of these.
local HOLDS = { ncu = "counters_path", folded = "stacks_path" }

-- The sources for a path, or for a run by its id, several for a folder of traces; files are
-- looked at, not read.
function source.all(word)
  local path, message = source.locate(word)
  if not path then
    errors.raise("usage", message, { hint = "give a run (llmprof ls lists them) or its folder, "
      .. "a trace or a raw page of ncu" })
  end
  local info = errors.check(fs.stat(path))
  if info.type == "directory" then
    local is_captured = layout.find(path, "manifest") or layout.find(path, "results")
      or layout.find_captured(path, "timeline") or layout.find_captured(path, "counters")
    return is_captured and { setmetatable(from_folder(path), Source) } or from_traces(path)
  elseif nsys.is_report(path) then
    path = nsys.exported(path)
  end
  return { setmetatable({ path = path, [HOLDS[trace.reader(path)] or "trace_path"] = path },
    Source) }
end


-- The source of a trace that is open, with what is known of it: results, found.
function source.of(opened, known)
  local path = opened:info().path
  return setmetatable({ path = path, trace_path = path, trace = opened, results = known.results,
    found = known.found }, Source)
end


-- ---- its parts ----

local parts = {}


function parts.trace(self) return self.trace_path and trace_file.open(self.trace_path) end


function parts.results(self) return self.results_path and results_file.load(self.results_path) end


function parts.run(self)
  local manifest = self.manifest_path and artifacts.manifest(self.path)
  return manifest and { dir = self.path, id = manifest.run_id, recipe = manifest.recipe,
    status = manifest.status, started = manifest.started, manifest = manifest }
end


-- The stages as analysed, else those that `report` would find.
function parts.declared(self)
  if not self.results then return (outermost.or_inferred(self.trace)) end
  local list = self.results.stages
  if #list == 1 and list[1].name == stages.WHOLE_RUN then return {} end
  return self.trace and outermost.resolve(self.trace, list) or list
end


function parts.found(self)
  return stages.find(self.trace, self.declared, self.results and self.results.repeats or "no")
end


-- Ranks and steps.
function parts.places(self) return places.find(self.trace, self.found) end


-- The operations of the trace with the operators of another run.
function parts.joined(self)
  local operators = self.operators_path
    and check(document.read(self.operators_path, "operators"))
  return operators and joined.find(self.trace, self.found, operators)
end


local LABELLED = { { name = "stage", type = "string" },
  { name = "stage_range", type = "integer" }, { name = "part", type = "string" },
  { name = "part_range", type = "integer" } }

-- What stages.label takes. Stages that are no ranges are found again.
local function marks(self)
  local results = self.results
  if results and (results.inferred or results.engine)
    or not results and not stages.are_marked(self.trace, self.declared) then
    return self.found
  end
  return { declared = self.declared }
end


-- The frame of this name; of its `window`, { from, to }, alone, where the source has one.
local function frame_of(self, name)
  local made, window = check(self.trace:frame(name)), self.window
  local time = name == "api" and "start" or "api_start"
  return window and check(made:where { { time, ">=", window.from }, { time, "<", window.to } })
    or made
end


-- The category and the label of every kernel, by its name.
local function describe(self, made)
  local names = check(made:group { by = { "name" }, columns = {} }):values "name"
  local classify, label = categories.classifier(), {}
  if not self.results then
    label = labels.unique(lists.map(names, function(name) return name or nil end))
  end
  for _, kernel in ipairs(self.results and self.results.kernels or {}) do
    label[kernel.name] = kernel.label
  end
  return rows.extend(made, { "name" }, {
    { name = "category", type = "string", get = function(key)
      return key.name and classify(key.name)
    end },
    { name = "label", type = "string", get = function(key)
      return key.name and (label[key.name] or (labels.of(key.name)))
    end } })
end


-- The columns of a frame that are printed.
local function shown_of(self, name)
  if not LINES[name] or not self.trace:knows "lines" then return shown[name] end
  return lists.joined(shown[name], LINES[name])
end


-- A frame of operations, which has as lazy columns stage, part and where each operation stands.
local function operations(self, name)
  trace_file.check(self.trace)
  return frames.add_to(self, frame_of(self, name):lazy(LABELLED, function()
    return stages.label(self.trace, frame_of(self, name), marks(self))
  end))
end


local DESCRIBED = { { name = "category", type = "string" },
  { name = "label", type = "string" } }

local LAUNCHED = { "device", "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z",
  "registers", "static_shared", "dynamic_shared" }

function parts.kernels(self)
  if not self.trace_path then return self.counters end
  local made = operations(self, "kernels"):lazy(DESCRIBED, function(kernels)
    return describe(self, kernels:select { "name" })
  end):lazy(occupancy.columns, function(kernels)
    return occupancy.add_columns(kernels:select(LAUNCHED), self.trace:devices())
  end)
  if self.counters_path then frames.add_counters(self, made) end
  return query.wrap(made, shown_of(self, "kernels"))
end


-- A part that a trace has: make(self) gives its frame, which is printed as `name`; nil: none.
local function of_trace(name, make)
  parts[name] = function(self)
    local made = self.trace_path and make(self)
    return made and query.wrap(made, shown_of(self, name))
  end
end

of_trace("ops", function(self) return operations(self, "gpu") end)
of_trace("transfers", function(self) return operations(self, "transfers") end)
of_trace("api", function(self) return frame_of(self, "api") end)
of_trace("ranges", function(self) return check(self.trace:frame "ranges") end)
of_trace("samples", function(self) return check(self.trace:frame "samples") end)
of_trace("layers", function(self) return frames.layers(self, operations(self, "kernels")) end)

-- Of all ranks of the trace.
for _, name in ipairs { "steps", "collectives" } do
  of_trace(name, function(self)
    return rank_view.frames(self.trace, self.trace_path, self.found)[name]
  end)
end

of_trace("gaps", function(self)
  local label = {}
  for row in self.kernels:unique("name", "label"):rows() do
    if row.name then label[row.name] = row.label end
  end
  return frames.gaps(self, operations(self, "gpu"), check(self.trace:frame "api"), label)
end)


-- Of the timeline, or else of collapsed stacks beside it, which know no stage.
function parts.cpu_samples(self)
  local sampled = self.trace_path and self.trace:has "cpu_samples"
  if self.stacks_path and not sampled then
    self.stacks = check(trace.open(self.stacks_path))
    return query.wrap(check(self.stacks:frame "cpu_samples"), shown.cpu_samples)
  end
  return self.trace_path and query.wrap(cpu_samples.label(self.trace,
    check(self.trace:frame "cpu_samples"), marks(self)), shown.cpu_samples)
end


-- Every instance of every stage, by start.
function parts.stages(self)
  if not self.trace_path then return nil end
  local function column(name, type, unit, field)
    return { name = name, type = type, unit = unit,
      get = function(instance) return instance[field or name] end }
  end
  return query.from_rows(self.found.instances, {
    column("stage", "string"), column("parent", "string"), column("rep", "integer"),
    { name = "used", type = "integer", get = function(one) return one.used and 1 or 0 end },
    column("start", "integer", "ns"), column("end", "integer", "ns", "stop"),
    column("duration", "integer", "ns", "wall"),
    column("busy", "integer", "ns"), column("idle", "integer", "ns"),
    column("gpu_time", "integer", "ns"), column("kernels", "integer"),
    column("copies", "integer"), column("launches", "integer"),
  }, shown.stages)
end


function parts.counters(self) return self.counters_path and frames.counters(self) end


-- sql[[SELECT ...]]: the answer as a frame.
function parts.sql(self)
  if not self.trace_path then return nil end
  local db = check(sqlite.open(self.trace_path))
  return function(statement, ...)
    local ok, list, count = pcall(db.columns, db, statement, ...)
    if not ok then
      errors.raise("usage", "sql: " .. tostring(list),
        { hint = "sql[[SELECT name FROM sqlite_master]] lists the tables" })
    end
    for _, column in ipairs(list) do combine.set_type(column) end
    return query.wrap(frame.new(count, list))
  end
end


function Source:__index(name)
  local load_part = parts[name]
  if not load_part then return nil end
  local value = load_part(self)
  rawset(self, name, value or false)
  return value or false
end


function Source:__tostring()
  local of = lists.filtered({ "trace", "results", "counters", "stacks" }, function(kind)
    return rawget(self, kind .. "_path")
  end)
  return ("%s (%s)"):format(self.path, table.concat(of, ", "))
end


function source.stage_names(self)
  return lists.map(self.trace_path and self.declared or {}, "name")
end


return source
