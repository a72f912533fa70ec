-- The framework's operators from ranges around each, as torch's emit_nvtx pushes them: the
-- collector records them in a unit of their own, with what was launched meanwhile. What
-- launched what is then known, by attribution, without the framework's profiler. XLA marks the
-- instructions of its programs in any trace. The result is the table that
-- docs/operators.schema.json describes.
local errors = require "llmprof.process.errors"
local frames = require "llmprof.frame"
local json = require "llmprof.json"
local operators = require "llmprof.run.operators"
local lists = require "llmprof.tables.lists"
local frame_rows = require "llmprof.ranks.rows"
local range_name = require "llmprof.trace.nvtx_names"
local spans = require "llmprof.spans"
local stages = require "llmprof.analysis.stages.find"
local tuple = require("llmprof.tables.keys").tuple
local trace_file = require "llmprof.trace.file"
local traces = require "llmprof.trace"

local marked_operators = {}

-- The range around all of it, which begins such a unit, and the variable that asks for it.
marked_operators.RANGE = "operators"
marked_operators.ASKED = { LLMPROF_OPERATOR_RANGES = "1" }

local SOURCE = "PyTorch's ranges around operators, in the process of the timeline"
local XLA_SOURCE = "XLA's ranges around instructions of its programs"


local UNNAMED = "(unnamed)"


local check = errors.check


-- ---- ranges ----

-- What a tag says, { operator, path, shapes }: read once for all that differ in the numbers
-- of their calls alone.
local function reader_of_tags()
  local known = {}
  return function(tag)
    local text = tag:gsub(", seq = %d+", "", 1):gsub(", op_id = %d+", "", 1)
      :gsub(", input_op_ids = .*", "", 1)
    local said = known[text]
    if not said then
      said = range_name.read_text(text) or {}
      local shapes = said.operator and text:match ", sizes = (%b[])"
      said = { operator = said.operator, path = said.path,
        shapes = shapes and json.decode(shapes) and shapes or nil }
      known[text] = said
    end
    return said
  end
end


local RANGE = { "range", "tag", "parent", "duration", "self", "stage" }

