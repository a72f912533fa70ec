-- Figures that can be compared, by path:
--
--   STAGE.ms, STAGE.gpu_ms, STAGE.busy, STAGE.idle   ms of one instance of the stage:
--                                            wall, GPU time, GPU busy, GPU idle
--   STAGE.kernels, STAGE.launches, STAGE.copies     counts of one instance
--   STAGE.category.NAME, category.NAME       ms of GPU time of a category of
--                                            kernels, in a stage or in all
--   ttft, tpot                               ms
--   tokens_per_s                             of all sequences
--   cost                                     money for 1M output tokens
--   energy                                   J for an output token
--
-- Times of the workload's runs without a profiler ("plain") go before those of
-- the timeline ("profiled"), where both sides have them. A process makes a group of
-- samples: each run of a side, and each of its plain runs.
local cold = require "llmprof.analysis.stages.warmup"
local errors = require "llmprof.process.errors"
local nearest = require "llmprof.tables.keys"
local own_times = require "llmprof.analysis.latency.own_times"
local lists = require "llmprof.tables.lists"
local verdict = require "llmprof.compare.verdict"

local metrics = {}

local PREFILL, DECODE = "prefill", "decode"

-- field: of an instance; repeat_field: of a repeat in results.latency. Both times
-- scale to the unit. cpu: the time of the CPU is in it, which a profiler adds to.
local definitions = {
  ms = { unit = "ms", better = "lower", field = "wall_ns", scale = 1e-6, cpu = true },
  gpu_ms = { unit = "ms", better = "lower", field = "gpu_time_ns", scale = 1e-6 },
  busy = { unit = "ms", better = "neither", field = "gpu_busy_ns", scale = 1e-6 },
  idle = { unit = "ms", better = "neither", field = "gpu_idle_ns", scale = 1e-6, cpu = true },
  kernels = { better = "count", field = "kernels", exact = true },
  launches = { better = "count", field = "launches", exact = true },
  copies = { better = "count", field = "copies", exact = true },
  category = { unit = "ms", better = "lower" },
  ttft = { unit = "ms", better = "lower", repeat_field = "ttft_ns", stage = PREFILL, scale = 1e-6,
    cpu = true },
  tpot = { unit = "ms", better = "lower", repeat_field = "tpot_ns", stage = DECODE, scale = 1e-6,
    cpu = true },
  tokens_per_s = { unit = "tokens/s", better = "higher", repeat_field = "tokens_per_s",
    stage = DECODE, cpu = true },
  cost = { unit = "for 1M tokens", better = "neither", cost_field = "per_million_tokens",
    cpu = true },
  energy = { unit = "J/token", better = "neither", cost_field = "energy_j_per_token" },
}

-- In the order in which people are told of them.
local of_a_stage = { "ms", "gpu_ms", "busy", "idle", "kernels", "launches", "copies" }
local of_the_run = { "ttft", "tpot", "tokens_per_s", "cost", "energy" }


-- ---- paths ----

local function no_metric(path, word, known)
  errors.raise("usage", ("no figure '%s'%s"):format(path, nearest.suggestion(word, known)),
    { hint = "STAGE." .. table.concat(of_a_stage, ", STAGE.") .. ", STAGE.category.NAME, "
      .. "category.NAME, " .. table.concat(of_the_run, ", ") })
end


-- A path as { path, key, stage (nil for the whole run), category, unit }.
function metrics.parse(path)
  local definition = definitions[path]
  if definition and (definition.repeat_field or definition.cost_field) then
    return { path = path, key = path, unit = definition.unit }
  end
  local stage, category = path:match "^(.-)%.?category%.(.+)$"
  if category then
    return { path = path, key = "category", stage = stage ~= "" and stage or nil,
      category = category, unit = "ms" }
  end
  local name, key = path:match "^(.+)%.([^.]+)$"
  if name and definitions[key] and definitions[key].stage == name then return metrics.parse(key) end
  if not name then no_metric(path, path, of_the_run) end
  definition = definitions[key]
  if not (definition and definition.field) then no_metric(path, key, of_a_stage) end
  return { path = path, key = key, stage = name, unit = definition.unit }
end


-- ---- samples of the timeline ----

function metrics.stage(side, name) return lists.find(side.results.stages, "name", name) end


-- Is every kernel of a stage known? Those of a CUDA graph that was traced as one
-- row are not.
function metrics.kernels_known(stage)
  return not lists.any(stage.instances, function(instance)
    return (instance.graphs or 0) > 0
  end)
end


