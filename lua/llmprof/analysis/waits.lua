-- Calls that wait for the GPU, grouped by what the thread had started before
-- and starts next: the copy of a token that ends a step is another wait than
-- the copies of a router's counts in each layer.
local bisect = require "llmprof.base.bisect"
local errors = require "llmprof.base.errors"
local json = require "llmprof.json"
local waiting = require "llmprof.analysis.waiting"
local steps = require "llmprof.analysis.steps"

local waits = {}

-- More waiting calls than this are not looked at one by one.
local MOST = 20000


local function check(value, message)
  return errors.check("failed", value, message)
end


-- ---- what lies around a call ----

-- Operations of each thread that launched some, by the call that launched them.
local function by_thread(ops)
  local list = {}
  return function(tid)
    if not list[tid] then
      list[tid] = check(ops:where { launch_tid = tid }:sort { { "api_start", false } })
    end
    return list[tid]
  end
end


-- The first row of a view whose call began at `time` or later; #view + 1 where
-- there is none.
local function first_from(view, time)
  return bisect.first(#view, function(row) return view:get(row, "api_start") >= time end)
end


-- What an operation is: its kind, or a kernel's category; and a copy's bytes.
local function describe(view, row, categories)
  if row < 1 or row > #view then return nil end
  local kind = view:get(row, "kind")
  if kind ~= "kernel" then return kind, kind == "copy" and view:get(row, "bytes") or nil end
  return categories[view:get(row, "name")] or "kernel"
end


-- ---- groups ----

local function add(groups, call, view, categories)
  local from = first_from(view, call.stop)
  local before, bytes = describe(view, first_from(view, call.start) - 1, categories)
  local after = describe(view, from, categories)
  local key = ("%s/%s/%s"):format(before or "", bytes or "", after or "")
  if not groups[key] then
    groups[key] = { before = before, bytes = bytes, after = after, calls = 0, ns = 0 }
  end
  local group = groups[key]
  group.calls, group.ns = group.calls + 1, group.ns + call.stop - call.start
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
-- copy), after (what it starts next), calls, ns (means per instance) }; nil where
-- there are more calls than are looked at. kernels: of analysis.kernels.
function waits.grouper(trace, ops, kernels)
  local api = check(trace:frame "api")
  local waiting_calls = check(api:where { name = waiting_names(api) })
  local view_of, categories = by_thread(ops), {}
  for _, kernel in ipairs(kernels) do categories[kernel.name] = kernel.category end
  return function(instances)
    local inside = check(waiting_calls:within(steps.on_cpu(instances)))
    if #inside > MOST then return nil end
    local groups = {}
    for row = 1, #inside do
      local tid = inside:get(row, "tid")
      local view = tid and view_of(tid)
      if view and #view > 0 then
        local call = { start = inside:get(row, "start"), stop = inside:get(row, "end") }
        add(groups, call, view, categories)
      end
    end
    return listed(groups, #instances)
  end
end


return waits
