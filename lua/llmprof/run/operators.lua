-- The framework's operators: from operators.json, or from a Chrome trace of
-- torch.profiler. Either gives the table that docs/operators.schema.json
-- describes, with `share` added to each operator.
local chrome_trace = require "llmprof.chrome_trace"
local document = require "llmprof.io.document"
local errors = require "llmprof.process.errors"
local lists = require "llmprof.tables.lists"
local range_name = require "llmprof.trace.nvtx_names"
local files = require "llmprof.io.files"
local fs = require "llmprof.fs"
local joined = require "llmprof.analysis.kernels.operators"
local json = require "llmprof.json"
local layout = require "llmprof.bundle.layout"
local tuple = require("llmprof.tables.keys").tuple

local operators = {}


-- ---- the order of launches ----

-- What a trace of torch.profiler launched, in order, as docs/operators.schema.json keeps
-- it: each pair of kernel and operator once, and the stages as lists of their numbers.

-- More launches than this are left out; tests lower it.
operators.MOST_LAUNCHES = 300000


-- A list of different values, and a function from a value to its place, from 0.
local function numbered()
  local list, places = json.list {}, {}
  return list, function(value)
    if value and not places[value] then
      places[value] = #list
      list[#list + 1] = value
    end
    return value and places[value]
  end
end


-- What the ranges around a launch say: a function from a mark's row to the row of the
-- stage, the outermost range, its name, and the path of the module around the launch.
local function reader(marks)
  local known = {}
  local function read(row)
    if known[row] then return known[row] end
    local name, parent = marks:get(row + 1, "name"), marks:get(row + 1, "parent")
    local above = parent and read(parent) or {}
    local made = { module = name and range_name.module_path(name) or above.module,
      stage = above.stage,
      name = above.name }
    if not made.stage and name and not name:find "^ProfilerStep#" then
      made.stage, made.name = row, name
    end
    known[row] = made
    return made
  end
  local none = {}
  return function(row) return row and read(row) or none end
end


-- Of `count` launches in order: told(i) gives the name of a kernel, and, as far as they are known,
-- its operator, its module, and the instance and the name of its stage. nil without any.
function operators.launch_list(count, told)
  if count == 0 then return nil end
  local made, by_key, by_instance = { places = json.list {}, stages = json.list {} }, {}, {}
  local kernel_of, operator_of, module_of
  made.kernels, kernel_of = numbered()
  made.operators, operator_of = numbered()
  made.modules, module_of = numbered()
  for i = 1, math.min(count, operators.MOST_LAUNCHES) do
    local name, operator, module, instance, stage_name = told(i)
    local key = tuple(name, operator, module)
    if not by_key[key] then
      made.places[#made.places + 1] = { kernel = kernel_of(name),
        operator = operator_of(operator), module = module_of(module) }
      by_key[key] = #made.places
    end
    local stage = by_instance[instance or -1]
    if not stage then
      stage = { name = stage_name, order = {} }
      by_instance[instance or -1], made.stages[#made.stages + 1] = stage, stage
    end
    stage.order[#stage.order + 1] = by_key[key] - 1
  end
  for _, stage in ipairs(made.stages) do stage.order = table.concat(stage.order, " ") end
  if #made.modules == 0 then made.modules = nil end
  if count > operators.MOST_LAUNCHES then made.left_out = count - operators.MOST_LAUNCHES end
  return made
end


local UNNAMED = "(unnamed)"

-- gpu, marks: frames of llmprof.chrome_trace. nil where no launch is known.
local function launch_order(gpu, marks)
  local known = gpu:where { { "launched", "~=", false } }
  if #known == 0 then return nil end
  known = errors.check(known:sort { { "launched", false }, { "start", false } })
  local names, from, rows = known:values "name", known:values "operator", known:values "mark"
  local around_of = reader(marks)
  return operators.launch_list(#known, function(i)
    local around = around_of(rows[i])
    return names[i] or UNNAMED, from[i] or nil, around.module, around.stage, around.name
  end)
end


-- ---- from a trace ----

-- Ends of the names under which torch.profiler and people keep traces.
local trace_endings = { ".pt.trace.json", ".pt.trace.json.gz" }


local function frame(recorded, name) return errors.check(recorded:frame(name)) end


-- Operator name -> the shapes of most of its calls, as far as recorded.
local function frequent_shapes(host)
  local best, counts = {}, {}
  local groups = host:where { { "shapes", "~=", false } }:group { by = { "name", "shapes" } }
  for _, group in ipairs(groups) do
    local name, shapes = group.name or UNNAMED, json.decode(group.shapes)
    local is_any = lists.any(type(shapes) == "table" and shapes or {}, function(shape)
      return type(shape) == "table" and #shape > 0
    end)
    if is_any and group.count > (counts[name] or 0) then
      best[name], counts[name] = shapes, group.count
    end
  end
  return best
end


-- The table of tokens is the largest that is looked up; those of positions are smaller.
local LOOKUP = "aten::embedding"

-- Batches and lengths of what the model was given, the longest first, by the shapes of lookups:
-- list of { sequences, tokens, calls }; nil where no shape tells. [4, 512] are 4 sequences of 512
-- tokens, [2048] are 2,048 tokens of sequences that nobody tells apart.
function operators.inputs(host)
  local list, by_key, largest = json.list {}, {}, 0
  for _, group in ipairs(host:where { name = LOOKUP }:group { by = { "shapes" } }) do
    local shapes = group.shapes and json.decode(group.shapes) or {}
    local looked_up, ids = shapes[1], shapes[2]
    local is_lookup = type(looked_up) == "table" and #looked_up == 2 and type(ids) == "table"
    local rows = is_lookup and (#ids == 1 or #ids == 2) and looked_up[1] or 0
    if rows > largest then list, by_key, largest = json.list {}, {}, rows end
    if rows > 0 and rows == largest then
      local sequences, tokens = #ids == 2 and ids[1] or nil, ids[#ids]
      local made = lists.entry(list, by_key, tuple(sequences, tokens),
        { sequences = sequences, tokens = tokens, calls = 0 })
      made.calls = made.calls + group.count
    end
  end
  table.sort(list, lists.by("-tokens", "-sequences"))
  return #list > 0 and list or nil
end


-- Operator name -> list of { name, calls, device_ns } of the kernels, copies
-- and sets that it launched itself, largest first.
local function launched(gpu)
  local by_operator = {}
  local groups = gpu:where { { "operator", "~=", false } }
    :group { by = { "operator", "name" }, total = { "duration" } }
  for _, group in ipairs(groups) do
    local list = by_operator[group.operator] or json.list {}
    by_operator[group.operator] = list
    list[#list + 1] = { name = group.name or UNNAMED, calls = group.count,
      device_ns = group.duration.total }
  end
  for _, list in pairs(by_operator) do table.sort(list, lists.by("-device_ns", "name")) end
  return by_operator
end


local function total(gpu)
  local all = gpu:group { total = { "duration" } }[1]
  return all and all.duration.total or 0
end


-- The order of operators, for table.sort: what ran nothing on the GPU stands with what took no time
-- there.
operators.by_time = lists.by(function(row) return -(row.device_self_ns or 0) end, "-host_self_ns",
  "name")


-- The operators, largest first. host: a frame with a row for each call, or for several that are
-- alike: name, shapes (as JSON), calls, self, device_self, and outer and device_outer, which hold
-- nothing of a call inside of another of the same operator; gpu: operator, name and duration of
-- what ran on the GPU.
function operators.rows(host, gpu)
  local rows, shapes, kernels = json.list {}, frequent_shapes(host), launched(gpu)
  local groups = host:group { by = { "name" },
    sum = { "calls", "outer", "self", "device_outer", "device_self" } }
  for i, group in ipairs(groups) do
    local name = group.name or UNNAMED
    rows[i] = { name = name, calls = group.calls.total,
      host_total_ns = group.outer.total, host_self_ns = group.self.total,
      device_total_ns = group.device_outer.total, device_self_ns = group.device_self.total,
      input_shapes = shapes[name], kernels = group.name and kernels[name] }
  end
  table.sort(rows, operators.by_time)
  return rows
end


local CPU = 0 -- type of a device

local function from_trace(recorded, path)
  local host, gpu, info = frame(recorded, "host"), frame(recorded, "gpu"), recorded:info()
  local measured, told, memory = info.gpu > 0, frame(recorded, "memory"), json.list {}
  for row = 1, #told do -- what PyTorch's allocators told of each device
    memory[row] = { device = told:get(row, "type") ~= CPU and told:get(row, "device") or nil,
      events = told:get(row, "events"), allocated_bytes = told:get(row, "allocated"),
      reserved_bytes = told:get(row, "reserved") }
  end
  return {
    schema_version = 1,
    source = "torch.profiler, trace " .. path:match "[^/]+$",
    wall_ms = (info.last - info.first) / 1e6,
    device_ns = measured and total(gpu) or nil,
    unattributed_device_ns = measured and total(gpu:where { operator = false }) or nil,
    left_out_events = info.left_out > 0 and info.left_out or nil,
    operators = operators.rows(host, gpu),
    memory = #memory > 0 and memory or nil,
    inputs = operators.inputs(host),
    launches = launch_order(gpu, frame(recorded, "marks")),
  }
end


-- ---- both ----

-- Without the profiler's own rows, with each operator's part of the device time, its own kernels
-- only, so that the parts add up to at most 1.
function operators.with_shares(given)
  given.operators = json.list(lists.filtered(given.operators, function(row)
    return not joined.of_profiler[row.name]
  end))
  local whole = given.device_ns
    or (given.unattributed_device_ns or 0) + lists.sum(given.operators, "device_self_ns")
  for _, row in ipairs(given.operators) do
    row.share = whole > 0 and row.device_self_ns and row.device_self_ns / whole or nil
  end
  return given
end


-- The operators of a file, operators.json or a trace (plain or gzip); nil,
-- message, code when it is neither or broken.
function operators.load(path)
  local recorded, message, code = chrome_trace.operators(path)
  if recorded then
    local given = from_trace(recorded, path)
    recorded:close()
    return operators.with_shares(given)
  elseif code ~= "unsupported" then
    return nil, message, code
  end
  local given
  given, message, code = document.read(path, "operators")
  return given and operators.with_shares(given), message, code
end


-- The file of a folder that holds the operators: operators.json, else the
-- first trace by name; nil without one.
function operators.find(folder)
  local written = layout.operators_in(folder)
  if fs.stat(written) then return written end
  return lists.map(files.list(folder), function(name)
    local path = folder .. "/" .. name
    return lists.any(trace_endings, function(ending) return name:sub(-#ending) == ending end)
      and fs.lstat(path).type == "file" and path or nil
  end)[1]
end


return operators
