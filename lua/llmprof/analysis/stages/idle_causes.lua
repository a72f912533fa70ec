-- What the CPU did while the GPU had nothing to do.
--
-- Within a stage, GPU idle time is split by what the threads that launch work
-- were in at that moment:
--   launch  an API call that launches kernels, graphs, copies or sets
--   sync    a call that waits for the GPU
--   memory  a call that allocates, pins or frees
--   other   any other CUDA call (module loading, attributes, cudaEventQuery and the like, which
--           ask whether the GPU is done and return at once)
--   host    no CUDA call at all: the framework, the interpreter
-- Idle time between the kernels of a graph's replay is the graph's. So is idle time before a
-- replay whose launch has returned: the CPU may be many replays ahead.
-- Time in several at once (several threads) counts for the first of these.
local classes = require "llmprof.classes"
local check = require("llmprof.process.errors").check
local lists = require "llmprof.tables.lists"
local rows = require "llmprof.ranks.rows"
local steps = require "llmprof.analysis.stages.steps"

local waiting = {}

local patterns = {
  { "sync", { "Synchronize" } },
  { "launch", { "Launch", "Memcpy", "Memset", "memcpy", "memset" } },
  { "memory", { "Malloc", "Free", "MemAlloc", "HostAlloc", "MemPool", "HostRegister",
    "HostUnregister" } },
}


-- The class of an API call, by name.
function waiting.class_of(name)
  for _, entry in ipairs(patterns) do
    for _, pattern in ipairs(entry[2]) do
      if name:find(pattern, 1, true) then return entry[1] end
    end
  end
  return "other"
end


local BUSY = { "launch", "sync", "memory", "other" }

-- The names of a trace's API calls: a list by class.
function waiting.names(trace)
  local names = lists.map(check(trace:frame "api"):group { by = { "name" } }, "name")
  local _, by_class = lists.grouped(names, waiting.class_of)
  return by_class
end


-- Of a process, or of all: the calls of the threads that launch its operations.
local function calls_of(api, ops, pid)
  if pid then api, ops = check(api:where { pid = pid }), check(ops:where { pid = pid }) end
  local threads = lists.map(ops:group { by = { "launch_pid", "launch_tid" } }, function(row)
    return rows.thread_of(row.launch_pid, row.launch_tid)
  end)
  return check(api:where { thread = threads })
end


-- The trace's API calls, with `thread`.
local function api_of(trace) return rows.add_threads(check(trace:frame "api"), "pid", "tid") end


-- A function from a process (nil: all of them) to when the threads of it that launch work were
-- in a CUDA call, as intervals.
function waiting.covered(trace, ops)
  local api = api_of(trace)
  return function(pid)
    return calls_of(api, ops, pid):where { { "name", "~=", false } }:union()
  end
end


-- What was made of traces: trace -> names of its calls, and process, 0 for all -> their classes.
local made = setmetatable({}, { __mode = "k" })


-- A function from a process (nil: all of them) to what CUDA calls the threads of it that
-- launch work were in, by class. ops: the trace's frame of all GPU operations.
local function calls_by_class(trace, ops)
  local api, known = api_of(trace), made[trace] or { names = waiting.names(trace) }
  made[trace] = known
  return function(pid)
    local key = pid or 0
    known[key] = known[key] or classes.of(calls_of(api, ops, pid), "name",
      lists.map(BUSY, function(class) return known.names[class] or {} end))
    return known[key]
  end
end


-- The intervals in which graph replays hold the GPU: from a replay's first operation to its
-- last, and before that from the return of the call that launched it.
local function replays(ops)
  local calls = check(ops:group { by = { "call" }, columns = { { "start", "min", "start" },
    { "end", "max", "end" }, { "launched", "min", "api_end" } } })
  local whole = calls:union()
  calls:less { column = "start", by = "launched", name = "ahead" }
  local waited = check(calls:where { { "ahead", ">", 0 } }):select { "launched", "end" }
  waited:lag { column = "launched", offset = 0, name = "start" }
  return check(whole:join(waited:union()))
end


-- A function from a process and a GPU (nil: all of them) to when it kept the GPU: when that
-- worked, and between the kernels of replays. nil of one without replays.
local function kept_by(found)
  local names = lists.map(found.ops:group { by = { "api" } }, function(row)
    return row.api and row.api:find("GraphLaunch", 1, true) and row.api or nil
  end)
  local ops, sets = #names > 0 and check(found.ops:where { api = names }), {}
  return function(pid, device)
    local key = ("%s %s"):format(pid, device)
    if not ops or sets[key] == false then return nil end
    if not sets[key] then
      local own = (pid or device) and check(ops:where { pid = pid, device = device }) or ops
      sets[key] = #own > 0 and check(replays(own):join(found.busy(pid, device)))
    end
    return sets[key] or nil
  end
end


-- A function from an instance (start, stop in ns; device, if it is alone there) and its process
-- (nil: all of them) to ns of GPU idle time by class, and `graph` where it replays graphs.
-- found: of analysis.stages.find.
function waiting.classifier(trace, found)
  local of_process, kept_for = calls_by_class(trace, found.ops), kept_by(found)
  return function(instance, pid)
    local calls, device = of_process(pid), instance.device
    local busy, kept = found.busy(pid, device), kept_for(pid, device)
    local from, to = instance.start, instance.stop
    local split, idle = {}, math.max(to - from, 0) - busy:covered(from, to)
    if kept then split.graph = kept:covered(from, to) - busy:covered(from, to) end
    split.launch, split.sync, split.memory, split.other = calls:within(from, to, kept or busy)
    split.host = idle - (split.graph or 0) - split.launch - split.sync - split.memory - split.other
    return split
  end
end


-- A function from instances to what API calls within their ranges took: by class { calls, ns },
-- means of an instance, whether or not the GPU was idle.
function waiting.api_time(trace)
  local api = check(trace:frame "api")
  return function(instances)
    local result = {}
    for _, class in ipairs(BUSY) do result[class] = { calls = 0, ns = 0 } end
    for _, row in ipairs(steps.within(api, instances):group { by = { "name" },
      total = { "duration" } }) do
      local entry = result[waiting.class_of(row.name or "")]
      entry.calls, entry.ns = entry.calls + row.count, entry.ns + row.duration.total
    end
    for _, entry in pairs(result) do
      entry.calls, entry.ns = entry.calls / #instances, entry.ns / #instances
    end
    return result
  end
end


return waiting
