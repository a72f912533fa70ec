-- The step table: one row for each pass of the model on each rank.
--
-- Steps are what an engine's labels, the recipe's ranges or inference say. An operation belongs
-- to the step whose range encloses its launch. An engine's label covers only part of what a pass
-- launches: there it is the last step that began on that rank before the launch. docs/ranks.md
-- has the definitions.
local errors = require "llmprof.process.errors"
local lists = require "llmprof.tables.lists"
local members = require "llmprof.ranks.members"
local pack = require "llmprof.pack"
local rows = require "llmprof.ranks.rows"
local keys = require "llmprof.tables.keys"
local spans = require "llmprof.spans"

local steps = {}

-- What the CPU may be in while the GPU waits for a step, in the order in which a
-- moment in several counts (llmprof.analysis.stages.idle_causes).
local CLASSES = { "sync", "launch", "memory", "other" }

-- What core/ranks/step_table.h calls them.
local COMPUTE, COMMUNICATION, MOVE = 0, 1, 2

local label_fields = { "phase", "context", "context_tokens", "generation", "generation_tokens" }


-- Ranges with these tags of processes that ran kernels, as a frame of their own, with rank, phase
-- and what the label says. labels: tag -> { phase, context, ... }.
function steps.of_labels(trace, list, labels)
  local view = errors.check(trace:frame "ranges"):where { tag = keys.sorted(labels) }
  local made = pack.join { view:select { "tag", "start", "end", "pid",
    "tid" } }
  members.label_threads(list, made, trace)
  rows.extend(made, { "tag" }, lists.map(label_fields, function(field)
    return { name = field, type = field == "phase" and "string" or "integer",
      get = function(key) return labels[key.tag][field] end }
  end))
  return pack.join { made:where { { "rank", "~=", false } } }
end


-- ---- which step an operation is of ----

local at = { start = "start", ["end"] = "until", key = "rank" }

-- The columns that say which operations are a step's.
steps.at = at

-- Add `until`, where a step's launches end: with its range, or with the next step's
-- beginning.
function steps.close(made, enclosed)
  if not enclosed then return spans.until_next(made, at, "until") end
  return made:lag { column = "end", offset = 0, name = "until" }
end


-- Add `work` and `graphed` to operations. mark_collectives: a function of a frame, its
-- column of kernels' names and the one to add: 1 for those of collectives.
function steps.label_work(ops, mark_collectives)
  mark_collectives(ops, "name", "collective")
  return rows.extend(ops, { "kind", "collective", "api" }, {
    { name = "work", type = "integer", get = function(key)
      if key.kind == "graph" then return COMPUTE end
      if key.kind ~= "kernel" then return MOVE end
      return key.collective == 1 and COMMUNICATION or COMPUTE
    end },
    { name = "graphed", type = "integer", get = function(key)
      return key.api and key.api:find("GraphLaunch", 1, true) and 1 or 0
    end },
  })
end


-- Add `step`, and of that `phase`, to operations that have a rank. time: the column
-- that says in which they are, "api_start" unless given.
function steps.assign(ops, made, time)
  spans.assign(ops, { time = time or "api_start", key = "rank" }, made, at, "step")
  spans.look_up(ops, "step", made, "phase", "phase")
  return ops
end


-- API calls with rank and class. class_of: a function of a call's name.
function steps.api(trace, list, class_of)
  local api = members.label_threads(list, errors.check(trace:frame "api"), trace)
  return rows.extend(api, { "name" }, { { name = "class", type = "string",
    get = function(key) return class_of(key.name or "") end } })
end


-- Add what the CPU did while the GPU waited for each step: idle_sync, idle_launch, ...,
-- each with those before it.
local function cover_idle(made, api, list)
  local wanted = {}
  for i, class in ipairs(CLASSES) do
    wanted[i] = class
    local sets = lists.map(list, function(member)
      return api:where({ rank = member.rank, class = wanted }):union()
    end)
    spans.cover(made, { start = "free", ["end"] = "first", key = "rank" }, sets, "idle_" .. class)
  end
end


-- A copy that begins this long after its call had to wait for what runs before it; ns.
local QUEUED_NS = 50000

-- Copies to the host that waited for the GPU, with calls that last until they are done: a short
-- one of an idle GPU is done before its call, too.
local function blocking_copies(ops)
  local copies = errors.check(ops:where { kind = "copy", direction = "device to host" })
  copies:compute { name = "waited", steps = { { "api_end" }, -1, { "end" }, "*", "+" } }
  return errors.check(copies:where { { "waited", ">=", 0 }, { "delay", ">=", QUEUED_NS } })
end


