-- Where the time of each stage goes: GPU time by category of work, idle time by
-- what the CPU did, driver calls, and how long launches wait.
-- All figures are means per used instance of the stage.
local categories = require "llmprof.analysis.kernels.categories"
local check = require("llmprof.process.errors").check
local json = require "llmprof.json"
local overhead = require "llmprof.analysis.latency.overhead"
local pack = require "llmprof.pack"
local rows = require "llmprof.ranks.rows"
local tuple = require("llmprof.tables.keys").tuple
local spans = require "llmprof.spans"
local stage_summary = require "llmprof.analysis.stages.summary"
local stages = require "llmprof.analysis.stages.find"
local statistics = require "llmprof.statistics"
local steps = require "llmprof.analysis.stages.steps"
local transfers = require "llmprof.analysis.timeline.transfers"
local neighbours = require "llmprof.analysis.stages.neighbours"
local uneven_steps = require "llmprof.analysis.stages.uneven_steps"
local waiting = require "llmprof.analysis.stages.idle_causes"
local lists = require "llmprof.tables.lists"

local breakdown = { where = { "trace" }, reads = { "found", "kernels", "stages", "ranks",
    "overhead", "repeats" },
  gives = { ["stages.categories"] = "what the kernels of a stage are for",
    ["stages.bound"] = "what takes most of a stage's time",
    ["stages.waiting"] = "what the CPU did while the GPU had nothing to do" } }


-- ---- calls that wait for the GPU ----

-- Calls that wait for the GPU, grouped by what the thread had started before
-- and starts next: the copy of a token that ends a step is another wait than
-- the copies of a router's counts in each layer.

-- Operations of each thread that launched some, those of one call in the order in which they ran,
-- with what they are: `what`, their kind or a kernel's category, and the `copied` bytes; nil of
-- others.
local function by_thread(ops, of_name)
  local all, list = check(ops:where {}), {}
  rows.extend(all, { "kind", "name" }, { { name = "what", type = "string", get = function(key)
    return key.kind == "kernel" and of_name[key.name] or key.kind
  end } })
  rows.extend(all, { "kind", "bytes" }, { { name = "copied", type = "integer",
    get = function(key) return key.kind == "copy" and key.bytes end } })
  return function(pid, tid)
    local key = tuple(pid, tid)
    if list[key] == nil then
      local own = check(check(all:where { launch_pid = pid, launch_tid = tid }):sort {
        { "start" }, { "end" }, { "name" } })
      list[key] = #own > 0 and own or false
    end
    return list[key] or nil
  end
end


local BY = { "before", "bytes", "after" }

-- Calls of one thread with what it had started last before each of them, and what it starts next;
-- and `ahead`, how long what it had started last goes on when the call returns: it has waited for
-- something earlier.
local function add_neighbours(calls, ops)
  calls:beside { column = "start", other = ops, there = "api_start", before = true, name = "last" }
  calls:beside { column = "end", other = ops, there = "api_start", before = false, name = "next" }
  spans.look_up(calls, "last", ops, "what", "before")
  spans.look_up(calls, "last", ops, "copied", "bytes")
  spans.look_up(calls, "next", ops, "what", "after")
  spans.look_up(calls, "last", ops, "end", "last_end")
  check(calls:compute { name = "ahead", type = "integer",
    steps = { { "last_end" }, -1, { "end" }, "*", "+" } })
  return calls:select { "before", "bytes", "after", "duration", "ahead" }
end


