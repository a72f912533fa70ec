-- The instances of each stage -> the stages of results: means of those that count,
-- tokens and steps, and what holds the stage up. Times are ns, shares 0..1.
local categories = require "llmprof.analysis.kernels.categories"
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"
local lazy = require "llmprof.io.lazy"
local range_name = require "llmprof.trace.nvtx_names"
local served = lazy "llmprof.analysis.serving.load"
local statistics = require "llmprof.statistics"

local stage_summary = { where = { "found" }, reads = { "found", "metrics", "workload" },
  gives = { stages = "the stages that ran, in the order they were declared" } }

-- From these shares of the time in which the GPU waits for the CPU on, a stage is held up by it,
-- and bound by it: it waits more than it works.
stage_summary.HELD_UP, stage_summary.LAUNCH_BOUND = 0.3, 0.5

-- With this part of that time in launching calls it is launches that it waits for,
-- else what the program does between them.
stage_summary.LAUNCHES_FILL = 0.5


local function timing(instances)
  local wall = statistics.describe(lists.map(instances, "wall"))
  return wall and { count = wall.count, mean_ns = wall.mean, std_ns = wall.std, min_ns = wall.min,
    max_ns = wall.max, total_ns = wall.total }
end


local function mean(instances, field) return lists.sum(instances, field) / #instances end


-- The part of the idle time that launching calls fill. waiting: that of a stage.
function stage_summary.launch_share(waiting)
  local all = lists.sum({ "launch", "sync", "memory", "other", "host" }, function(class)
    return waiting[class .. "_ns"] or 0
  end)
  return all > 0 and waiting.launch_ns / all or 0
end


-- A stage that is bound by the CPU is so by launches, or by what lies between them.
local function divide_cpu(stage)
  local share = stage_summary.launch_share(stage.waiting)
  stage.bound = share >= stage_summary.LAUNCHES_FILL and "launch" or "CPU"
  stage.bound_reason = ("%s, %.0f %% of it while a call launches"):format(stage.bound_reason,
    share * 100)
end


-- What takes most of a stage's time, and the numbers that say so. idle, waits: shares of it,
-- without the profiler where that is known: the GPU is idle, and that not within replays of graphs.
function stage_summary.find_bound(stage, idle, waits)
  local within = idle - waits >= 0.005
    and (", %.0f %% of the time within replays of graphs"):format((idle - waits) * 100) or ""
  stage.bound_reason = ("the GPU is idle %.0f %% of the time%s"):format(idle * 100, within)
  if waits < stage_summary.HELD_UP then
    stage.bound = "GPU"
    stage.bound_reason = ("the GPU is busy %.0f %% of the time%s"):format((1 - idle) * 100, within)
  elseif not stage.waiting then -- no call of the CPU was recorded
    stage.bound_reason = nil
  elseif waits < stage_summary.LAUNCH_BOUND then
    stage.bound = "both"
  else
    divide_cpu(stage)
  end
end


-- Means of the steps of a phase over the ranks of the timeline: all of them, but one where
-- each gave a file, since the timeline is then the first.
local function steps_of(ranks, name)
  local group, first = lists.find(ranks.stages or {}, "phase", name), ranks.ranks[1]
  if #(ranks.files or {}) < 2 then return group end
  return group and first and lists.find(group.ranks, "rank", first.rank)
end


-- The same of a stage without steps: what its kernels tell, at least.
local function of_kernels(stage)
  local group = stage.wall and lists.find(stage.categories, "category", categories.COMMUNICATION)
  return group and { mean_ns = stage.wall.mean_ns,
    exposed_ns = group.gpu_time_ns - (stage.gpu_time_ns - stage.gpu_busy_ns) }
end


