-- The framework's operators from ranges around each, as torch's emit_nvtx pushes them: the
-- collector records them in a unit of their own, with what was launched meanwhile. What
-- launched what is then known, by attribution, without the framework's profiler. XLA marks the
-- instructions of its programs in any trace. The result is the table that
-- docs/operators.schema.json describes.
local errors = require "llmprof.process.errors"
local json = require "llmprof.json"
local operators = require "llmprof.run.operators"
local lists = require "llmprof.tables.lists"
local range_name = require "llmprof.trace.nvtx_names"
local stages = require "llmprof.analysis.stages.find"
local thread_of = require("llmprof.ranks.rows").thread_of
local trace_file = require "llmprof.trace.file"
local traces = require "llmprof.trace"

local marked_operators = {}

-- The range around all of it, which begins such a unit, and the variable that asks for it.
marked_operators.RANGE = "operators"
marked_operators.ASKED = { LLMPROF_OPERATOR_RANGES = "1" }

local SOURCE = "PyTorch's ranges around operators, in the process of the timeline"
local XLA_SOURCE = "XLA's ranges around instructions of its programs"


local check = errors.check


-- ---- ranges ----

-- Shapes of the inputs, where the tag of a range says them.
local function shapes_of(tag)
  local text = tag:match ", sizes = (%b[])"
  return text and json.decode(text) and text or nil
end


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
      said = { operator = said.operator, path = said.path,
        shapes = said.operator and shapes_of(text) }
      known[text] = said
    end
    return said
  end
end


-- By range row: { parent, operator, path (of a module), duration, self, stage, shapes },
-- and a list of the rows.
local function read_ranges(of, found)
  local frame = check(of:frame "ranges")
  stages.label_ranges(of, frame, found)
  local columns, by_row, rows = {}, {}, frame:values "range"
  for _, name in ipairs { "tag", "parent", "duration", "self", "stage" } do
    local there = name ~= "stage" or not (found.by_engine or found.inferred)
    columns[name] = there and frame:values(name) or {}
  end
  local read = reader_of_tags()
  for i, row in ipairs(rows) do
    local said = read(columns.tag[i] or "")
    by_row[row] = { parent = columns.parent[i] or nil, operator = said.operator,
      path = said.path, duration = columns.duration[i] or 0, own = columns.self[i] or 0,
      stage = columns.stage[i] or nil, shapes = said.shapes }
  end
  return by_row, rows
end


-- Link each range to the one around it (`around`), to the first in it (`first`) and to the
-- next in the same one (`next`); the first that is in none.
local function link(by_row, order)
  local top = {}
  for i = #order, 1, -1 do
    local range = by_row[order[i]]
    local parent = range.parent and by_row[range.parent]
    range.around, range.next = parent, (parent or top).first
    local holder = parent or top
    holder.first = range
  end
  return top.first
end


-- Add to a range `at`, the innermost operator around it, or it; `module`, the path of the
-- module there; and `inner`: is it inside of another of the same operator? open: how many
-- of each operator are around.
local function place(range, open)
  local name, around = range.operator, range.around
  range.module = range.path or around and around.module
  if name then
    local count = open[name] or 0
    range.at, range.inner, open[name] = range, count > 0, count + 1
  else
    range.at = around and around.at
  end
end


