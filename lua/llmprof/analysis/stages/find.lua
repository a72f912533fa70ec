-- Stages: which NVTX ranges are which stage of the recipe, how they fall into
-- repeats, and what the GPU did for each.
--
-- A stage is every range whose tag is its name ("text", or "domain:text" in a
-- named domain), or one of its `tags`. What a stage launched is decided by attribution, so GPU work
-- that runs after the range has ended still counts for it. Children lie inside
-- their parent and are counted in both.
--
-- Wall time is the GPU's: from when it could begin the stage, the start of the range or
-- the end of what ran before, to the end of the last operation that the range launched,
-- or of the range itself where that is later. A loop that launches ahead leaves its range
-- long before. GPU busy is the time in which at least one operation that the stage
-- launched was running; GPU idle is the part of the wall time in which no operation at
-- all ran on the GPUs of the trace.
--
-- Of a serving engine that marks its steps these are the stages prefill, mixed and
-- decode. Of several ranks each has instances and repeats of its own, and idle is when its
-- own GPU was.
--
-- Without any range of a stage they are inferred (llmprof.analysis.stages.infer): then
-- a stage is an interval, and what starts in it on the GPU is its work.
local cold = require "llmprof.analysis.stages.warmup"
local outermost = require "llmprof.analysis.stages.outermost"
local lists = require "llmprof.tables.lists"
local sorted_keys = require("llmprof.tables.keys").sorted
local trace_file = require "llmprof.trace.file"
local check = require("llmprof.process.errors").check
local infer = require "llmprof.analysis.stages.infer"
local members = require "llmprof.ranks.members"
local steps = require "llmprof.analysis.stages.steps"
local part = require "llmprof.ranks.part"
local rank_view = require "llmprof.analysis.serving.ranks"
local rows = require "llmprof.ranks.rows"
local spans = require "llmprof.spans"
local rank_steps = require "llmprof.ranks.steps"

local stages = {}


-- ---- steps of a serving engine ----

-- Its stages: prefill, mixed and decode are its steps, as its labels
-- mark them in each rank. A step's work counts for it wherever it runs; its length is
-- that of core/ranks/step_table.h.

local PHASES = { "prefill", "mixed", "draft", "decode" }

local COLUMNS = { "rank", "phase", "begin", "before", "last", "length", "context", "generation",
  "context_tokens", "generation_tokens" }


-- A step as an instance of its stage, with the tokens that it works on as `work`, where its label
-- says so; nil for one that ran nothing.
local function instance_of(row, number, list)
  if not row.begin or not row.phase or row.last <= row.begin then return nil end
  local own = list[row.rank + 1]
  local read = row.context == 0 and 0 or row.context_tokens
  local written = row.generation_tokens or row.generation
  local made = { stage = row.phase, range = number, rank = row.rank, pid = own.pid,
    start = row.begin, stop = row.last, requests = row.generation, context = row.context,
    scheduled = row.generation_tokens, work = read and written and read + written }
  if row.phase == "decode" then
    made.steps = { { start = math.min(row.before or row.begin, row.begin), begin = row.begin,
      stop = row.last } }
  end
  return made
end