-- Where several ranks ran the stage, their GPUs are also busy while a collective waits for
-- the last of them. With that part, too, half of the time may pass without work: what
-- takes more of it then bounds the stage. Where that cannot be told, or collectives move data for
-- half of the time, communication does. ranks: results.ranks; idle: find_bound's waits.
function stage_summary.refine_by_ranks(stage, ranks, idle)
  if not ranks or idle >= stage_summary.LAUNCH_BOUND then return end
  local group = steps_of(ranks, stage.name) or of_kernels(stage)
  if not group or (group.mean_ns or 0) == 0 then return end
  local exposed = (group.exposed_ns or 0) / group.mean_ns
  local waits = math.min((group.waiting_ns or 0) / group.mean_ns, exposed)
  if waits + idle < stage_summary.LAUNCH_BOUND then
    if exposed < stage_summary.LAUNCH_BOUND then return end
    stage.bound = "communication"
    stage.bound_reason = ("the GPU is in collectives %.0f %% of the time, and computes nothing "
      .. "meanwhile%s"):format(exposed * 100, group.waiting_ns
        and (", %.0f %% waiting for other ranks"):format(waits * 100)
        or "; how much of that is waiting cannot be told")
    return
  end
  stage.bound_reason = ("the GPU waits for other ranks %.0f %% of the time, for the CPU %.0f %% of "
    .. "it"):format(waits * 100, idle * 100)
  if waits > idle or not stage.waiting then
    stage.bound = "ranks"
  else
    divide_cpu(stage)
  end
end


-- Of the range on the CPU; nil where no range marks the instance.
local function host_of(instance)
  return instance.host_stop and instance.host_stop - instance.host_start
end


local function instance_record(instance)
  return {
    start_ns = instance.start, wall_ns = instance.wall, host_ns = host_of(instance),
    rep = instance.rep, used = instance.used,
    gpu_busy_ns = instance.busy, gpu_idle_ns = instance.idle, gpu_time_ns = instance.gpu_time,
    kernels = instance.kernels, copies = instance.copies, sets = instance.sets,
    graphs = instance.graphs, launches = instance.launches,
  }
end


-- The mean of what all instances have a value of; nil where one has none, or there are none.
local function mean_of_all(instances, value_of)
  local values = lists.map(instances, value_of)
  return #values > 0 and #values == #instances and statistics.sum(values) / #values or nil
end


-- What the workload, or a recorded capture, says of a stage: it may leave out its
-- domain.
local function said_of(stages, name)
  return stages and (stages[name] or stages[range_name.role(name)])
end


-- Tokens that a step of an engine gives its requests: one each, where it does not verify
-- speculated ones, as one that is scheduled more tokens than it has requests does; nil where how
-- many of these are accepted is not known. verified: tokens that a verification gives a request.
local function tokens_of_step(step, verified)
  local requests = step.requests or 0
  if step.stage == "draft" then return 0 end
  if (step.scheduled or requests) > requests or not step.scheduled and verified then
    return verified and requests * verified
  end
  return requests
end


-- The same of instances that are single steps of an engine: means. per_step: tokens that a
-- request gets in one; is_speculated: that is not known.
local function counts_of_steps(instances, verified)
  if #instances == 0 then return {} end
  local made = lists.map(instances, function(one) return tokens_of_step(one, verified) end)
  local unknown = #made < #instances or nil
  local tokens, requests = statistics.sum(made), lists.sum(instances, "requests")
  local batch = requests / #instances
  return { tokens = not unknown and tokens / #instances or nil, steps = 1, is_speculated = unknown,
    per_step = not unknown and tokens > 0 and tokens / requests or nil,
    batch = batch > 0 and (math.tointeger(batch) or batch) or nil }
end