-- Place all ranges, however deep they are; a list of them in which each stands behind those
-- that are in it.
local function place_all(by_row, order)
  local range, open, done = link(by_row, order), {}, {}
  while range do
    place(range, open)
    local nearest = range.first
    while range and not nearest do
      local name = range.operator
      if name then open[name] = open[name] - 1 end
      done[#done + 1] = range
      nearest, range = range.next, range.around
    end
    range = nearest
  end
  return done
end


-- ---- rows ----

local Rows = {}
Rows.__index = Rows


function Rows:of(name)
  return self.by_name[name] or lists.entry(self.list, self.by_name, name,
    { name = name, calls = 0, host_total_ns = 0, host_self_ns = 0, device_total_ns = 0,
      device_self_ns = 0, shapes = {}, kernels_by_name = {}, stages_by_name = {},
      kernels = json.list {}, stages = json.list {} })
end


local function stage_of(row, name)
  return lists.entry(row.stages, row.stages_by_name, name,
    { name = name, calls = 0, host_self_ns = 0, device_self_ns = 0 })
end


local function add_call(rows, range)
  local row = rows:of(range.operator)
  row.calls, row.host_self_ns = row.calls + 1, row.host_self_ns + range.own
  if not range.inner then row.host_total_ns = row.host_total_ns + range.duration end
  if range.shapes then row.shapes[range.shapes] = (row.shapes[range.shapes] or 0) + 1 end
  if range.stage then
    local stage = stage_of(row, range.stage)
    stage.calls, stage.host_self_ns = stage.calls + 1, stage.host_self_ns + range.own
  end
end


-- What a range launched, to its operator.
local function add_launch(rows, range, name, duration)
  local row = rows:of(range.operator)
  row.device_self_ns = row.device_self_ns + duration
  local kernel = lists.entry(row.kernels, row.kernels_by_name, name,
    { name = name, calls = 0, device_ns = 0 })
  kernel.calls, kernel.device_ns = kernel.calls + 1, kernel.device_ns + duration
  if range.stage then
    local stage = stage_of(row, range.stage)
    stage.device_self_ns = stage.device_self_ns + duration
  end
  range.launched = (range.launched or 0) + duration
end


-- What was launched in ranges, once to each operator that is around it. list: of place_all.
local function add_totals(rows, list)
  for _, range in ipairs(list) do
    local ns, around = range.launched, range.around
    if ns and range.operator and not range.inner then
      local row = rows:of(range.operator)
      row.device_total_ns = row.device_total_ns + ns
    end
    if ns and around then around.launched = (around.launched or 0) + ns end
  end
end


local function most_frequent(shapes)
  local best
  for text, count in pairs(shapes) do
    if not best or count > shapes[best] or count == shapes[best] and text < best then
      best = text
    end
  end
  return best and json.decode(best)
end


-- What the model was given, by the shapes of its lookups.
local function inputs_of(rows)
  local row, lookups = rows.by_name["aten::embedding"], {}
  for text, count in pairs(row and row.shapes or {}) do
    lookups[#lookups + 1] = { shapes = json.decode(text), count = count }
  end
  return operators.inputs(lookups)
end


local function finished(rows)
  for _, row in ipairs(rows.list) do
    row.input_shapes = most_frequent(row.shapes)
    table.sort(row.kernels, lists.by("-device_ns", "name"))
    row.shapes, row.kernels_by_name, row.stages_by_name = nil, nil, nil
    if #row.kernels == 0 then row.kernels = nil end
    if #row.stages == 0 then row.stages = nil end
  end
  table.sort(rows.list, operators.by_time)
  return rows.list
end


-- ---- together ----

-- What was launched, in order, as lists.
local function launched(found, by_row)
  local ops = check(found.ops:sort { { "api_start", false }, { "start", false } })
  local list, names, durations = {}, ops:values "name", ops:values "duration"
  local ranges, stage, instance = ops:values "range", ops:values "stage",
    ops:values "stage_range"
  for i, name in ipairs(names) do
    local range = ranges[i] and by_row[ranges[i]] or {}
    list[i] = { name = name or "(unnamed)", duration = durations[i] or 0,
      range = range.at or nil, module = range.module or nil,
      stage = stage[i] or nil, instance = instance[i] or nil }
  end
  return list
end


local function launch_list(list)
  return operators.launch_list(#list, function(i)
    local launch = list[i]
    return launch.name, launch.operator, launch.module, launch.instance, launch.stage
  end)
end


local function made_of(of, declared, source)
  local found = stages.find(of, declared, "no")
  local by_row, order = read_ranges(of, found)
  local placed = place_all(by_row, order)
  local rows = setmetatable({ by_name = {}, list = json.list {} }, Rows)
  for _, row in ipairs(order) do
    if by_row[row].operator then add_call(rows, by_row[row]) end
  end
  local all, lost, list = 0, 0, launched(found, by_row)
  for _, launch in ipairs(list) do
    all = all + launch.duration
    if launch.range then
      add_launch(rows, launch.range, launch.name, launch.duration)
      launch.operator = launch.range.operator
    else
      lost = lost + launch.duration
    end
  end
  add_totals(rows, placed)
  local inputs = inputs_of(rows)
  -- the ranges around all of it
  local whole = check(of:frame "ranges"):where { tag = marked_operators.RANGE }
    :group { total = { "duration" } }[1]
  return { inputs = inputs, schema_version = 1, source = source,
    wall_ms = whole and whole.duration.total > 0 and whole.duration.total / 1e6 or nil,
    device_ns = all, unattributed_device_ns = lost, operators = finished(rows),
    launches = launch_list(list) }
end


-- The operators of a spool's units for them; nil where it has none. declared: the
-- recipe's stages.
function marked_operators.read(path, declared)
  local of = check(traces.operators(path))
  local made = #check(of:frame "gpu") > 0 and made_of(of, declared, SOURCE) or nil
  of:close()
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


-- The calls of a trace, in order: list of { name, start, thread }.
local function calls_of(trace)
  local frame = check(check(trace:frame "api"):sort { { "start", false } })
  local list, names = {}, frame:values "name"
  local starts, pids, tids = frame:values "start", frame:values "pid", frame:values "tid"
  for i, name in ipairs(names) do
    list[i] = { name = name or "", start = starts[i],
      thread = thread_of(pids[i] or nil, tids[i] or 0) }
  end
  return list
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


-- By thread, its operators by start: list of { name, start, stop }.
local function operators_by_thread(trace)
  local frame = check(check(trace:frame "ranges"):where { domain = OPERATORS })
  frame = check(frame:sort { { "start", false }, { "end", true } })
  local by_thread, names = {}, frame:values "text"
  local starts, stops = frame:values "start", frame:values "end"
  local pids, tids = frame:values "pid", frame:values "tid"
  for i, name in ipairs(names) do
    local thread = thread_of(pids[i] or nil, tids[i] or 0)
    by_thread[thread] = by_thread[thread] or {}
    table.insert(by_thread[thread], { name = name or nil, start = starts[i], stop = stops[i] })
  end
  return by_thread
end


-- A function from a call to the innermost operator around it, nil without; calls come by
-- start.
local function finder(by_thread)
  local open, at = {}, {}
  return function(call)
    local list, stack = by_thread[call.thread] or {}, open[call.thread] or {}
    local i = at[call.thread] or 1
    while list[i] and list[i].start <= call.start do
      stack[#stack + 1] = list[i]
      i = i + 1
    end
    at[call.thread], open[call.thread] = i, stack
    while #stack > 0 and stack[#stack].stop < call.start do stack[#stack] = nil end
    return stack[#stack]
  end
end


-- The graphs that a trace captures: for each the operators of its nodes, { name, at (what
-- tells a call from others) or {} }, in order.
local function captures_in(path)
  local trace <close> = trace_file.open(path)
  local operator_of, list, nodes = finder(operators_by_thread(trace)), {}, nil
  for _, call in ipairs(calls_of(trace)) do
    if call.name:find "StreamBeginCapture" then
      nodes = {}
    elseif call.name:find "StreamEndCapture" and nodes then
      list[#list + 1], nodes = nodes, nil
    elseif nodes and is_launch(call.name) then
      local around = operator_of(call)
      nodes[#nodes + 1] = { name = around and around.name, at = around }
    end
  end
  return list
end


-- What it launched, in order of the calls, those of one by node where nodes are known: list
-- of { name, duration, replay (the call, where it replays a graph), operator }.
local function operations_of(trace)
  local ranges, frame = {}, check(trace:frame "ranges")
  for i, row in ipairs(frame:values "range") do ranges[row] = i end
  local texts, domains = frame:values "text", frame:values "domain"
  local ops = check(check(trace:frame "gpu"):sort { { "api_start", false }, { "start", false } })
  local list, names, durations = {}, ops:values "name", ops:values "duration"
  local calls, api, around = ops:values "call", ops:values "api", ops:values "range"
  for i, name in ipairs(names) do
    local range = around[i] and ranges[around[i]]
    local replays = api[i] and api[i]:find "GraphLaunch" ~= nil
    list[i] = { name = name or "(unnamed)", duration = durations[i] or 0,
      replay = replays and calls[i] or nil,
      operator = range and domains[range] == OPERATORS and texts[range] or nil }
  end
  return list
end


-- Give the operations of replays the operators of a capture with as many nodes; how many got
-- one, and how many there are.
local function join(operations, captures)
  local by_size, joined, all = {}, 0, 0
  for _, nodes in ipairs(captures) do by_size[#nodes] = nodes end
  for _, list in ipairs(lists.grouped(operations, "replay")) do
    all = all + #list
    for i, node in ipairs(by_size[#list] or {}) do
      list[i].operator, list[i].at = node.name, node.at and { list[i].replay, node.at }
      joined = joined + 1
    end
  end
  return joined, all
end


-- Add what replays ran to the operators of the run. Its CPU ran none of them, so that its
-- time in them stays what it is.
local function add_rows(made, operations)
  local seen, rows = {}, {}
  for _, row in ipairs(made.operators) do rows[row.name] = row end
  for _, operation in ipairs(operations) do
    if operation.at and operation.operator then
      local row = lists.entry(made.operators, rows, operation.operator,
        { name = operation.operator, calls = 0, host_total_ns = 0, host_self_ns = 0 })
      local key = ("%s/%p"):format(operation.at[1], operation.at[2])
      if not seen[key] then seen[key], row.calls = true, row.calls + 1 end
      row.device_self_ns = (row.device_self_ns or 0) + operation.duration
      row.device_total_ns = (row.device_total_ns or 0) + operation.duration
      made.unattributed_device_ns = math.max(0, (made.unattributed_device_ns or 0)
        - operation.duration)
      row.kernels = row.kernels or json.list {}
      local kernel = lists.find(row.kernels, "name", operation.name)
      if not kernel then
        kernel = { name = operation.name, calls = 0, device_ns = 0 }
        table.insert(row.kernels, kernel)
      end
      kernel.calls, kernel.device_ns = kernel.calls + 1, kernel.device_ns + operation.duration
    end
  end
end


-- Add to the operators of a run (as docs/operators.schema.json has them) those of the graphs
-- that it replays. path: of its trace; captures: paths of traces of captures. Returns how
-- many operations of replays got one, and how many there are.
function marked_operators.add_replayed(made, path, captures)
  local all = lists.flat(captures, captures_in)
  local trace <close> = trace_file.open_whole(path)
  local operations = operations_of(trace)
  local joined, count = join(operations, all)
  if joined == 0 then return 0, count end
  add_rows(made, operations)
  table.sort(made.operators, operators.by_time)
  made.launches = launch_list(operations)
  return joined, count
end


return marked_operators
