-- Trace, counters and what the workload said about itself -> results: one
-- table, from which every report is rendered and nothing else is needed.
-- docs/results.schema.json is its schema. Times are ns, shares 0..1; what was
-- not measured is absent.
local clock = require "llmprof.io.clock"
local breakdown = require "llmprof.analysis.stages.breakdown"
local engines = require "llmprof.engines"
local frames = require "llmprof.frame"
local categories = require "llmprof.analysis.kernels.categories"
local efficiency = require "llmprof.analysis.stages.efficiency"
local cpu_samples = require "llmprof.analysis.timeline.cpu_samples"
local document = require "llmprof.io.document"
local errors = require "llmprof.process.errors"
local framework = require "llmprof.analysis.kernels.framework"
local events = require "llmprof.analysis.timeline.events"
local gaps = require "llmprof.analysis.timeline.gaps"
local hardware = require "llmprof.model.hardware"
local headroom = require "llmprof.analysis.kernels.headroom"
local joined = require "llmprof.analysis.kernels.operators"
local integrity = require "llmprof.analysis.timeline.integrity"
local json = require "llmprof.json"
local kinds = require "llmprof.trace.kinds"
local layout = require "llmprof.bundle.layout"
local latency = require "llmprof.analysis.latency.latency"
local layers = require "llmprof.analysis.stages.layers"
local pack = require "llmprof.pack"
local modules = require "llmprof.analysis.kernels.modules"
local padding = require "llmprof.analysis.kernels.padding"
local range_name = require "llmprof.trace.nvtx_names"
local rank_view = require "llmprof.analysis.serving.ranks"
local roofline = require "llmprof.analysis.kernels.roofline"
local sampled = require "llmprof.analysis.counters.sampled"
local served = require "llmprof.analysis.serving.load"
local stage_summary = require "llmprof.analysis.stages.summary"
local stages = require "llmprof.analysis.stages.find"
local step_limits = require "llmprof.analysis.stages.step_limits"
local transfers = require "llmprof.analysis.timeline.transfers"
local version = require "llmprof.version"
local work = require "llmprof.analysis.stages.cost"

local analysis = {}

local check = errors.check