-- Add `cpu`: how much of a step's range its thread did not wait in a call for the GPU, also
-- in one that copies until the GPU has done it; and `cpu_after`: the same from the end of the
-- range to the next one. Steps that are no ranges have neither.
local function measure_cpu(made, ops, api)
  if not rows.has(made, "tid") then return end
  local waits, calls = {}, errors.check(api:where { class = "sync" })
  local copies = blocking_copies(ops)
  rows.extend(made, { "pid", "tid" }, { { name = "thread", type = "integer", get = function(key)
    waits[#waits + 1] = calls:where({ pid = key.pid, tid = key.tid }):union():join(
      copies:where({ launch_pid = key.pid, launch_tid = key.tid }):union("api_start", "end"))
    return #waits - 1
  end } })
  local within, after = { start = "start", ["end"] = "end", key = "thread" },
    { start = "end", ["end"] = "next", key = "thread" }
  spans.until_next(made, within, "next")
  spans.cover(made, within, waits, "waits")
  spans.rest(made, within, "waits", "cpu")
  spans.cover(made, after, waits, "waits_after")
  spans.rest(made, after, "waits_after", "cpu_after")
end


-- Steps with their measures. ops: with rank, work, graphed and step; api: of steps.api.
function steps.measure(made, list, ops, api)
  spans.measure(made, { rank = "rank", start = "start" }, ops,
    { step = "step", start = "start", ["end"] = "end", work = "work", launched = "api_start",
      graphed = "graphed", rank = "rank" })
  cover_idle(made, api, list)
  measure_cpu(made, ops, api)
  return made
end


-- Add `graph`, a number of the CUDA graph that a step replayed, where kernels of graphs
-- are traced one by one. kernels: with rank and step.
function steps.add_graph(made, kernels)
  local of_graphs = kernels:where { { "graph_node", "~=", false } }
  spans.least(made, of_graphs, "step", "graph_node", "graph")
end


-- Columns that a part keeps, in this order.
steps.kept = { "rank", "phase", "context", "context_tokens", "generation", "generation_tokens",
  "batch", "tokens", "turn", "start", "end", "launched", "before", "first", "last", "begin",
  "length", "interval", "idle", "idle_sync", "idle_launch", "idle_memory", "idle_other", "cpu",
  "cpu_after", "busy", "gpu_time", "kernels", "graphed", "graphs", "graph", "moves", "move_time",
  "collectives", "comm_time", "comm_hidden" }


-- ---- idle threads ----

-- Which threads did what while the GPU had nothing to do between steps: the CUDA calls and
-- the ranges of each.

-- Threads of a rank and phase that are kept, those that were in most first.
local MOST_THREADS = 4


-- How long rows of threads lasted in the idle time, by these columns, too. idle: by rank, from 1.
local function in_idle(frame, idle, by)
  local view = errors.check(frame:where { { "rank", "~=", false } })
  spans.cover(view, { start = "start", ["end"] = "end", key = "rank" }, idle, "idle")
  return lists.sort(view:where({ { "idle", ">", 0 } }):group {
    by = lists.joined({ "rank", "pid", "tid" }, by), total = { "idle" } }, by[1])
end


-- The threads of all ranks in the idle time of a phase.
local function threads_of(phase, idle, api, ranges)
  local list, found = {}, {}
  local function of(group)
    local key = keys.tuple(group.rank, group.pid, group.tid)
    return lists.entry(list, found, key, { rank = group.rank, phase = phase, pid = group.pid,
      tid = group.tid, idle_ns = idle[group.rank + 1]:covered(), calls_ns = 0, waiting_ns = 0,
      ranges_ns = 0, call_ns = 0 }), group.idle.total
  end
  for _, group in ipairs(in_idle(api, idle, { "name", "class" })) do
    local made, ns = of(group)
    local field = group.class == "sync" and "waiting_ns" or "calls_ns"
    made[field] = made[field] + ns
    if group.name and ns > made.call_ns then made.call, made.call_ns = group.name, ns end
  end
  for _, group in ipairs(in_idle(ranges, idle, { "tag" })) do
    local made, ns = of(group)
    if group.tag and ns > (made.range_ns or 0) then made.range, made.range_ns = group.tag, ns end
  end
  for _, group in ipairs(in_idle(ranges:where { level = 0 }, idle, {})) do
    local made, ns = of(group)
    made.ranges_ns = ns
  end
  return list
end


-- The threads of each rank while its GPU waited for measured steps of a phase, as results.json has
-- them. api: with rank and class.
function steps.idle_threads(measured, trace, ranks, api)
  local ranges = members.label_threads(ranks, errors.check(trace:frame "ranges"), trace)
  local names, list, waited = {}, {}, measured:where { { "idle", ">", 0 } }
  for _, thread in ipairs(trace:threads()) do
    if thread.pid then names[keys.tuple(thread.pid, thread.tid)] = thread.name end
  end
  for _, phase in ipairs(lists.map(waited:group { by = { "phase" } }, "phase")) do
    local idle = lists.map(ranks, function(member)
      return waited:where({ phase = phase, rank = member.rank }):union("before", "first")
    end)
    local threads = threads_of(phase, idle, api, ranges)
    for _, own in ipairs((lists.grouped(threads, "rank"))) do
      lists.sort(own, function(one) return -(one.calls_ns + one.ranges_ns) end, "tid")
      lists.add(list, lists.first(own, MOST_THREADS))
    end
  end
  for _, made in ipairs(list) do made.thread = names[keys.tuple(made.pid, made.tid)] end
  return list
end


return steps
