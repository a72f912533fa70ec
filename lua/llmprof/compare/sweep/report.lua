-- What a sweep found: rows over its combinations, as tables, as bars in the
-- terminal and as charts in sweep.md.
local fitted = require "llmprof.tables.fit"
local columns = require "llmprof.report.columns"
local curve = require "llmprof.compare.sweep.curve"
local first_times = require "llmprof.analysis.latency.first_times"
local json = require "llmprof.json"
local markdown = require "llmprof.markdown"
local metrics = require "llmprof.compare.metrics"
local side = require "llmprof.compare.side"
local tables = require "llmprof.tables"
local text = require "llmprof.text"

local report = {}

local BAR_WIDTH = 40


-- ---- rows ----

local function value_of(path, opened)
  return metrics.value(metrics.parse(path), opened)
end


local function mfu_of(record)
  local mfu = record.efficiency and record.efficiency.mfu
  return mfu and mfu.value
end


local function run_row(entry, opened)
  local row = { label = entry.label, short = entry.short, status = entry.status, run = entry.id,
    message = entry.message }
  if not opened then return row end
  for _, key in ipairs { "ttft", "tpot", "tokens_per_s" } do
    local value, basis = value_of(key, opened)
    row[key], row.basis = value, row.basis or basis
  end
  row.mfu = mfu_of(opened.results)
  row.load = curve.point(opened.results)
  return row
end


local function stage_rows(entry, opened)
  local rows = {}
  for _, stage in ipairs(opened.results.stages) do
    local ms, basis = value_of(stage.name .. ".ms", opened)
    local _, idle = first_times.idle(opened.results, stage)
    rows[#rows + 1] = { label = entry.label, short = entry.short, stage = stage.name,
      parent = stage.parent, ms = ms, basis = basis, gpu_busy_ns = stage.gpu_busy_ns,
      idle_share = idle, kernels = stage.kernels, launches = stage.launches,
      mfu = mfu_of(stage) }
  end
  return rows
end


-- entries: { label, short, id, folder, status ("done", "kept", "failed"), message }. The
-- figures are read from the runs that are done. Returns { runs, stages, loads }, rows.
function report.rows(entries)
  local made = { runs = {}, stages = {}, loads = {} }
  for i, entry in ipairs(entries) do
    local opened = entry.status ~= "failed" and side.open(entry.folder, entry.folder) or nil
    made.runs[i] = run_row(entry, opened)
    local rows = opened and stage_rows(entry, opened) or {}
    table.move(rows, 1, #rows, #made.stages + 1, made.stages)
  end
  made.loads = curve.rows(made.runs)
  return made
end


-- ---- trends ----

local function add_trend(list, title, unit, points)
  if #points > 1 then list[#list + 1] = { title = title, unit = unit, points = points } end
end


local function points_of(rows, key, wanted)
  local points = {}
  for _, row in ipairs(rows) do
    if row[key] and (not wanted or row.stage == wanted) then
      points[#points + 1] = { label = row.short, value = row[key] }
    end
  end
  return points
end


-- Series over the combinations: { title, unit, points = { { label, value } } };
-- those with two points or more.
function report.trends(made)
  local list, seen = {}, {}
  for _, row in ipairs(made.stages) do
    if not seen[row.stage] and not row.parent then
      seen[row.stage] = true
      add_trend(list, row.stage, "ms", points_of(made.stages, "ms", row.stage))
    end
  end
  add_trend(list, "TPOT", "ms", points_of(made.runs, "tpot"))
  add_trend(list, "throughput", "tokens/s", points_of(made.runs, "tokens_per_s"))
  return list
end


local function number(value)
  return text.number(value, 2, ",")
end


local function bar_lines(trend)
  local most, wide, lines = 0, 0, {}
  for _, point in ipairs(trend.points) do
    most, wide = math.max(most, point.value), math.max(wide, text.width(point.label))
  end
  for i, point in ipairs(trend.points) do
    local bar = most > 0 and fitted.bar(point.value / most, BAR_WIDTH) or ""
    lines[i] = ("  %s  %s %s"):format(text.pad(text.clean(point.label), wide, "left"), bar,
      number(point.value))
  end
  return table.concat(lines, "\n")
end


-- ---- as text ----

-- Stages that lie in no other.
local function outermost(rows)
  local list = {}
  for _, row in ipairs(rows) do
    if not row.parent then list[#list + 1] = row end
  end
  return list
end


-- All of them, those inside another marked.
local function nested(rows)
  local list = {}
  for i, row in ipairs(rows) do
    list[i] = setmetatable({ stage = (row.parent and "· " or "") .. row.stage }, { __index = row })
  end
  return list
end


-- Tables and bars for the terminal, of that width or nil.
function report.text(made, width)
  local pieces = { tables.render("table", columns.sweep_runs, made.runs, { columns = width }) }
  local stages = outermost(made.stages)
  if #stages > 0 then
    pieces[#pieces + 1] = tables.render("table", columns.sweep_stages, stages, { columns = width })
  end
  if made.loads and #made.loads > 0 then
    pieces[#pieces + 1] = tables.render("table", columns.sweep_loads, made.loads,
      { columns = width })
    pieces[#pieces + 1] = curve.sentence(made.loads) .. "\n"
  end
  for _, trend in ipairs(report.trends(made)) do
    pieces[#pieces + 1] = ("%s, %s\n%s\n"):format(text.clean(trend.title), trend.unit,
      bar_lines(trend))
  end
  return table.concat(pieces, "\n")
end


-- A label inside a Mermaid chart: in double quotes, which it cannot escape.
local function quoted(label)
  return '"' .. text.clean(label):gsub('"', "'") .. '"'
end


local function chart(trend)
  local labels, values = {}, {}
  for i, point in ipairs(trend.points) do
    labels[i], values[i] = quoted(point.label), ("%.6g"):format(point.value)
  end
  return ("```mermaid\nxychart-beta\n  title %s\n  x-axis [%s]\n  y-axis %s\n  bar [%s]\n```\n")
    :format(quoted(trend.title), table.concat(labels, ", "), quoted(trend.unit),
      table.concat(values, ", "))
end


-- sweep.md. command: as people would type it.
function report.markdown(made, name, command)
  local pieces = { ("# Sweep of %s\n"):format(markdown.escape(name)),
    ("    %s\n"):format(command), tables.render("md", columns.sweep_runs, made.runs) }
  if #made.stages > 0 then
    pieces[#pieces + 1] = "## Stages\n"
    pieces[#pieces + 1] = tables.render("md", columns.sweep_stages, nested(made.stages))
  end
  if made.loads and #made.loads > 0 then
    pieces[#pieces + 1] = "## Load and Latency\n"
    pieces[#pieces + 1] = curve.sentence(made.loads) .. "\n"
    pieces[#pieces + 1] = tables.render("md", columns.sweep_loads, made.loads)
    pieces[#pieces + 1] = curve.chart(made.loads)
  end
  local trends = report.trends(made)
  if #trends > 0 then pieces[#pieces + 1] = "## Trends\n" end
  for _, trend in ipairs(trends) do pieces[#pieces + 1] = chart(trend) end
  return table.concat(pieces, "\n")
end


-- sweep.json: the same rows, unrounded.
function report.json(made)
  local object = { schema_version = 1 }
  for _, name in ipairs { "runs", "stages", "loads" } do
    object[name] = json.list(made[name] or {})
  end
  return assert(json.encode(json.ordered(object, { "schema_version", "runs", "stages", "loads" }),
    { pretty = true })) .. "\n"
end


return report
