-- The framework's operators of kernels that CUDA graphs replay: a replay launches all of
-- them at once, and names none. Where the trace of a graph's capture is there, which engines
-- write beside those of a run, the launches in it are the nodes of the graph, in order.
local errors = require "llmprof.process.errors"
local json = require "llmprof.json"
local operators = require "llmprof.run.operators"
local thread_of = require("llmprof.ranks.rows").thread_of
local trace_file = require "llmprof.trace.file"

local graph_operators = {}

-- The domain in which readers of torch.profiler's traces put operators.
local OPERATORS = "PyTorch"

-- Launches for each kernel from which on a trace with a capture in it is of nothing else.
local CAPTURED = 2


local check = errors.check


-- ---- the trace of a capture ----

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
function graph_operators.is_capture(trace)
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


-- ---- the trace of a run ----

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
  local by_size, replays, joined, all = {}, {}, 0, 0
  for _, nodes in ipairs(captures) do by_size[#nodes] = nodes end
  for _, operation in ipairs(operations) do
    local list = operation.replay and (replays[operation.replay] or {})
    if list then
      replays[operation.replay] = list
      list[#list + 1] = operation
    end
  end
  for call, list in pairs(replays) do
    all = all + #list
    for i, node in ipairs(by_size[#list] or {}) do
      list[i].operator, list[i].at = node.name, node.at and { call, node.at }
      joined = joined + 1
    end
  end
  return joined, all
end


-- ---- together ----

local function row_of(made, name)
  for _, row in ipairs(made.operators) do
    if row.name == name then return row end
  end
  local row = { name = name, calls = 0, host_total_ns = 0, host_self_ns = 0 }
  table.insert(made.operators, row)
  return row
end


local function add_kernel(row, operation)
  row.kernels = row.kernels or json.list {}
  for _, kernel in ipairs(row.kernels) do
    if kernel.name == operation.name then
      kernel.calls, kernel.device_ns = kernel.calls + 1, kernel.device_ns + operation.duration
      return
    end
  end
  table.insert(row.kernels, { name = operation.name, calls = 1, device_ns = operation.duration })
end


-- Add what replays ran to the operators of the run. Its CPU ran none of them, so that its
-- time in them stays what it is.
local function add_rows(made, operations)
  local seen, rows = {}, {}
  for _, operation in ipairs(operations) do
    if operation.at and operation.operator then
      local row = rows[operation.operator] or row_of(made, operation.operator)
      rows[operation.operator] = row
      local key = ("%s/%p"):format(operation.at[1], operation.at[2])
      if not seen[key] then seen[key], row.calls = true, row.calls + 1 end
      row.device_self_ns = (row.device_self_ns or 0) + operation.duration
      row.device_total_ns = (row.device_total_ns or 0) + operation.duration
      made.unattributed_device_ns = math.max(0, (made.unattributed_device_ns or 0)
        - operation.duration)
      add_kernel(row, operation)
    end
  end
end


-- Add to the operators of a run (as docs/operators.schema.json has them) those of the graphs
-- that it replays. path: of its trace; captures: paths of traces of captures. Returns how
-- many operations of replays got one, and how many there are.
function graph_operators.add(made, path, captures)
  local all = {}
  for _, capture in ipairs(captures) do
    for _, nodes in ipairs(captures_in(capture)) do all[#all + 1] = nodes end
  end
  local trace <close> = trace_file.open_whole(path)
  local operations = operations_of(trace)
  local joined, count = join(operations, all)
  if joined == 0 then return 0, count end
  add_rows(made, operations)
  table.sort(made.operators, function(a, b)
    local left, right = a.device_self_ns or 0, b.device_self_ns or 0
    if left ~= right then return left > right end
    return a.name < b.name
  end)
  made.launches = operators.launch_list(operations)
  return joined, count
end


return graph_operators
