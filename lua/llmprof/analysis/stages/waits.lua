-- Calls that wait for the GPU, grouped by what the thread had started before
-- and starts next: the copy of a token that ends a step is another wait than
-- the copies of a router's counts in each layer.
local errors = require "llmprof.process.errors"
local json = require "llmprof.json"
local spans = require "llmprof.spans"
local tuple = require("llmprof.tables.keys").tuple
local waiting = require "llmprof.analysis.stages.idle_causes"
local steps = require "llmprof.analysis.stages.steps"

local waits = {}


local check = errors.check


-- ---- what lies around a call ----

-- Operations of each thread that launched some; nil of others.
local function by_thread(ops)
  local list = {}
  return function(pid, tid)
    local key = tuple(pid, tid)
    if list[key] == nil then
      local own = check(ops:where { launch_pid = pid, launch_tid = tid })
      list[key] = #own > 0 and own or false
    end
    return list[key] or nil
  end
end


-- What is told of an operation, as columns of the calls beside it.
local TOLD = { "kind", "bytes", "name" }

-- Add what a thread had started last before each of these calls of it, and what it
-- starts next: before_kind, ..., after_kind, ...
local function add_neighbours(calls, ops)
  for side, column in pairs { before = "start", after = "end" } do
    calls:beside { column = column, other = ops, there = "api_start", before = side == "before",
      name = side }
    for _, name in ipairs(TOLD) do spans.look_up(calls, side, ops, name, side .. "_" .. name) end
  end
  return calls
end


-- What an operation is: its kind, or a kernel's category; and a copy's bytes.
local function describe(row, side, categories)
  local kind = row[side .. "_kind"]
  if kind ~= "kernel" then return kind, kind == "copy" and row[side .. "_bytes"] or nil end
  return categories[row[side .. "_name"]] or "kernel"
end


-- ---- groups ----

local BY = { "before_kind", "before_bytes", "before_name", "after_kind", "after_name" }

-- Add the calls of one thread to the groups.
local function add(groups, calls, categories)
  for _, row in ipairs(calls:group { by = BY, total = { "duration" } }) do
    local before, bytes = describe(row, "before", categories)
    local after = describe(row, "after", categories)
    local key = ("%s/%s/%s"):format(before or "", bytes or "", after or "")
    if not groups[key] then
      groups[key] = { before = before, bytes = bytes, after = after, calls = 0, ns = 0 }
    end
    local group = groups[key]
    group.calls, group.ns = group.calls + row.count, group.ns + row.duration.total
  end
end


local function by_calls(a, b)
  if a.calls ~= b.calls then return a.calls > b.calls end
  if a.ns ~= b.ns then return a.ns > b.ns end
  return (a.after or "") < (b.after or "")
end


local function listed(groups, instances)
  local list = json.list {}
  for _, group in pairs(groups) do
    group.calls, group.ns = group.calls / instances, group.ns / instances
    list[#list + 1] = group
  end
  table.sort(list, by_calls)
  return list
end


local function waiting_names(api)
  local names = {}
  for _, row in ipairs(api:group { by = { "name" } }) do
    if row.name and waiting.class_of(row.name) == "sync" then names[#names + 1] = row.name end
  end
  return names
end


-- A function from the instances of a stage (start, stop in ns) to the groups of
-- waiting calls in them, most calls first: list of { before (what the thread had
-- started last: a kernel's category, "copy", "set", "graph"), bytes (of that
-- copy), after (what it starts next), calls, ns (means per instance) }. kernels: of
-- analysis.kernels.table.
function waits.grouper(trace, ops, kernels)
  local api = check(trace:frame "api")
  local waiting_calls = check(api:where { name = waiting_names(api) })
  local ops_of, categories = by_thread(ops), {}
  for _, kernel in ipairs(kernels) do categories[kernel.name] = kernel.category end
  return function(instances)
    local inside, groups = steps.within(waiting_calls, instances), {}
    for _, thread in ipairs(inside:group { by = { "pid", "tid" } }) do
      local own = thread.tid and ops_of(thread.pid, thread.tid)
      if own then
        local calls = check(inside:where { pid = thread.pid, tid = thread.tid })
        add(groups, add_neighbours(calls, own), categories)
      end
    end
    return listed(groups, #instances)
  end
end


return waits