-- A function from the instances of a stage (start, stop in ns) to the groups of
-- waiting calls in them, most calls first: list of { before (what the thread had
-- started last: a kernel's category, "copy", "set", "graph"), bytes (of that
-- copy), after (what it starts next), calls, ns, ahead (calls that return while what was started
-- last goes on; means per instance) }. kernels: of analysis.kernels.table.
function breakdown.waits_grouper(trace, ops, kernels)
  local api, of_name = check(trace:frame "api"), {}
  local waiting_calls = check(api:where { name = waiting.names(trace).sync or {} })
  for _, kernel in ipairs(kernels) do of_name[kernel.name] = kernel.category end
  local ops_of = by_thread(ops, of_name)
  return function(instances)
    local inside, list = steps.within(waiting_calls, instances), {}
    for _, thread in ipairs(inside:group { by = { "pid", "tid" } }) do
      local own = thread.tid and ops_of(thread.pid, thread.tid)
      if own then
        local calls = check(inside:where { pid = thread.pid, tid = thread.tid })
        list[#list + 1] = add_neighbours(calls, own)
      end
    end
    if #list == 0 then return json.list {} end
    local all, ahead = pack.join(list), {}
    local function key_of(row) return tuple(row.before, row.bytes, row.after) end
    for _, row in ipairs(check(all:where { { "ahead", ">", 0 } }):group { by = BY }) do
      ahead[key_of(row)] = row.count / #instances
    end
    local groups = all:group { by = BY, total = { "duration" } }
    local made = json.list(lists.map(groups, function(row)
      return {
        before = row.before,
        bytes = row.bytes,
        after = row.after,
        calls = row.count / #instances,
        ns = row.duration.total / #instances,
        ahead = ahead[key_of(row)],
      }
    end))
    return lists.sort(made, "-calls", "-ns", "after")
  end
end


-- ---- GPU time by category ----

-- Device time and calls of the kernels of a stage, or of a part of one, by
-- category, over all its instances.
local function kernel_sums(kernels, stage)
  local own = lists.filtered(lists.joined(kernels, kernels.others or {}), function(kernel)
    return kernel.stage == stage or kernel.part == stage
  end)
  return lists.map(lists.grouped(own, "category"), function(alike)
    return { category = alike[1].category, gpu_time_ns = lists.sum(alike, "total_ns"),
      calls = lists.sum(alike, "calls") }
  end)
end


-- Means per instance by category, largest first.
local function category_rows(kernels, stage, instances)
  local list = kernel_sums(kernels, stage)
  -- copies and sets: what the kernels leave of the stage's GPU time, unless graphs ran, whose
  -- kernels are not known one by one
  local memory = { category = categories.MEMORY,
    calls = lists.sum(instances, "copies") + lists.sum(instances, "sets"),
    gpu_time_ns = lists.sum(instances, "gpu_time") - lists.sum(list, "gpu_time_ns") }
  if lists.sum(instances, "graphs") == 0 and memory.calls > 0 and memory.gpu_time_ns > 0 then
    list[#list + 1] = memory
  end
  local all = lists.sum(list, "gpu_time_ns")
  for _, row in ipairs(list) do
    row.share = all > 0 and row.gpu_time_ns / all or nil
    row.gpu_time_ns, row.calls = row.gpu_time_ns / #instances, row.calls / #instances
  end
  return json.list(lists.sort(list, "-gpu_time_ns", "category"))
end


-- Give each kernel of the list its category.
function breakdown.categorize(kernels, rules)
  local classify = categories.classifier(rules)
  for _, kernel in ipairs(kernels) do
    kernel.category = classify(kernel.name, kernel.mangled_name)
  end
end


-- ---- the CPU's side ----

local function mean_waiting(split, instances)
  local sums = {}
  for _, instance in ipairs(instances) do
    for class, ns in pairs(split(instance, instance.pid)) do
      sums[class] = (sums[class] or 0) + ns
    end
  end
  local means = {}
  for class, ns in pairs(sums) do means[class .. "_ns"] = ns / #instances end
  return means
end


-- How long after the launching call returned an operation began, for those
-- that did begin later: a queue that is never there means the GPU waits.
local function launch_delays(view, found)
  local delays = {}
  if found.whole then return delays end
  for _, row in ipairs(view:group { by = { "stage" }, sum = { "queue_time" },
    percentiles = { 50, 90 } }) do
    local queue = row.queue_time
    delays[row.stage] = { queued_share = queue.count / row.count,
      median_ns = statistics.supports(queue.count, 50) and queue.median or nil,
      p90_ns = statistics.supports(queue.count, 90) and queue.p90 or nil }
  end
  return delays
end


-- ---- collectives ----

-- How collectives lie among the other kernels of a stage: one after the other with nothing between
-- them, or on streams of their own while nothing else runs.

-- Those that follow another of their name, with no other kernel between.
local function in_a_row(moved, computing)
  moved:beside { column = "start", other = computing, there = "start", before = true,
    name = "behind" }
  local made = { calls = #moved, in_row = 0 }
  for _, group in ipairs(moved:group { by = { "behind", "short_name" } }) do
    made.in_row = made.in_row + group.count - 1
  end
  made.p50_ns = moved:group { sum = { "duration" }, percentiles = { 50 } }[1].duration.median
  return made
end


-- Of those on streams on which nothing else runs: { ns, alone_ns (while nothing is computed),
-- calls, blocks (on the median) }; nil without. Sends and receives wait by themselves.
local function on_own_streams(moved, computing)
  local streams = lists.set(lists.map(computing:group { by = { "stream" } }, "stream"))
  local own = lists.map(moved:group { by = { "stream", "short_name" } }, function(group)
    return not streams[group.stream] and not group.short_name:find "SendRecv" and group.stream
      or nil
  end)
  if #own == 0 then return nil end
  local there = check(moved:where { stream = own })
  local set, blocks = there:union(), there:values "grid_x"
  return { calls = #there, ns = set:covered(),
    alone_ns = set:covered() - set:overlap(computing:union()),
    blocks = #blocks > 0 and statistics.median(blocks) or nil }
end


-- Of the kernels of a stage, with is_collective, as means over its instances: { calls, in_row,
-- p50_ns, own (of on_own_streams, of the GPU that waits least in them) }; nil without collectives.
function breakdown.collectives(kernels, instances)
  local made, gpus = nil, 0
  for _, gpu in ipairs(kernels:where { is_collective = 1 }:group { by = { "pid", "device" } }) do
    local all = check(kernels:where { pid = gpu.pid, device = gpu.device })
    local moved, computing = check(all:where { is_collective = 1 }), check(all:where {
      is_collective = 0 })
    local row, own = in_a_row(moved, computing), on_own_streams(moved, computing)
    gpus, made = gpus + 1, made or { calls = 0, in_row = 0, p50_ns = row.p50_ns }
    made.calls, made.in_row = made.calls + row.calls, made.in_row + row.in_row
    made.p50_ns = math.min(made.p50_ns, row.p50_ns)
    if own and not (made.own and made.own.alone_ns <= own.alone_ns) then made.own = own end
  end
  if not made then return nil end
  local each = instances / gpus
  made.calls, made.in_row = made.calls / instances, made.in_row / instances
  for _, key in ipairs { "calls", "ns", "alone_ns" } do
    if made.own then made.own[key] = made.own[key] / each end
  end
  return made
end


-- ---- together ----

-- Add categories, other_stream, collectives and other_program to the stages of results, and, where
-- calls were recorded, waiting, waits, api, launch_delay and between_steps; where steps are known,
-- slow_steps.
function breakdown.add(list, trace, found, kernels)
  local view, _, instances = stages.used_kernels(trace, found), lists.grouped(
    lists.filtered(found.instances, "used"), "stage")
  categories.marker(nil, categories.COMMUNICATION)(view, "name", "is_collective")
  local delays = launch_delays(view, found)
  local has_calls = #check(trace:frame "api") > 0
  local split, alone = has_calls and waiting.classifier(trace, found), transfers.alone(found)
  local api, waits_in = waiting.api_time(trace), breakdown.waits_grouper(trace, found.ops, kernels)
  for _, stage in ipairs(list) do
    local own = instances[stage.name]
    if own then
      local declared = lists.find(found.declared, "name", stage.name)
      local with_steps = steps.of(found, declared)
      stage.between_steps = split and steps.between(with_steps, split) or nil
      stage.other_stream = neighbours.stream(trace, declared.step, with_steps)
      local launched = found.whole and view or check(view:where { stage = stage.name })
      stage.collectives = breakdown.collectives(launched, #own)
      stage.other_program = neighbours.program(launched, #own)
      stage.slow_steps = uneven_steps.of(found, stage.name, split)
      stage.waiting = split and mean_waiting(split, own) or nil
      stage.host_copies_alone_ns = alone(own)
      stage.categories = category_rows(kernels, stage.name, own)
      stage.waits = has_calls and waits_in(own) or nil
      stage.api = has_calls and api(own) or nil
      stage.launch_delay = delays[stage.name]
    end
  end
end


function breakdown.run(state)
  if #state.found.ops == 0 then return end -- nothing that a stage could wait for
  breakdown.add(state.stages, state.trace, state.found, state.kernels or {})
  for _, stage in ipairs(state.stages) do
    local _, idle = overhead.idle_of(state, stage)
    local _, waits = overhead.waits_of(state, stage)
    if waits then
      stage_summary.find_bound(stage, idle, waits)
      stage_summary.refine_by_ranks(stage, state.ranks, waits)
    end
  end
end


return breakdown