-- The ranges, a list, and by row: each with these columns, around (the range around it),
-- operator, path (of a module) and shapes.
local function read_ranges(of, found)
  local frame, by_row, read = check(of:frame "ranges"), {}, reader_of_tags()
  stages.label_ranges(of, frame, found)
  local unmarked = found.by_engine or found.inferred
  local list = frame_rows.list(frame, lists.first(RANGE, unmarked and #RANGE - 1))
  for _, range in ipairs(list) do
    local said = read(range.tag or "")
    range.operator, range.path, range.shapes = said.operator, said.path, said.shapes
    by_row[range.range] = range
  end
  for _, range in ipairs(list) do range.around = by_row[range.parent] end
  return list, by_row
end


-- The innermost range from this one outwards that has a field; nil without any.
local function outwards(range, field)
  while range and not range[field] do range = range.around end
  return range
end


-- ---- together ----

-- What was launched, in order: list of { name, duration, range (of its operator), operator, module,
-- stage, stage_range }.
local function launched(found, by_row)
  local ops = check(found.ops:sort { { "api_start", false }, { "start", false } })
  local list = frame_rows.list(ops, { "name", "duration", "range", "stage", "stage_range" })
  for _, launch in ipairs(list) do
    local around = by_row[launch.range]
    local range, module = outwards(around, "operator"), outwards(around, "path")
    launch.name, launch.duration = launch.name or UNNAMED, launch.duration or 0
    launch.range, launch.operator = range, range and range.operator
    launch.module = module and module.path
  end
  return list
end


local function launch_list(list)
  return operators.launch_list(#list, function(i)
    local launch = list[i]
    return launch.name, launch.operator, launch.module, launch.stage_range, launch.stage
  end)
end


-- A frame of a list. columns: list of { name, type }.
local function frame_of(list, columns)
  return frames.new(#list, lists.map(columns, function(column)
    local values = {}
    for i, entry in ipairs(list) do values[i] = entry[column[1]] or false end
    return { name = column[1], type = column[2], values = values }
  end))
end


local CALLS = { { "name", "string" }, { "shapes", "string" }, { "stage", "string" },
  { "calls", "integer" }, { "outer", "integer" }, { "self", "integer" },
  { "device_outer", "integer" }, { "device_self", "integer" } }
local KERNELS = { { "operator", "string" }, { "name", "string" }, { "duration", "integer" } }


-- Calls of operators, as llmprof.run.operators has them. own: what they launched.
local function operator_calls(ranges, own)
  for _, launch in ipairs(own) do
    local range, duration = launch.range, launch.duration
    range.device_self = (range.device_self or 0) + duration
    while range do
      range.device = (range.device or 0) + duration
      range = outwards(range.around, "operator")
    end
  end
  local calls = lists.map(lists.filtered(ranges, "operator"), function(range)
    local around = range.around
    while around and around.operator ~= range.operator do around = around.around end
    local inner = around ~= nil -- inside of another of the same operator
    return { name = range.operator, shapes = range.shapes, stage = range.stage, calls = 1,
      outer = inner and 0 or range.duration or 0, self = range.self or 0,
      device_outer = inner and 0 or range.device or 0, device_self = range.device_self or 0 }
  end)
  return frame_of(calls, CALLS)
end


-- Add what the operators did in each stage to their rows.
local function add_stages(rows, calls)
  local by_name = {}
  for _, row in ipairs(rows) do by_name[row.name] = row end
  for _, group in ipairs(calls:where { { "stage", "~=", false } }
    :group { by = { "name", "stage" }, sum = { "calls", "self", "device_self" } }) do
    local row = by_name[group.name]
    row.stages = row.stages or json.list {}
    table.insert(row.stages, { name = group.stage, calls = group.calls.total,
      host_self_ns = group.self.total, device_self_ns = group.device_self.total })
  end
  return rows
end


local function made_of(of, declared, source)
  local found = stages.find(of, declared, "no")
  local ranges, by_row = read_ranges(of, found)
  local list = launched(found, by_row)
  local own = lists.filtered(list, "range")
  local calls, all = operator_calls(ranges, own), lists.sum(list, "duration")
  -- the ranges around all of it
  local whole = check(of:frame "ranges"):where { tag = marked_operators.RANGE }
    :group { total = { "duration" } }[1]
  return { inputs = operators.inputs(calls), schema_version = 1, source = source,
    wall_ms = whole and whole.duration.total > 0 and whole.duration.total / 1e6 or nil,
    device_ns = all, unattributed_device_ns = all - lists.sum(own, "duration"),
    operators = add_stages(operators.rows(calls, frame_of(own, KERNELS)), calls),
    launches = launch_list(list) }
end


-- The operators of a spool's units for them; nil where it has none. declared: the
-- recipe's stages.
function marked_operators.read(path, declared)
  local of <close> = check(traces.operators(path))
  local made = #check(of:frame "gpu") > 0 and made_of(of, declared, SOURCE)
  return made and #made.operators > 0 and made or nil
end


-- The instructions of XLA's programs in a trace; nil where none is marked.
function marked_operators.read_xla(path, declared)
  local of <close> = trace_file.open(path)
  local ranges = check(check(of:frame "ranges"):where { domain = "TSL" })
  for _, row in ipairs(ranges:group { by = { "tag" } }) do
    if row.tag:find("TSL:Thunk:#", 1, true) == 1 then return made_of(of, declared, XLA_SOURCE) end
  end
  return nil
end


-- ---- graphs ----

-- The framework's operators of kernels that CUDA graphs replay: a replay launches all of
-- them at once, and names none. Where the trace of a graph's capture is there, which engines
-- write next to those of a run, the launches in it are the nodes of the graph, in order.

-- The domain in which readers of torch.profiler's traces put operators.
local OPERATORS = "PyTorch"

-- Launches for each kernel from which on a trace with a capture in it is of nothing else.
local CAPTURED = 2


local function is_launch(name)
  return name:find "Launch" and not name:find "Graph" and not name:find "HostFunc"
    or name:find "Mem[cs][pe][yt].*Async"
end


-- Does a trace hold the capture of a graph, and little that ran?
function marked_operators.is_capture(trace)
  local begins, count = false, 0
  for _, group in ipairs(check(trace:frame "api"):group { by = { "name" } }) do
    local name = group.name or ""
    begins = begins or name:find "StreamBeginCapture" ~= nil
    count = count + (is_launch(name) and group.count or 0)
  end
  return begins and count > CAPTURED * #check(trace:frame "kernels")
end


local TIMES = { start = "start", ["end"] = "until", key = "thread" }

-- The calls of a trace in order, their names, and a function from a call's place to the row of
-- the innermost operator around it and that operator's name; nil without.
local function calls_of(trace)
  local ranges = check(check(trace:frame "ranges"):sort { { "start", false }, { "end", true } })
  local calls = frame_rows.add_threads(check(trace:frame "api"), "pid", "tid")
  spans.until_next(frame_rows.add_threads(ranges, "pid", "tid"), TIMES, "until")
  spans.assign(calls, { time = "start", key = "thread" }, ranges, TIMES, "before")
  calls = check(calls:sort { { "start", false } })
  local starts, before, place = calls:values "start", calls:values "before", {}
  local ends, parents, domains = ranges:values "end", ranges:values "parent",
    ranges:values "domain"
  for i, row in ipairs(ranges:values "range") do place[row] = i end
  return calls:values "name", function(call)
    local at = before[call] and before[call] + 1
    while at and (domains[at] ~= OPERATORS or ends[at] < starts[call]) do
      at = place[parents[at]]
    end
    return at, at and ranges:get(at, "text")
  end
end


-- The graphs that a trace captures: for each the operators of its nodes, { name, at (a number
-- of the call) } or {}, in order.
local function captures_in(path)
  local trace <close> = trace_file.open(path)
  local list, nodes = {}, nil
  local names, operator_around = calls_of(trace)
  for i, said in ipairs(names) do
    local name = said or ""
    if name:find "StreamBeginCapture" then
      nodes = {}
    elseif name:find "StreamEndCapture" and nodes then
      list[#list + 1], nodes = nodes, nil
    elseif nodes and is_launch(name) then
      local at, operator = operator_around(i)
      nodes[#nodes + 1] = { name = operator, at = at }
    end
  end
  return list
end


-- What it launched, in order of the calls, those of one by node where nodes are known: list
-- of { name, duration, replay (the call, where it replays a graph), operator }.
local function operations_of(trace)
  local ranges = {}
  for _, range in ipairs(frame_rows.list(check(trace:frame "ranges"),
    { "range", "text", "domain" })) do
    if range.domain == OPERATORS then ranges[range.range] = range.text end
  end
  local ops = check(check(trace:frame "gpu"):sort { { "api_start", false }, { "start", false } })
  local list = frame_rows.list(ops, { "name", "duration", "call", "api", "range" })
  for _, operation in ipairs(list) do
    local replays = operation.api and operation.api:find "GraphLaunch"
    operation.name, operation.duration = operation.name or UNNAMED, operation.duration or 0
    operation.replay = replays and operation.call or nil
    operation.operator, operation.range = ranges[operation.range], nil
  end
  return list
end


-- Add to the row of an operator what replays ran of it.
local function add_row(row, more)
  for _, field in ipairs { "calls", "device_self_ns", "device_total_ns" } do
    row[field] = (row[field] or 0) + more[field]
  end
  row.kernels = row.kernels or json.list {}
  for _, kernel in ipairs(more.kernels) do
    local same = lists.find(row.kernels, "name", kernel.name)
    if same then
      same.calls, same.device_ns = same.calls + kernel.calls, same.device_ns + kernel.device_ns
    else
      table.insert(row.kernels, kernel)
    end
  end
  table.sort(row.kernels, lists.by("-device_ns", "name"))
end


-- Add what replays ran to the operators of the run. Its CPU ran none of them, so that its
-- time in them stays what it is.
local function add_rows(made, operations)
  local own = lists.filtered(operations, function(one) return one.at and one.operator end)
  local calls = lists.map(lists.grouped(own, function(one)
    return tuple(one.operator, one.replay, one.at)
  end), function(list)
    local time = lists.sum(list, "duration")
    return { name = list[1].operator, calls = 1, outer = 0, self = 0, device_outer = time,
      device_self = time }
  end)
  for _, more in ipairs(operators.rows(frame_of(calls, CALLS), frame_of(own, KERNELS))) do
    local row = lists.find(made.operators, "name", more.name)
    if row then add_row(row, more) else table.insert(made.operators, more) end
  end
  made.unattributed_device_ns = math.max(0,
    (made.unattributed_device_ns or 0) - lists.sum(own, "duration"))
end


-- Add to the operators of a run (as docs/operators.schema.json has them) those of the graphs
-- that it replays. path: of its trace; captures: paths of traces of captures. Returns how
-- many operations of replays got one, and how many there are.
function marked_operators.add_replayed(made, path, captures)
  local all = lists.flat(captures, captures_in)
  local trace <close> = trace_file.open(path)
  local operations = operations_of(trace)
  local by_size, joined, count = {}, 0, 0
  for _, nodes in ipairs(all) do by_size[#nodes] = nodes end
  for _, list in ipairs(lists.grouped(operations, "replay")) do
    count = count + #list
    for i, node in ipairs(by_size[#list] or {}) do -- of a capture with as many nodes
      list[i].operator, list[i].at = node.name, node.at
      joined = joined + 1
    end
  end
  if joined == 0 then return 0, count end
  add_rows(made, operations)
  table.sort(made.operators, operators.by_time)
  made.launches = launch_list(operations)
  return joined, count
end


return marked_operators
