-- Which threads did what while the GPU had nothing to do between steps: the CUDA calls and
-- the ranges of each.
local errors = require "llmprof.process.errors"

local idle_threads = {}

-- Names of a thread that are looked at one by one, those with the most time first.
local MOST_NAMES = 16

-- Threads of a rank and phase that are kept, those that were in most first.
local MOST_THREADS = 4


-- The threads of a process' names.
local function thread_names(trace)
  local names = {}
  for _, thread in ipairs(trace:threads()) do
    if thread.pid then names[("%d/%d"):format(thread.pid, thread.tid)] = thread.name end
  end
  return names
end


-- Of a thread's rows, the name under which it spent most of the idle time, and how much.
local function most_of(own, column, idle)
  local groups = own:group { by = { column }, total = { "duration" } }
  table.sort(groups, function(a, b)
    if a.duration.total ~= b.duration.total then return a.duration.total > b.duration.total end
    return (a[column] or "") < (b[column] or "")
  end)
  local best, best_ns = nil, 0
  for i = 1, math.min(#groups, MOST_NAMES) do
    local name = groups[i][column]
    local ns = name and idle:overlap(own:where({ [column] = name }):union()) or 0
    if ns > best_ns then best, best_ns = name, ns end
  end
  return best, best_ns
end


-- By thread, as "pid/tid", rows of a frame that have a rank: list of { pid, tid, rows }.
local function by_thread(frame, rank)
  local list = {}
  local own = frame:where { rank = rank }
  for _, group in ipairs(own:group { by = { "pid", "tid" } }) do
    list[("%d/%d"):format(group.pid, group.tid)] = { pid = group.pid, tid = group.tid,
      rows = own:where { pid = group.pid, tid = group.tid } }
  end
  return list
end


-- What one thread did in the idle time. calls, ranges: its own, nil for none.
local function describe(calls, ranges, idle)
  local made = { calls_ns = 0, waiting_ns = 0, ranges_ns = 0 }
  if calls then
    local waits = calls.rows:where { class = "sync" }
    made.waiting_ns = idle:overlap(waits:union())
    made.calls_ns = idle:overlap(calls.rows:union()) - made.waiting_ns
    made.call, made.call_ns = most_of(calls.rows, "name", idle)
  end
  if ranges then
    made.ranges_ns = idle:overlap(ranges.rows:union())
    made.range, made.range_ns = most_of(ranges.rows, "tag", idle)
  end
  return made
end


local function threads_of(calls, ranges, idle, names)
  local list, seen = {}, {}
  for _, threads in ipairs { calls, ranges } do
    for key, thread in pairs(threads) do
      if not seen[key] then
        seen[key] = true
        local made = describe(calls[key], ranges[key], idle)
        made.pid, made.tid, made.thread = thread.pid, thread.tid, names[key]
        if made.calls_ns + made.waiting_ns + made.ranges_ns > 0 then list[#list + 1] = made end
      end
    end
  end
  table.sort(list, function(a, b)
    local left, right = a.calls_ns + a.ranges_ns, b.calls_ns + b.ranges_ns
    if left ~= right then return left > right end
    return a.tid < b.tid
  end)
  for i = #list, MOST_THREADS + 1, -1 do list[i] = nil end
  return list
end


-- The threads of each rank while its GPU waited for steps of a phase: list of { rank,
-- phase, idle_ns (all of it), pid, tid, thread (its name), calls_ns (in CUDA calls that do
-- not wait for the GPU), waiting_ns (in those that do), call and call_ns (the one with the
-- most), ranges_ns, range, range_ns }. steps: measured; given: trace, members,
-- label_threads, and api (with rank and class).
function idle_threads.of(steps, given)
  local ranges = given.label_threads(given.members, errors.check(given.trace:frame "ranges"),
    given.trace)
  local names, list = thread_names(given.trace), {}
  for _, member in ipairs(given.members) do
    local calls, own_ranges = by_thread(given.api, member.rank), by_thread(ranges, member.rank)
    local own = steps:where { rank = member.rank, { "idle", ">", 0 } }
    for _, group in ipairs(own:group { by = { "phase" } }) do
      local idle = own:where({ phase = group.phase }):union("before", "first")
      for _, made in ipairs(threads_of(calls, own_ranges, idle, names)) do
        made.rank, made.phase, made.idle_ns = member.rank, group.phase, idle:covered()
        list[#list + 1] = made
      end
    end
  end
  return list
end


return idle_threads