-- GPUs that nothing can refer to are left out: a damaged export may have such.
local function numbered(list)
  local kept = {}
  for _, device in ipairs(list) do
    if device.id then kept[#kept + 1] = device end
  end
  return kept
end


-- ---- environment and totals ----

local function devices(trace)
  local list = json.list {}
  local found = numbered(trace:devices())
  table.sort(found, function(a, b) return a.id < b.id end)
  for i, device in ipairs(found) do
    list[i] = {
      id = device.id, name = device.name, chip = device.chip, uuid = device.uuid,
      memory_bytes = device.memory, bandwidth_bytes_per_s = device.bandwidth,
      max_clock_hz = device.clock, sm_count = device.sm_count, l2_bytes = device.l2,
      compute_capability = device.compute,
    }
  end
  return list
end


local function totals(trace, found)
  local ops = found.ops
  local all = ops:group { total = { "duration" }, union = true }[1]
  local result = all and kinds.count(ops, { gpu_time_ns = all.duration.total, busy_ns = all.busy,
    span_ns = all.last and all.last - all.first })
    or kinds.none {}
  if all and not found.whole then
    local inside = 0
    for _, row in ipairs(ops:group { by = { "stage" }, total = { "duration" } }) do
      if row.stage then inside = inside + row.duration.total end
    end
    result.stage_share = all.duration.total > 0 and inside / all.duration.total or nil
  end
  result.api_calls = #check(trace:frame "api")
  result.graph_kernels = #check(trace:frame "kernels"):where { { "graph_node", "~=", false } }
  return result
end


-- ---- stages ----

-- The declared stage that is "decode" to the model, and its instances that count.
local function used_decodes(found)
  local name, list = "decode", {}
  for _, instance in ipairs(found.instances) do
    if instance.used and range_name.role(instance.stage) == "decode" then
      name, list[#list + 1] = instance.stage, instance
    end
  end
  return name, list
end


-- ---- layers ----

-- The kernels of the process and GPU that ran most of them.
local function busiest(trace)
  local kernels, most = check(trace:frame "kernels"), nil
  for _, row in ipairs(kernels:group { by = { "pid", "device" } }) do
    if not most or row.count > most.count then most = row end
  end
  return most and check(kernels:where { pid = most.pid or false, device = most.device or false })
end


-- The steps of all decodes, as far as they are known, in order.
local function decode_steps(found)
  local _, decodes = used_decodes(found)
  local list = {}
  for _, instance in ipairs(decodes) do
    table.move(instance.steps or {}, 1, #(instance.steps or {}), #list + 1, list)
  end
  return list
end


-- The layers of the decodes whose steps are known; nil where they cannot be told.
local function layers_of(given)
  local known = decode_steps(given.found)
  local frame = #known > 0 and busiest(given.trace)
  local made = frame and layers.describe(frame, known)
  if not made then return nil end
  for _, kernel in ipairs(given.kernels or {}) do
    if kernel.name == made.kernel then made.kernel = kernel.label end
  end
  return made
end


-- A function from a window of the trace to where the layers of its decode steps lie.
local function layer_spans(given)
  local known, kernels, made = decode_steps(given.found), nil, nil
  return function(window)
    local seen = {}
    for _, step in ipairs(known) do
      if step.start < window.last and step.stop > window.first then seen[#seen + 1] = step end
    end
    if #seen == 0 then return {} end
    kernels = kernels or busiest(given.trace)
    made = made or kernels and layers.of_step(kernels, known[(#known + 1) // 2])
    return layers.spans(kernels, seen, made)
  end
end


-- ---- the engine ----

local function tags_of(trace)
  local tags = {}
  local ranges = errors.check(trace:frame "ranges")
  for _, row in ipairs(ranges:group { by = { "tag" } }) do tags[#tags + 1] = row.tag end
  return tags
end


local function lower_names(list)
  local names = {}
  for i, kernel in ipairs(list or {}) do names[i] = kernel.name:lower() end
  return names
end


-- The serving engine whose ranges or kernels are in the trace: { name, title }, nil
-- where none is known.
local function engine_of(tags, names)
  local said = engines.recognise(tags)
  local engine = said and said.engine or engines.of_kernels(names)
  return engine and { name = engine.name, title = engine.title } or nil
end


-- Which engine ran the model, and what the program is written with.
local function add_program(results, given)
  local tags, names = tags_of(given.trace), lower_names(given.kernels)
  results.engine = engine_of(tags, names)
  results.framework = framework.of { engine = results.engine, names = names, tags = tags,
    metrics = given.metrics, operators = given.operators }
end


-- ---- kernels and selection ----

-- What the results tell of objects: the fields that their schema declares.
local function records(definition, list)
  local fields, made = document.fields("results", definition), json.list {}
  for i, object in ipairs(list) do
    local one = {}
    for _, field in ipairs(fields) do one[field] = object[field] end
    made[i] = one
  end
  return made
end


local function selection_record(selection, plan)
  if not selection then return nil end
  local groups = json.list {}
  for i, group in ipairs(selection.groups) do
    groups[i] = { name = group.name, kernels = json.list(group.kernels), coverage = group.coverage,
      of = group.of }
  end
  return { policy = selection.policy, coverage = selection.coverage, filter = selection.filter,
    kernels = json.list(selection.kernels), groups = groups,
    shortened = plan and plan.changes and #plan.changes > 0 and json.list(plan.changes) or nil,
    dropped = json.list(plan and plan.dropped or {}) }
end


-- ---- operators ----

-- The operators without the order of their launches, which is in a file of its own, and
-- with what of the timeline joined them.
local function operators_of(given)
  local made = {}
  for key, value in pairs(given.operators or {}) do made[key] = value end
  made.launches = nil
  local ops = given.trace and given.operators
    and joined.find(given.trace, given.found, given.operators)
  if ops then
    made.joined = joined.summary(given.trace, given.found, ops)
    ops:close()
  end
  return given.operators and made
end


-- ---- the model's cost and the hardware's limits ----

-- GPUs that ran kernels of the stages.
local function count_devices(kernels)
  local seen, count, most = {}, 0, 0
  for _, kernel in ipairs(kernels) do
    most = math.max(most, kernel.devices or 0)
    if kernel.device and not seen[kernel.device] then
      seen[kernel.device] = true
      count = count + 1
    end
  end
  return math.max(count, most)
end


-- A kernel that communicates waits for other ranks, however busy its units are.
local function mark_waiting(kernels)
  for _, kernel in ipairs(kernels) do
    if kernel.counters and kernel.category == categories.COMMUNICATION then
      kernel.counters.bound = "waiting"
    end
  end
end


-- Cost and efficiency of the stages, floors of the kernels, the roofline.
local function add_limits(results, given)
  local kernels = given.kernels or {}
  local format = given.arch and given.arch.formats.activations or "bf16"
  results.hardware = hardware.describe { device = results.environment.devices[1],
    count = count_devices(kernels), cfg = given.gpu, launches = given.launches,
    samples = given.samples, format = format }
  local lacking = results.hardware.missing
  results.hardware.missing = nil
  table.insert(lacking, work.add(results.stages, given))
  table.move(lacking, 1, #lacking, #results.missing + 1, results.missing)
  mark_waiting(kernels)
  padding.add(results.stages, kernels, given.metrics or given.workload)
  efficiency.add(results, kernels)
  sampled.add(results, given.trace, given.found, kernels)
  headroom.add(results, kernels)
  roofline.add(results, kernels)
  step_limits.add(results, given.arch, given.run)
end


-- ---- together ----

-- given: run_id, recipe (name), top_n (rows of the tables of the largest kernels),
-- model, source, environment, trace, found (of analysis.stages.find), kernels, selection,
-- counters (of analysis.counters.join), operators, workload (facts about a recorded run),
-- metrics (metrics.json), arch, arch_complaint and run (of llmprof.model.choice), gpu
-- (the configuration's hardware table), launches (of llmprof.nvidia.ncu.launches), samples (of
-- llmprof.gpu_watch), complaints (of nsys), recorder (of integrity.judge), plain (metrics of
-- runs without the profiler), stacks (of run.sampled_stacks), ranks (of analysis.serving.ranks),
-- overhead (of analysis.latency.overhead), missing (list of { what, why, how }), flops (the
-- recipe's: a function of a stage and metrics).
--
-- Its advice is made from the results themselves: llmprof.advice.
function analysis.results(given)
  local results = {
    schema_version = 1,
    run = { id = given.run_id, recipe = given.recipe, created = clock.timestamp(),
      llmprof = version.version, top_n = given.top_n },
    model = given.model,
    source = given.source,
    environment = given.environment or {},
    selection = selection_record(given.selection, given.plan),
    counters = given.counters,
    operators = operators_of(given),
    missing = json.list(given.missing),
    overhead = given.overhead,
    load = served.load(given.metrics),
    engine_metrics = served.engine(given.metrics),
    stages = json.list {},
  }
  if given.trace then
    results.environment.devices = devices(given.trace)
    results.repeats = given.found.repeats
    results.repeats.whole_run = given.found.whole
    results.inferred = given.found.inferred
      and records("inferred", { given.found.inferred })[1]
    add_program(results, given)
    results.layers = layers_of(given)
    results.totals = totals(given.trace, given.found)
    results.stages = stage_summary.list(given.found, given)
    breakdown.add(results.stages, given.trace, given.found, given.kernels or {})
    results.ranks = given.ranks
    for _, stage in ipairs(results.stages) do
      stage_summary.refine_by_ranks(stage, results.ranks)
    end
    local made = stage_summary.counts(given, used_decodes(given.found))
    made.metrics, made.plain, made.ranks = given.metrics, given.plain, results.ranks
    results.latency = latency.measure(given.found, made)
    results.transfers = transfers.list(given.trace, given.found)
    results.integrity = integrity.judge { trace = given.trace, found = given.found,
      samples = given.samples, complaints = given.complaints, recorder = given.recorder,
      stage_share = results.totals.stage_share }
    add_limits(results, given)
  elseif given.metrics then
    local count = #given.metrics.repeats
    results.repeats = { count = count, used = count, skipped_first = false, whole_run = false }
  end
  results.kernels = records("kernel", given.kernels or {})
  results.other_kernels = given.kernels and given.kernels.others
  results.cpu_samples = cpu_samples.describe(given)
  if given.trace and not given.found.whole then
    results.modules = modules.times(given.trace, given.found)
    results.gaps = gaps.longest { trace = given.trace, found = given.found,
      kernels = results.kernels, layers = layer_spans(given) }
  end
  if given.trace then given.found.forget_busy() end
  return results
end


-- The collectives of the trace alone; nil without any.
local function own_collectives(given, results)
  local ranks = results.ranks
  local made = ranks and ranks.collectives and #ranks.collectives > 0
    and rank_view.frames(given.trace, layout.timeline, given.found)
  return made and made.collectives or nil
end


-- The events that the page draws, of what the results were made of: see
-- llmprof.analysis.timeline.events; as pack.gzip_aside packs them. nil where the GPU did nothing.
function analysis.events(given, results)
  if not given.trace then return nil end
  frames.tidy()
  local views, own
  if given.merged then views, own = rank_view.beside(given.merged, given.trace) end
  local bytes = events.encode { trace = given.trace, found = given.found,
    kernels = results.kernels, whole = given.found.whole and stages.WHOLE_RUN or nil,
    layers = layer_spans(given), collectives = own or own_collectives(given, results),
    ranks = views }
  return bytes and pack.gzip_aside(bytes)
end


return analysis