-- Does the stage tell what it did of a field: "kernels", "copies", "launches", ...?
function metrics.is_known(stage, field)
  return field ~= "kernels" and field ~= "copies" or metrics.kernels_known(stage)
end


-- The samples of a process, or the processes of a side; nil for none.
local function group_of(values) return #values > 0 and values or nil end


-- GPU time of a category per instance, in ms; 0 in a stage that has none of it.
local function from_categories(run, metric)
  local sum, found = 0, false
  for _, stage in ipairs(run.results.stages) do
    if stage.name == metric.stage or (not metric.stage and not stage.parent) then
      if not metrics.kernels_known(stage) then return nil end
      found = true
      for _, row in ipairs(stage.categories or {}) do
        if row.category == metric.category then sum = sum + row.gpu_time_ns / 1e6 end
      end
    end
  end
  return found and { sum } or nil
end


local function of_one_run(run, metric)
  local definition, latency = definitions[metric.key], run.results.latency or {}
  local scale = definition.scale or 1
  if metric.key == "category" then
    return from_categories(run, metric)
  elseif definition.repeat_field then
    return group_of(lists.map(lists.filtered(latency.repeats or {}, "used"), function(entry)
      local value = entry[definition.repeat_field]
      local is_left_out = cold.left_out(run.results.repeats, entry.rep, definition.stage)
      return value and not is_left_out and value * scale or nil
    end))
  elseif definition.cost_field then
    local cost = run.results.running_cost
    return cost and group_of { cost[definition.cost_field] }
  end
  local stage = metrics.stage(run, metric.stage)
  if not stage or not metrics.is_known(stage, metric.key) then return nil end
  return group_of(lists.map(lists.filtered(stage.instances, "used"), function(instance)
    local value = instance[definition.field]
    -- copies are copies and sets, as in the reports
    if metric.key == "copies" then value = value + (instance.sets or 0) end
    return value and value * scale
  end))
end


local function profiled(side, metric)
  return group_of(lists.map(side.runs, function(run) return of_one_run(run, metric) end))
end


-- ---- samples without a profiler ----

local function stage_ms(rep, name)
  local stage = rep.stages[name]
  local ns = stage and own_times.instance_ns(stage)
  return ns and ns / 1e6
end


-- Of a repeat of metrics.json, by the metric's key; nil where it says too little.
local plain_values = {
  ms = function(rep, metric) return stage_ms(rep, metric.stage) end,
  ttft = function(rep) return stage_ms(rep, PREFILL) end,
  tpot = function(rep, _, batch)
    local stage = rep.stages[DECODE]
    local ns = stage and own_times.step_ns(stage, batch)
    return ns and ns / 1e6
  end,
  tokens_per_s = function(rep, _, batch)
    local stage = rep.stages[DECODE]
    local steps = stage and stage.ms and stage.ms > 0 and stage.steps
    return steps and batch and steps * batch / (stage.ms / 1e3) or nil
  end,
  cost = function(rep, _, _, run)
    local cost, ms = run.results.running_cost, 0
    if not (cost and cost.per_million_tokens and cost.tokens and cost.ns_per_token) then
      return nil
    end
    for _, row in ipairs(cost.stages or {}) do
      local stage = rep.stages[row.stage]
      if not stage or not stage.ms then return nil end
      ms = ms + stage.ms
    end
    return cost.per_million_tokens * ms * 1e6 / cost.tokens / cost.ns_per_token
  end,
}


