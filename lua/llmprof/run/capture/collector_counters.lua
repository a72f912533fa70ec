-- Counters that the collector took: which launches it is asked to measure, and its values,
-- which the bundle also has as the page that ncu would have printed of them.
local breakdown = require "llmprof.analysis.stages.breakdown"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local kernels = require "llmprof.analysis.kernels.table"
local launches = require "llmprof.nvidia.ncu.launches"
local layout = require "llmprof.bundle.layout"
local lists = require "llmprof.tables.lists"
local metrics = require "llmprof.nvidia.metrics"
local collector = require "llmprof.collector"
local step = require "llmprof.run.steps.select"
local spool = require "llmprof.spool"
local stages = require "llmprof.analysis.stages.find"
local trace_file = require "llmprof.trace.file"

local collector_counters = {}

-- Of a kernel that is launched in many shapes the most frequent ones, until they are this
-- part of its launches, and no more than this many: each costs as much as a kernel.
local SHAPES_COVER, MOST_SHAPES = 0.95, 8

-- The range around a repeat of the workload without its CUDA graphs.
collector_counters.EAGER = "eager"

-- Lines that a collector takes, with some room.
local MOST_LAUNCHES = 4000


-- Are the counters to come from the collector, where the timeline does?
function collector_counters.wanted(cfg)
  return cfg.counters.by ~= "off" and cfg.counters.by ~= "ncu" and cfg.timeline ~= "off"
    and cfg.collector.yield == "off"
end


-- What is measured unless something else is asked for.
local function set_of(cfg) return cfg.counters.set or "roofline" end


-- Units that the counters of a set take: one in which each launch has one pass, and one in which
-- the passes of all metrics are spread over launches like it.
function collector_counters.units(cfg)
  local set = set_of(cfg)
  return metrics.list[set] and set ~= "light" and 2 or 1
end


-- A "|" at the end says that some chips have none of the names.
local function add_rows(lines, rows)
  for _, row in ipairs(rows) do
    lines[#lines + 1] = collector.plan_line("metric", table.concat(row[1], "|")
      .. (row.lacks and "|" or ""))
  end
end


-- Seconds that counters may take: a run is to take no more than twice as long as a plain one,
-- and a server takes long to start.
function collector_counters.budget(cfg)
  return cfg.counters.budget_s
    or collector_counters.units(cfg) > 1 and (cfg.server and 30 or 12) or 60
end


