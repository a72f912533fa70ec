-- The framework's operators: from operators.json, or from a Chrome trace of
-- torch.profiler. Either gives the table that docs/operators.schema.json
-- describes, with `share` added to each operator.
local chrome_trace = require "llmprof.chrome_trace"
local document = require "llmprof.io.document"
local errors = require "llmprof.process.errors"
local paths = require "llmprof.io.paths"
local fs = require "llmprof.fs"
local joined = require "llmprof.analysis.kernels.operators"
local json = require "llmprof.json"
local launches = require "llmprof.run.launches"
local layout = require "llmprof.bundle.layout"

local operators = {}

local UNNAMED = "(unnamed)"

-- Ends of the names under which torch.profiler and people keep traces.
local trace_endings = { ".pt.trace.json", ".pt.trace.json.gz" }


-- ---- from a trace ----

local function frame(recorded, name)
  return errors.check(recorded:frame(name))
end


local function any_shape(shapes)
  for _, shape in ipairs(type(shapes) == "table" and shapes or {}) do
    if type(shape) == "table" and #shape > 0 then return true end
  end
  return false
end


-- Operator name -> the shapes of most of its calls, as far as recorded.
local function frequent_shapes(host)
  local best, counts = {}, {}
  local groups = host:where { { "shapes", "~=", false } }:group { by = { "name", "shapes" } }
  for _, group in ipairs(groups) do
    local name, shapes = group.name or UNNAMED, json.decode(group.shapes)
    if any_shape(shapes) and group.count > (counts[name] or 0) then
      best[name], counts[name] = shapes, group.count
    end
  end
  return best
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
  for _, list in pairs(by_operator) do
    table.sort(list, function(a, b)
      if a.device_ns ~= b.device_ns then return a.device_ns > b.device_ns end
      return a.name < b.name
    end)
  end
  return by_operator
end


local function total(gpu)
  local all = gpu:group { total = { "duration" } }[1]
  return all and all.duration.total or 0
end


local function by_time(a, b)
  local left, right = a.device_self_ns or 0, b.device_self_ns or 0
  if left ~= right then return left > right end
  if a.host_self_ns ~= b.host_self_ns then return a.host_self_ns > b.host_self_ns end
  return a.name < b.name
end


local function rows_of(host, gpu)
  local rows, shapes, kernels = json.list {}, frequent_shapes(host), launched(gpu)
  local groups = host:group { by = { "name" },
    sum = { "outer", "self", "device_outer", "device_self" } }
  for i, group in ipairs(groups) do
    local name = group.name or UNNAMED
    rows[i] = { name = name, calls = group.count,
      host_total_ns = group.outer.total, host_self_ns = group.self.total,
      device_total_ns = group.device_outer.total, device_self_ns = group.device_self.total,
      input_shapes = shapes[name], kernels = group.name and kernels[name] }
  end
  table.sort(rows, by_time)
  return rows
end


local function from_trace(recorded, path)
  local host, gpu, info = frame(recorded, "host"), frame(recorded, "gpu"), recorded:info()
  local measured = info.gpu > 0
  return {
    schema_version = 1,
    source = "torch.profiler, trace " .. path:match "[^/]+$",
    wall_ms = (info.last - info.first) / 1e6,
    device_ns = measured and total(gpu) or nil,
    unattributed_device_ns = measured and total(gpu:where { operator = false }) or nil,
    left_out_events = info.left_out > 0 and info.left_out or nil,
    operators = rows_of(host, gpu),
    launches = launches.of(gpu, frame(recorded, "marks")),
  }
end


-- ---- both ----

local function leave_out_profiler(given)
  local kept = json.list {}
  for _, row in ipairs(given.operators) do
    if not joined.of_profiler[row.name] then kept[#kept + 1] = row end
  end
  given.operators = kept
  return given
end


-- Each operator's part of the device time, its own kernels only, so that the
-- parts add up to at most 1.
local function add_shares(given)
  local whole = given.device_ns
  if not whole then
    whole = given.unattributed_device_ns or 0
    for _, row in ipairs(given.operators) do whole = whole + (row.device_self_ns or 0) end
  end
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
    return add_shares(leave_out_profiler(given))
  elseif code ~= "unsupported" then
    return nil, message, code
  end
  local given
  given, message, code = document.read(path, "operators")
  return given and add_shares(leave_out_profiler(given)), message, code
end


local function is_trace(name)
  for _, ending in ipairs(trace_endings) do
    if name:sub(-#ending) == ending then return true end
  end
  return false
end


-- The file of a folder that holds the operators: operators.json, else the
-- first trace by name; nil without one.
function operators.find(folder)
  local written = layout.operators_in(folder)
  if fs.stat(written) then return written end
  for _, name in ipairs(paths.names(folder)) do
    if is_trace(name) and fs.lstat(folder .. "/" .. name).type == "file" then
      return folder .. "/" .. name
    end
  end
  return nil
end


return operators
