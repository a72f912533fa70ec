-- Counters that the collector took: which launches it is asked to measure, and its values
-- as the page that ncu would have printed of them, so that nothing later asks who measured.
local breakdown = require "llmprof.analysis.breakdown"
local errors = require "llmprof.base.errors"
local fs = require "llmprof.fs"
local kernels = require "llmprof.analysis.kernels"
local layout = require "llmprof.bundle.layout"
local plan = require "llmprof.collector.plan"
local row = require "llmprof.nvidia.ncu.row"
local selection = require "llmprof.run.selection"
local spool = require "llmprof.spool"
local stages = require "llmprof.analysis.stages"
local trace_file = require "llmprof.trace.file"

local collected = {}

-- Of a kernel that is launched in many shapes the most frequent ones, until they are this
-- part of its launches, and no more than so many: each costs as much as a kernel.
local SHAPES_COVER, MOST_SHAPES = 0.95, 8

-- The range around a repeat of the workload without its CUDA graphs.
collected.EAGER = "eager"

-- Lines that a collector takes, with some room.
local MOST_LAUNCHES = 4000


-- Are the counters to come from the collector, where the timeline does?
function collected.wanted(cfg)
  return cfg.counters ~= "off" and cfg.counters ~= "ncu" and cfg.timeline ~= "off"
end


-- ---- which launches ----

local function three(sizes)
  return ("%d,%d,%d"):format(sizes[1], sizes[2], sizes[3])
end


-- Where a kernel's stage has no range of its own to be found by: anywhere.
local function stage_of(kernel, found)
  local unmarked = found.whole or found.inferred or found.by_engine
  return unmarked and "*" or kernel.stage
end


-- The shapes of a kernel to measure, the most frequent first.
local function shapes_of(kernel)
  local list, chosen, calls, covered = {}, {}, 0, 0
  for i, shape in ipairs(kernel.shapes) do
    list[i], calls = { shape = shape, at = i }, calls + shape.calls
  end
  table.sort(list, function(a, b)
    if a.shape.calls ~= b.shape.calls then return a.shape.calls > b.shape.calls end
    return a.at < b.at
  end)
  for _, entry in ipairs(list) do
    if #chosen == MOST_SHAPES or covered >= SHAPES_COVER * calls then break end
    chosen[#chosen + 1], covered = entry.shape, covered + entry.shape.calls
  end
  return chosen
end


local function add_launches(lines, kernel, found, count)
  for _, shape in ipairs(shapes_of(kernel)) do
    for ordinal = 0, math.min(count, shape.calls) - 1 do
      if #lines >= MOST_LAUNCHES then return end
      lines[#lines + 1] = plan.line("launch", ("%s|%s|%s|*|%s|%d"):format(kernel.mangled_name,
        three(shape.grid), three(shape.block), stage_of(kernel, found), ordinal))
    end
  end
end