-- Of the repeats of plain runs that count: the first is left out where the timeline leaves it out.
local function plain(side, metric)
  local value_of = plain_values[metric.key]
  local name = metric.stage or definitions[metric.key].stage
  return value_of and group_of(lists.flat(side.runs, function(run)
    local stage = metrics.stage(run, name)
    return lists.map(run.plain, function(plain_run)
      local values = {}
      for i, rep in ipairs(plain_run.repeats) do
        if not cold.left_out(run.results.repeats, i, name, stage and stage.parent) then
          values[#values + 1] = value_of(rep, metric, plain_run.batch, run)
        end
      end
      return group_of(values)
    end)
  end))
end


-- Where each side has one capture, its plain runs tell how much processes of the same
-- thing differ. Any part of a stage may be what differs: a part is taken to vary by as
-- many ms as its stage does.
function metrics.noise_of(metric, before, after)
  local definition = definitions[metric.key]
  local stage = metric.stage or definition.stage
  if not stage or not definition.unit then return nil end
  local time = { key = "ms", stage = stage }
  local share, df = verdict.noise(plain(before, time), plain(after, time))
  local scale = metric.stage and time or metric
  local old, new = profiled(before, scale), profiled(after, scale)
  if not (share and old and new) then return nil end
  return { before = share * verdict.mean(old), after = share * verdict.mean(new), df = df,
    from = "plain runs of " .. stage }
end


-- ---- judging ----

local function absent(metric, side)
  local first = side.runs[1]
  local stage = metric.stage and metrics.stage(first, metric.stage)
  if metric.stage and not stage then
    local names = lists.map(first.results.stages, "name")
    return ("%s has no stage '%s'%s"):format(side.name, metric.stage,
      nearest.suggestion(metric.stage, names))
  end
  local hidden = stage and not metrics.kernels_known(stage)
  return ("%s has no %s%s"):format(side.name, metric.path,
    hidden and ": its CUDA graphs were traced as one row each" or "")
end


-- Words of the names of profilers, and what each is called here.
local PROFILERS = { { "nsys", "nsys" }, { "Nsight", "nsys" }, { "torch", "torch.profiler" },
  { "collector", "llmprof's collector" }, { "jax", "jax.profiler" } }

-- Which profilers recorded the sides, where these differ: what a launch takes under one says
-- nothing of another. Nil where they are the same, or one is not known.
local function profilers(before, after)
  local list = {}
  for i, side in ipairs { before, after } do
    local timeline = side.results.source.timeline or {}
    -- what llmprof exports from other formats has a version of its own
    local is_nsys = (timeline.export_product or ""):find "^20%d%d%."
    local tool = timeline.tool or is_nsys and "nsys" or ""
    for _, known in ipairs(PROFILERS) do
      if tool:find(known[1], 1, true) then list[i] = list[i] or known[2] end
    end
  end
  return list[1] and list[2] and list[1] ~= list[2] and list or nil
end


-- Why the totals of a stage say nothing of a change: one side alone tells of how many steps it is.
-- nil where they do.
function metrics.incomparable(name, before, after)
  local old, new = metrics.stage(before, name), metrics.stage(after, name)
  if not (old and new) or (old.steps == nil) == (new.steps == nil) then return nil end
  local knows, lacks = before, after
  if not old.steps then knows, lacks = after, before end
  return ("%s tells of how many steps %s is (%.6g), %s does not"):format(knows.name, name,
    old.steps or new.steps, lacks.name)
end


-- Nobody can tell, for this reason.
function metrics.leave_open(judged, why)
  judged.verdict, judged.why = verdict.UNKNOWN, why
  for _, field in ipairs { "assumed", "low", "high", "low_share", "high_share", "p" } do
    judged[field] = nil
  end
end


-- What became of a metric (of metrics.parse) from one side to the other: see
-- llmprof.compare.verdict, also for level, which may be nil; low_share and high_share, its interval
-- as shares of the value before; basis ("plain" or "profiled"); and is it incomparable. nil and why
-- where a side lacks it.
function metrics.judge(metric, before, after, level)
  local old, new, basis = plain(before, metric), plain(after, metric), "plain"
  if not (old and new) then
    old, new, basis = profiled(before, metric), profiled(after, metric), "profiled"
  end
  if not (old and new) then return nil, absent(metric, old and after or before) end
  local definition = definitions[metric.key]
  local judged = verdict.judge(old, new, { better = definition.better, exact = definition.exact,
    noise = basis == "profiled" and metrics.noise_of(metric, before, after) or nil,
    assumed = before.assumed, level = level })
  judged.basis, judged.unit = basis, definition.unit
  if judged.low and judged.before ~= 0 then
    local base = math.abs(judged.before)
    judged.low_share, judged.high_share = judged.low / base, judged.high and judged.high / base
  end
  local tools = basis == "profiled" and definition.cpu and profilers(before, after)
  if tools then
    judged.verdict, judged.assumed = verdict.UNKNOWN, nil
    judged.why = ("profiled by %s and by %s, which slow launches differently"):format(
      tools[1], tools[2])
  end
  local why = basis == "profiled" and metric.stage
    and metrics.incomparable(metric.stage, before, after)
  if why then
    judged.incomparable = true
    metrics.leave_open(judged, why)
  end
  return judged
end


-- The mean of a metric on one side, what it is of, and how many processes; nil where it is not
-- there.
function metrics.value(metric, side)
  local groups, basis = plain(side, metric), "plain"
  if not groups then groups, basis = profiled(side, metric), "profiled" end
  if groups then return verdict.mean(groups), basis, #groups end
end


return metrics