-- Tokens and steps that one instance of a stage made, and the batch: steps that are
-- marked or were inferred, what the workload counted in the last repeat, or what is
-- known about a recorded one. Tokens are those of all sequences; a step makes one
-- for each, unless it verifies speculated ones.
-- given: as of analysis.results; name: of the stage; instances: those that count.
function stage_summary.counts(given, name, instances)
  if given.found and given.found.by_engine then
    local engine = served.engine(given.metrics)
    return counts_of_steps(instances, engine and engine.tokens_per_verification)
  end
  local repeats, about = given.metrics and given.metrics.repeats, given.workload or {}
  local last = repeats and repeats[#repeats]
  local stage = said_of(last and last.stages, name) or said_of(about.stages, name) or {}
  local ranges = stage.count or 1
  local batch = given.metrics and given.metrics.batch or about.batch
  local tokens = stage.tokens and stage.tokens > 0 and stage.tokens / ranges or nil
  -- marked or inferred ones first
  local steps = mean_of_all(instances, function(one) return one.steps and #one.steps end)
    or stage.steps and stage.steps > 0 and stage.steps / ranges
    or (tokens and batch and tokens / batch) or nil
  return { tokens = tokens, steps = steps, batch = batch }
end


local function add_steps(stage, declared, counts, used)
  local makes_tokens = declared.step ~= nil or range_name.role(declared.name) == "decode"
  if not (makes_tokens and counts.steps) then return end
  stage.steps = counts.steps
  if counts.is_speculated then return end
  local tokens = counts.steps * (counts.per_step or 1)
  -- what graphs ran that were traced as one operation is not known
  if stage.kernels and mean(used, "graphs") == 0 then
    stage.kernels_per_token = stage.kernels / tokens
  end
  stage.ns_per_token = (stage.wall or stage.own).mean_ns / tokens
end


-- What the GPU did, by the timeline.
local function add_times(stage, used)
  stage.wall = timing(used)
  local wall, idle = lists.sum(used, "wall"), lists.sum(used, "idle")
  stage.gpu_busy_ns, stage.gpu_idle_ns = mean(used, "busy"), mean(used, "idle")
  stage.gpu_time_ns = mean(used, "gpu_time")
  stage.kernels, stage.launches = mean(used, "kernels"), mean(used, "launches")
  stage.copies = mean(used, "copies") + mean(used, "sets")
  stage.idle_share = wall > 0 and idle / wall or nil
end


local function summarize(declared, instances, given)
  local found, used = given.found, lists.filtered(instances, "used")
  local stage = { name = declared.name, parent = declared.parent,
    instances = json.list(found.own and {} or lists.map(instances, instance_record)) }
  if #used == 0 then return stage end
  stage.repeats = #lists.grouped(used, "rep")
  stage.host_ns = mean_of_all(used, host_of)
  if found.own then -- by the workload's own clock
    stage.own = timing(used)
  elseif #found.ops > 0 then
    add_times(stage, used)
  else -- GPU activity was not recorded
    return stage
  end
  local counts = stage_summary.counts(given, declared.name, used)
  stage.tokens = counts.tokens
  add_steps(stage, declared, counts, used)
  return stage
end


-- Share of the GPU time of the stages without a parent.
local function add_shares(list)
  local function time_of(stage) return stage.wall and stage.gpu_time_ns * stage.wall.count end
  local all = lists.sum(list, function(stage) return not stage.parent and time_of(stage) end)
  for _, stage in ipairs(all > 0 and list or {}) do
    stage.share = time_of(stage) and time_of(stage) / all
  end
end


-- The stages that ran, in the order they were declared. found: of analysis.stages.find, or of
-- llmprof.analysis.latency.own_times; given: as of analysis.results.
function stage_summary.list(found, given)
  local _, by_stage = lists.grouped(found.instances, "stage")
  local list = json.list(lists.map(found.declared, function(declared)
    local instances = by_stage[declared.name]
    return instances and summarize(declared, instances, given)
  end))
  add_shares(list)
  return list
end


-- The declared stage that is "decode" to the model, and its instances that count.
function stage_summary.decodes(found)
  local list = lists.filtered(found.instances, function(instance)
    return instance.used and range_name.role(instance.stage) == "decode"
  end)
  return list[1] and list[#list].stage or "decode", list
end


function stage_summary.run(state) state.stages = stage_summary.list(state.found, state) end


return stage_summary