-- Names of the stages that have ranges; any where none has.
local function marked_stages(found)
  local names = {}
  for _, stage in ipairs(found.declared) do
    if not stage.parent and stage_of({ stage = stage.name }, found) ~= "*" then
      names[#names + 1] = stage.name
    end
  end
  return #names > 0 and names or { "*" }
end


-- Does it launch CUDA graphs?
function collected.has_graphs(trace)
  local all = errors.check(trace:frame "kernels")
  return #all:where { { "graph_node", "~=", false } } > 0
end


-- Launches of graphs as one each, where there are graphs.
local function add_graphs(lines, trace, found, count)
  if not collected.has_graphs(trace) then return end
  for _, stage in ipairs(marked_stages(found)) do
    lines[#lines + 1] = plan.line("graph", ("*|%s|0-%d"):format(stage, count - 1))
  end
end


-- GPU time that a measured launch of it stands for.
local function worth(kernel, count)
  return kernel.total_ns / (count * math.max(1, #shapes_of(kernel)))
end


-- Lines of the plan for the launches that matter in a spool, the most valuable first.
function collected.launch_lines(ctx, path)
  local trace = trace_file.open(path)
  local found = stages.find(trace, ctx.recipe.stages, ctx.cfg.repeats.skip_first)
  local list = kernels.list(trace, found, ctx.recipe.categories)
  breakdown.categorize(list, ctx.recipe.categories)
  local chosen, count = {}, ctx.cfg.top_n.launches_per_kernel
  for _, kernel in ipairs(selection.make(ctx, list, found).chosen) do
    if kernel.mangled_name and #kernel.shapes > 0 then chosen[#chosen + 1] = kernel end
  end
  table.sort(chosen, function(a, b)
    local left, right = worth(a, count), worth(b, count)
    if left ~= right then return left > right end
    return a.id < b.id
  end)
  local lines = {}
  for _, kernel in ipairs(chosen) do add_launches(lines, kernel, found, count) end
  add_graphs(lines, trace, found, count)
  trace:close()
  return table.concat(lines)
end


-- ---- their values ----

-- What a metric is in, by its name, as ncu prints it without scaling.
local units = {
  { "%.pct", "%" }, { "__time_duration", "ns" },
  { "bytes.*%.per_second", "byte/s" }, { "bytes.*%.peak_sustained$", "byte/cycle" },
  { "bytes", "byte" }, { "cycles.*%.per_second", "hz" }, { "cycles", "cycle" },
  { "inst", "inst" }, { "warps", "warp" },
}

local function unit_of(name, said)
  if said then return said end
  for _, entry in ipairs(units) do
    if name:find(entry[1]) then return entry[2] end
  end
  return ""
end


local function quoted(value)
  return '"' .. tostring(value):gsub('"', '""') .. '"'
end


local function number(value)
  if not value then return "" end
  local whole = math.tointeger(value)
  return whole and ("%d"):format(whole) or ("%.6f"):format(value)
end


-- Open ranges as ncu has them in one cell: the thread, then an item each. The launch of a
-- graph is the innermost of them.
local function stack_cell(tid, ranges, graph)
  local items = {}
  if graph then ranges = ("%s/CUDA graph %d"):format(ranges or "", graph) end
  for name in (ranges or ""):gmatch "[^/]+" do
    items[#items + 1] = ('"<default domain>:%s:none:none:none:none:none:none"'):format(name)
  end
  return ("%d  %s"):format(tid, table.concat(items, "  "))
end


-- Names of the timeline by those that the linker has.
local function names_of(trace)
  local names = {}
  local frame = errors.check(trace:frame "kernels")
  for _, group in ipairs(frame:group { by = { "mangled_name", "name" } }) do
    if group.mangled_name then names[group.mangled_name] = group.name end
  end
  return names
end


-- Columns of a frame as lists, by name.
local function lists_of(frame)
  local lists = {}
  for _, column in ipairs(frame:columns()) do lists[column.name] = frame:values(column.name) end
  return lists
end


local function line_of(cells)
  for i, cell in ipairs(cells) do cells[i] = quoted(cell) end
  return table.concat(cells, ",") .. "\n"
end


local function size_cell(lists, what, i)
  return ("(%d, %d, %d)"):format(lists[what .. "_x"][i], lists[what .. "_y"][i],
    lists[what .. "_z"][i])
end


-- ncu's name of what is all of a range, which has neither stream nor size.
local WHOLE_RANGE = "range"

local function launch_line(lists, i, metrics, names)
  local mangled, graph = lists.kernel[i] or "", lists.graph[i]
  local cells = { i - 1, lists.pid[i] or "", "", "", stack_cell(lists.tid[i] or 0,
      lists.ranges[i] or lists.stage[i], graph), "",
    graph and WHOLE_RANGE or names[mangled] or mangled, lists.context[i] or "",
    not graph and lists.stream[i] or "", graph and "" or size_cell(lists, "block", i),
    graph and "" or size_cell(lists, "grid", i), lists.device[i] or "", "" }
  for _, metric in ipairs(metrics) do cells[#cells + 1] = number(lists[metric.name][i]) end
  return line_of(cells)
end


local function head_lines(metrics)
  local head, unit_row = table.move(row.COLUMNS, 1, #row.COLUMNS, 1, {}), {}
  for i = 1, #head do unit_row[i] = "" end
  for _, metric in ipairs(metrics) do
    head[#head + 1] = metric.name
    unit_row[#unit_row + 1] = metric.unit
  end
  return line_of(head) .. line_of(unit_row)
end


-- Samples have metrics of their own, of which launches know nothing.
local function has_values(column)
  for _, value in ipairs(column) do
    if value then return true end
  end
  return false
end


-- Metrics of a spool that are no column of every launch.
local function metrics_of(opened, columns)
  local list, frame = {}, errors.check(opened:frame "metrics")
  local names, said = frame:values "name", frame:values "unit"
  for i, name in ipairs(names) do
    if name and columns[name] and has_values(columns[name]) then
      list[#list + 1] = { name = name, unit = unit_of(name, said[i] or nil) }
    end
  end
  return list
end


-- Was a launch measured in the repeat without CUDA graphs?
local function is_eager(ranges)
  for name in (ranges or ""):gmatch "[^/]+" do
    if name == collected.EAGER then return true end
  end
  return false
end


-- ncu's raw page of a spool as text; of launches how many were measured, how many were
-- wanted, and how many of the first came in the repeat without CUDA graphs. trace: the
-- timeline of the same run.
function collected.page(path, trace)
  local opened = errors.check(spool.open(path))
  local frame = errors.check(opened:frame "counters")
  local lists, names = lists_of(frame), names_of(trace)
  local metrics = metrics_of(opened, lists)
  local lines, measured, eager = { head_lines(metrics) }, 0, 0
  for i = 1, #frame do
    if lists.error[i] == 0 then
      lines[#lines + 1], measured = launch_line(lists, i, metrics, names), measured + 1
      if is_eager(lists.ranges[i]) then eager = eager + 1 end
    end
  end
  return table.concat(lines), measured, #frame, eager
end


-- Why nothing was left to measure, by what begins a unit.
local function why_none_left(run)
  if plan.value(fs.read(run:path(layout.collector.plan)) or "", "unit.by") == "process" then
    return "the process is one unit, for the timeline: no profiling window and no range of the "
      .. "first stage divides it"
  end
  return "no unit of the workload was left for counters; more repeats make one"
end


-- What the collector said that explains why there are none.
local function reason(run, path, trace)
  for _, said in ipairs(errors.check(trace:diagnostics())) do
    if said.severity == "problem" then return said.text end
  end
  local opened = errors.check(spool.open(path))
  local counted = errors.check(opened:frame "units"):where { type = "counters" }
  return #counted > 0 and "none of the launches that were selected came again"
    or why_none_left(run)
end


-- What the units of the first process that has some were for, in order.
function collected.unit_types(path)
  local opened = errors.check(spool.open(path))
  local lists, types = lists_of(errors.check(opened:frame "units")), {}
  for i, type in ipairs(lists.type) do
    if lists.pid[i] == lists.pid[1] then types[#types + 1] = type end
  end
  return types
end


-- Puts the counters of the run's spool into it: true, or false and why not.
function collected.keep(ctx)
  local path = ctx.run:path(layout.collector.spool)
  local trace = trace_file.open(path)
  local page, measured, wanted, eager = collected.page(path, trace)
  if measured == 0 then
    return false, wanted > 0 and ("none of %d launches could be measured"):format(wanted)
      or reason(ctx.run, path, trace)
  end
  ctx.run:write(layout.counters, page)
  if measured < wanted then
    ctx.note(("%d of %d launches were measured by the collector"):format(measured, wanted))
  end
  if eager > 0 then
    ctx.note(("%d of %d launches were measured in a repeat without CUDA graphs"):format(eager,
      measured))
  end
  return true
end


return collected