-- { instances (with rank, pid, requests, tokens), declared (the stages that there are),
-- engine (its name), members, steps (their frame) } where an engine's labels mark the
-- steps; nil where they do not, or where a stage that is asked for is a range.
-- declared: the stages asked for; any: has one of them a range?
local function find_steps(trace, declared, any)
  local found = members.find_labels(trace)
  if not found or found.source ~= "labels" then return nil end
  local names_others = lists.any(declared, function(stage) return not found.steps[stage.name] end)
  if any and names_others then return nil end
  local list, known = part.steps(trace, rank_view.knowledge())
  local instances = {}
  for row = 1, #known.frame do
    instances[#instances + 1] = instance_of(rows.get(known.frame, row, COLUMNS), row - 1, list)
  end
  if #instances == 0 then return nil end
  lists.sort(instances, "start", "range")
  local phases = lists.map(PHASES, function(name)
    return lists.find(instances, "stage", name) and { name = name }
  end)
  return { instances = instances, declared = phases, engine = known.engine, members = list,
    steps = known.frame }
end


-- Add stage and stage_range, the number of the step, to a frame of operations. made: of
-- find_steps.
local function label_steps(frame, made)
  members.label_ops(made.members, frame)
  spans.assign(frame, { time = "api_start", key = "rank" }, made.steps, rank_steps.at,
    "stage_range")
  spans.look_up(frame, "stage_range", made.steps, "phase", "stage")
  return frame
end


stages.WHOLE_RUN = "whole run"


-- ---- instances ----

local PUSH_POP = 0 -- style of a range

local function holds(outer, inner)
  return outer and inner.stop <= outer.stop
    and (inner.style == PUSH_POP or (inner.start == outer.start and inner.stop == outer.stop))
end


-- Without those that lie inside another of the same stage and thread, or are there twice:
-- the outer one has their rows in `ranges`, too.
local function merge_nested(instances)
  local list, open = {}, {}
  for _, instance in ipairs(lists.sort(instances, "start", "-stop", "range")) do
    local key = ("%s %s"):format(instance.thread, instance.stage)
    if holds(open[key], instance) then
      table.insert(open[key].ranges, instance.range)
    else
      open[key], list[#list + 1] = instance, instance
    end
  end
  return list
end


-- A stage whose range has no end is over when another one of its thread begins that is no part of
-- it; one that nothing follows to the `last` moment of all ranges was cut: it went on when the
-- capture ended. Sorted by start.
local function end_open(instances, last)
  for i, instance in ipairs(instances) do
    for j = i + 1, instance.open and #instances or i do
      local other = instances[j]
      if other.thread == instance.thread and other.parent ~= instance.stage
        and not (instance.parent and other.stage == instance.parent)
        and other.start > instance.start and other.start < instance.stop then
        instance.stop = other.start
        break
      end
    end
    instance.cut = instance.open and instance.stop >= last or nil
  end
end


-- Tags of the ranges that are a stage.
local function tags_of(stage) return stage.tags or { stage.name } end


-- Every range of the declared stages, by start: { stage, domain (nil: the
-- default one), range, ranges (rows: with those inside of it of the same stage), tid, thread
-- (of rows.thread_of), start, stop }.
local function find_instances(trace, declared)
  local tags, of_tag = {}, {}
  for _, stage in ipairs(declared) do
    for _, tag in ipairs(tags_of(stage)) do tags[#tags + 1], of_tag[tag] = tag, stage end
  end
  local ranges = check(trace:frame "ranges")
  local found = check(ranges:where { tag = tags })
  local last = #found > 0 and select(2, ranges:union():span()) or 0
  local ranks = members.find(trace)
  if #ranks > 1 then members.label_threads(ranks, found, trace) end
  local instances = {}
  for row = 1, #found do
    local stage, range = of_tag[found:get(row, "tag")], found:get(row, "range")
    instances[row] = { stage = stage.name, parent = stage.parent,
      domain = found:get(row, "domain"), range = range, ranges = { range },
      start = found:get(row, "start"), stop = found:get(row, "end"),
      open = found:get(row, "open") == 1,
      tid = found:get(row, "tid"), process = found:get(row, "pid"), style = found:get(row, "style"),
      thread = rows.thread_of(found:get(row, "pid"), found:get(row, "tid")),
      rank = #ranks > 1 and found:get(row, "rank") or nil,
      pid = #ranks > 1 and found:get(row, "pid") or nil }
  end
  local list = lists.sort(merge_nested(instances), "start", "range")
  end_open(list, last)
  return list
end


-- ---- what the GPU did ----

-- Their ranges, as trace:label takes them.
local function labels_at(declared, top)
  local labels = {}
  for _, stage in ipairs(declared) do
    for _, tag in ipairs((stage.parent == nil) == top and tags_of(stage) or {}) do
      labels[#labels + 1] = { tag, stage.name }
    end
  end
  return labels
end


-- Operations with the stage and the part (a child stage) that launched them.
-- found: declared or whole and, where stages are inferred, inferred and instances.
function stages.label(trace, frame, found)
  local declared = found.whole and {} or found.declared
  if found.by_engine then
    label_steps(frame, found.by_engine)
    check(trace:label_spans(frame, "part", {}))
  elseif found.inferred then
    check(trace:label_spans(frame, "stage", lists.map(found.instances, function(instance)
      return { name = instance.stage, start = instance.start, stop = instance.stop }
    end)))
    check(trace:label_spans(frame, "part", {}))
  else
    check(trace:label(frame, "stage", labels_at(declared, true)))
    check(trace:label(frame, "part", labels_at(declared, false)))
  end
  return frame
end


-- The operations of a frame that are of repeats which count, with stage and part.
function stages.used(trace, frame, found)
  stages.label(trace, frame, found)
  if found.whole then return frame end
  return check(frame:where { stage_range = stages.used_ranges(found) })
end


-- The kernels of these.
function stages.used_kernels(trace, found)
  found.kernels = found.kernels or stages.used(trace, check(trace:frame "kernels"), found)
  return found.kernels
end


-- Ranges with the stage that they lie in; nil where stages are no ranges of the CPU.
function stages.label_ranges(trace, frame, found)
  if found.by_engine or found.inferred then return nil end
  check(trace:label(frame, "stage", labels_at(found.whole and {} or found.declared, true)))
  return frame
end


-- By range row: counts and busy time of what was launched in it.
local function measure_level(ops, level)
  local by_range = {}
  for _, row in ipairs(ops:group { by = { level .. "_range" }, total = { "duration" },
    sum = { "device" }, distinct = { "call" }, union = true }) do
    local range, devices = row[level .. "_range"], row.device
    if range then
      by_range[range] = trace_file.no_kinds { busy = row.busy, gpu_time = row.duration.total,
        launches = row.distinct.call, done = row.last,
        device = devices.min == devices.max and devices.min or nil }
    end
  end
  for _, row in ipairs(ops:group { by = { level .. "_range", "kind" } }) do
    local measured = by_range[row[level .. "_range"]]
    if measured then trace_file.set_kind(measured, row) end
  end
  return by_range
end


local nothing = trace_file.no_kinds { busy = 0, gpu_time = 0, launches = 0 }

-- The same of all of some operations.
local function measure_all(ops)
  local all = ops:group { total = { "duration" }, distinct = { "call" }, union = true }[1]
  return all and trace_file.count_kinds(ops, { busy = all.busy, gpu_time = all.duration.total,
    launches = all.distinct.call, done = all.last }) or nothing
end


-- Of an instance, by what its ranges launched. by_range: of measure_level.
local function measured_of(ops, instance, level, by_range)
  local ranges = instance.ranges
  if not ranges or #ranges == 1 then return by_range[instance.range] or nothing end
  return measure_all(check(ops:where { [level .. "_range"] = ranges }))
end


-- A function from a process and a GPU, each nil for all, to when the GPU did something for it;
-- and one that forgets and closes it, for the last one that asked: of large traces it is large.
local function busy_of(ops)
  local sets = {}
  return function(pid, device)
    local key = ("%s %s"):format(pid, device)
    sets[key] = sets[key]
      or ((pid or device) and check(ops:where { pid = pid, device = device }) or ops):union()
    return sets[key]
  end, function()
    for _, set in pairs(sets) do set:close() end
    sets = {}
  end
end


-- Does each instance run on one GPU, and a process on several, as executions of a program of XLA
-- do?
local function are_on_one_each(instances)
  if #lists.filtered(instances, "device") < #instances then return false end
  local by_process = lists.grouped(instances, function(one) return one.pid or 0 end)
  return lists.any(by_process, function(own) return #lists.grouped(own, "device") > 1 end)
end


local function measure(ops, covered, instances, whole)
  local levels = not whole
    and { stage = measure_level(ops, "stage"), part = measure_level(ops, "part") }
  for _, instance in ipairs(instances) do
    local level = instance.parent and "part" or "stage"
    local measured = whole and measure_all(ops) or measured_of(ops, instance, level, levels[level])
    for key, value in pairs(measured) do instance[key] = value end
    instance.wall = instance.stop - instance.start
  end
  local are_apart = are_on_one_each(instances)
  for _, instance in ipairs(instances) do
    if not are_apart then instance.device = nil end
    instance.idle = instance.wall
      - covered(instance.pid, instance.device):covered(instance.start, instance.stop)
  end
end


-- From this share of a stage on that its range goes on after all that the GPU did, the capture may
-- have ended in it: tools end what is open when they stop. Less than half of that in all others of
-- the stage says that it did.
local TAIL = 0.5

local function tail_of(instance)
  return instance.done and instance.wall > 0 and (instance.stop - instance.done) / instance.wall
    or 0
end


-- Mark the last instance of a trace where the capture ended in it, and end it there: others of its
-- stage end with the GPU's work, or a range in it ends at the same time as it does.
local function cut_at_end(trace, instances, ops, covered)
  local last = lists.largest(instances, "stop")
  if instances[#instances].stop == last.stop then last = instances[#instances] end -- innermost
  if last.cut or tail_of(last) < TAIL or last.done < select(2, ops:union():span()) then return end
  local others = lists.filtered(instances, function(instance)
    return instance ~= last and instance.stage == last.stage
  end)
  if lists.any(others, function(other) return tail_of(other) >= TAIL / 2 end) then return end
  local ended = #check(check(trace:frame "ranges"):where { open = 0,
    ["end"] = last.host_stop or last.stop })
  if #others > 0 or ended > 1 then
    last.cut, last.stop = true, last.done
  else
    last.tail = last.stop - last.done
  end
  last.wall = last.stop - last.start
  last.idle = last.wall - covered(last.pid):covered(last.start, last.stop)
end


-- Do ranges mark the declared stages, and no engine its steps?
function stages.are_marked(trace, declared)
  local instances = find_instances(trace, declared)
  return #instances > 0 and not find_steps(trace, declared, true)
end


-- ---- together ----

-- Stages of a trace. declared: the recipe's list of { name, parent, step }; policy:
-- repeats.skip_first; overlap: requests do, so that no interval is one of them and none is
-- inferred (optional). Returns { instances, repeats (of llmprof.analysis.stages.warmup),
-- whole, inferred, declared, missing, ops (all GPU operations), busy (a function from a
-- process and a GPU, nil for all, to when these ran) }: instances by start with their measures
-- (ns, counts; start, stop: on the GPU; host_start, host_stop: of the range; done: when
-- the last of their operations ended), rep, used and steps
-- (of llmprof.analysis.stages.steps), of several ranks rank and pid, too; by_engine is that
-- of find_steps, where labels mark the stages; missing names the
-- declared stages that the trace does not have; inferred is that of
-- llmprof.analysis.stages.infer, where no range marked a stage.
function stages.find(trace, declared, policy, overlap)
  trace_file.check(trace)
  declared = outermost.resolve(trace, declared)
  local instances, inferred = find_instances(trace, declared), nil
  local by_engine = find_steps(trace, declared, #instances > 0)
  if by_engine then
    instances, declared = by_engine.instances, by_engine.declared
  elseif #instances == 0 and not overlap then
    inferred = infer.stages(trace, declared)
  end
  if inferred then instances = inferred.instances end
  local whole = #instances == 0
  if whole then -- one that spans the trace
    local first, last = check(trace:frame "gpu"):union():span()
    instances[1] = first and { stage = stages.WHOLE_RUN, start = first, stop = last }
  end
  local count = cold.number_repeats(by_engine and {} or declared, instances)
  local ops = stages.label(trace, check(trace:frame "gpu"),
    { declared = declared, whole = whole, inferred = inferred, instances = instances,
      by_engine = by_engine })
  local are_ranges = not (inferred or whole or by_engine)
  for _, top in ipairs(are_ranges and { true, false } or {}) do -- stages and parts by themselves
    steps.project(trace, labels_at(declared, top), lists.filtered(instances, function(instance)
      return (instance.parent == nil) == top
    end))
  end
  local busy, forget_busy = busy_of(ops)
  measure(ops, busy, instances, whole)
  if are_ranges then
    cut_at_end(trace, instances, ops, busy)
    steps.mark(trace, declared, instances)
    for _, instance in ipairs(instances) do -- the step that the capture ended in is in no TPOT
      local marked = instance.cut and instance.steps or {}
      if #marked > 1 then marked[#marked].cold = true end
    end
  end
  local repeats = cold.judge(instances, count, policy, by_engine)
  for _, instance in ipairs(instances) do -- what a program does once is in no figure of its work
    local stage = lists.find(declared, "name", instance.stage)
    if stage and stage.once then instance.used = false end
  end
  local missing = lists.map(declared, function(stage)
    return not lists.find(instances, "stage", stage.name) and stage.name or nil
  end)
  if whole then declared = { { name = stages.WHOLE_RUN } } end
  return { instances = instances, repeats = repeats, whole = whole, inferred = inferred,
    declared = declared, missing = missing, ops = ops, busy = busy,
    forget_busy = forget_busy, by_engine = by_engine }
end


-- A field of the instances of stages without a parent, by their ranges, or the numbers of
-- inferred intervals.
function stages.by_range(found, field)
  local of = {}
  for _, instance in ipairs(found.instances) do
    for _, range in ipairs(not instance.parent and (instance.ranges or { instance.range }) or {}) do
      of[range] = instance[field] or nil
    end
  end
  return of
end


-- The range rows, or the numbers of inferred intervals, of the used instances of
-- stages without a parent.
function stages.used_ranges(found) return sorted_keys(stages.by_range(found, "used")) end


return stages