-- Lines of the plan for the metrics of a set; none for what a collector measures by itself.
function collector_counters.metric_lines(cfg)
  local set, lines = set_of(cfg), {}
  if set == "light" then return "" end
  if collector_counters.units(cfg) == 2 then
    lines[1] = collector.plan_line("pass", 1)
    add_rows(lines, metrics.flushed(set))
    lines[#lines + 1] = collector.plan_line("pass", 2)
    add_rows(lines, metrics.rows(set))
  else
    for _, names in ipairs(metrics.of(set)) do
      lines[#lines + 1] = collector.plan_line("metric", table.concat(names, "|"))
    end
  end
  return table.concat(lines)
end


-- ---- which launches ----

local function three(sizes) return ("%d,%d,%d"):format(sizes[1], sizes[2], sizes[3]) end


-- The shapes of kernels to measure, of each the most frequent ones; the shape with the most GPU
-- time first: not all may fit in. List of { kernel, shape }.
local function shapes_of(chosen)
  local list = {}
  for _, kernel in ipairs(chosen) do
    local count, calls, covered = 0, lists.sum(kernel.shapes, "calls"), 0
    for _, shape in ipairs(kernel.mangled_name and lists.stable(kernel.shapes, "-calls") or {}) do
      if count == MOST_SHAPES or covered >= SHAPES_COVER * calls then break end
      list[#list + 1] = { kernel = kernel, shape = shape }
      count, covered = count + 1, covered + shape.calls
    end
  end
  return lists.stable(list, function(one) return -one.shape.total_ns end)
end


-- Lines of the plan for the launches that matter in a spool, the most valuable first.
function collector_counters.launch_lines(ctx, path)
  local trace <close> = trace_file.open(path)
  local found = stages.find(trace, ctx.recipe.stages, ctx.cfg.repeats.skip_first)
  local list = kernels.list(trace, found, ctx.recipe.categories)
  breakdown.categorize(list, ctx.recipe.categories)
  local count = collector_counters.units(ctx.cfg) > 1 and 1 or ctx.cfg.top_n.launches_per_kernel
  -- anywhere, where a stage has no range of its own to be found by
  local anywhere, lines = (found.whole or found.inferred or found.by_engine) and "*", {}
  for _, one in ipairs(shapes_of(step.select_kernels(ctx, list, found).chosen)) do
    local kernel, shape = one.kernel, one.shape
    local calls = math.min(count, shape.calls, MOST_LAUNCHES - #lines)
    for ordinal = 0, calls - 1 do
      lines[#lines + 1] = collector.plan_line("launch", ("%s|%s|%s|*|%s|%d"):format(
        kernel.mangled_name, three(shape.grid), three(shape.block), anywhere or kernel.stage,
        ordinal))
    end
  end
  -- launches of graphs
  local in_graphs = errors.check(trace:frame "kernels"):where { { "graph_node", "~=", false } }
  local marked = lists.map(anywhere and {} or found.declared, function(stage)
    return not stage.parent and stage.name or nil
  end)
  if #marked == 0 then marked[1] = "*" end
  for _, stage in ipairs(#in_graphs > 0 and marked or {}) do
    lines[#lines + 1] = collector.plan_line("graph", ("*|%s|0-%d"):format(stage, count - 1))
  end
  return table.concat(lines)
end


-- ---- their values ----

-- Why none of the launches was measured.
local function reason(run, path, wanted)
  local problem = lists.find(errors.check(trace_file.open(path):diagnostics()), "severity",
    "problem")
  if problem then return problem.text end
  if wanted > 0 then return ("none of %d launches could be measured"):format(wanted) end
  local opened = errors.check(spool.open(path))
  local took = errors.check(opened:frame "diagnostics"):where { code = { "budget", "measured" } }
  if #took > 0 then
    return "the process ended before what was measured of its launches was written"
  end
  local counted = errors.check(opened:frame "units"):where { type = "counters" }
  if #counted > 0 then return "none of the selected launches ran again" end
  local plan = fs.read(run:path(layout.collector.plan)) or ""
  return collector.plan_value(plan, "unit.by") == "process"
    and "the process is one unit, for the timeline: no profiling window and no range of the "
      .. "first stage divides it"
    or "no unit of the workload was left for counters; more repeats make one"
end


-- What the units of the first process that has some were for, in order.
function collector_counters.unit_types(path)
  local opened = errors.check(spool.open(path))
  local units, types = errors.check(opened:frame "units"), {}
  local pids = units:values "pid"
  for i, type in ipairs(units:values "type") do
    if pids[i] == pids[1] then types[#types + 1] = type end
  end
  return types
end


-- Puts the counters of the run's spool into it: true, or false and why not.
function collector_counters.keep(ctx)
  local path = ctx.run:path(layout.collector.spool)
  local frame, units, wanted = launches.recorded(path)
  local measured, eager = #frame, 0
  if measured == 0 then return false, reason(ctx.run, path, wanted) end
  ctx.run:write(layout.counters, launches.page_text(frame, units))
  if measured < wanted then
    ctx.note(("%d of %d launches were measured by the collector"):format(measured, wanted))
  end
  local said = errors.check(errors.check(spool.open(path)):frame "diagnostics")
  for _, text in ipairs(said:where({ code = "budget" }):values "text") do ctx.note(text) end
  if ctx.cfg.counters.eager_round == "on" then
    ctx.note "the engine was asked to leave its CUDA graphs out while counters were measured"
  end
  for _, ranges in ipairs(frame:values "ranges") do
    local lines = "\n" .. (ranges or "") .. "\n"
    if lines:find("\n" .. collector_counters.EAGER .. "\n", 1, true) then eager = eager + 1 end
  end
  if eager > 0 then
    ctx.note(("%d of %d launches were measured in a repeat without CUDA graphs"):format(eager,
      measured))
  end
  return true
end


return collector_counters
