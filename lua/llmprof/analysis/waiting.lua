-- What the CPU did while the GPU had nothing to do.
--
-- Within a stage, GPU idle time is split by what the threads that launch work
-- were in at that moment:
--   launch  an API call that launches kernels, graphs, copies or sets
--   sync    a call that waits for the GPU
--   memory  a call that allocates or frees
--   other   any other CUDA call (module loading, queries, attributes)
--   host    no CUDA call at all: the framework, the interpreter
-- Time in several at once (several threads) counts for the first of these.
local errors = require "llmprof.base.errors"

local waiting = {}

waiting.classes = { "launch", "sync", "memory", "other", "host" }

local patterns = {
  { "sync", { "Synchronize", "cudaStreamQuery", "cudaEventQuery" } },
  { "launch", { "Launch", "Memcpy", "Memset", "memcpy", "memset" } },
  { "memory", { "Malloc", "Free", "MemAlloc", "HostAlloc", "MemPool" } },
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


local function check(value, message, code)
  return errors.check("failed", value, message, code)
end


-- Intervals of the API calls of each class, over the threads that launch, and of
-- all classes up to and including it, so that a moment counts once.
local function unions(api, tids)
  local names, result, so_far = {}, {}, nil
  for _, row in ipairs(api:group { by = { "name" } }) do
    local class = waiting.class_of(row.name or "")
    names[class] = names[class] or {}
    table.insert(names[class], row.name)
  end
  for _, class in ipairs { "launch", "sync", "memory", "other" } do
    local own = api:where { name = names[class] or {}, tid = tids }:union()
    so_far = so_far and check(so_far:join(own)) or own
    result[class] = so_far
  end
  return result
end


local function launching_threads(ops)
  local tids = {}
  for _, row in ipairs(ops:group { by = { "launch_tid" } }) do
    if row.launch_tid then tids[#tids + 1] = row.launch_tid end
  end
  return tids
end


-- A function from an instance (start, stop in ns) to ns of GPU idle time by
-- class. trace: a trace, ops: its frame of all GPU operations.
function waiting.classifier(trace, ops)
  local api = check(trace:frame "api")
  local by_class = unions(api, launching_threads(ops))
  local busy = ops:union()
  return function(instance)
    local gaps = check(busy:gaps(instance.start, instance.stop))
    local idle, before, split = gaps:covered(), 0, {}
    for _, class in ipairs { "launch", "sync", "memory", "other" } do
      local so_far = gaps:overlap(by_class[class])
      split[class], before = so_far - before, so_far
    end
    split.host = idle - before
    return split
  end
end


-- A function from instances to what API calls within them took: by class { calls, ns },
-- whether or not the GPU was idle.
function waiting.api_time(trace)
  local api = check(trace:frame "api")
  return function(instances)
    local inside, result = check(api:within(instances)), {}
    for _, class in ipairs(waiting.classes) do result[class] = { calls = 0, ns = 0 } end
    for _, row in ipairs(inside:group { by = { "name" }, sum = { "duration" } }) do
      local entry = result[waiting.class_of(row.name or "")]
      entry.calls, entry.ns = entry.calls + row.count, entry.ns + row.duration.total
    end
    return result
  end
end


return waiting
