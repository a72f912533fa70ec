-- NVIDIA's summary reports over a trace: the same names, columns and figures
-- as `nsys stats` prints for the same export.
--
-- Every report is declared once. Sources of the definitions: the report's own text in
-- `nsys stats --help-reports`; statistics are those of llmprof's frames (sample standard
-- deviation, median of an even count between the middle two).
local errors = require "llmprof.process.errors"
local frames = require "llmprof.frame"
local lists = require "llmprof.tables.lists"
local nearest = require "llmprof.tables.keys"

local stats = {}

local check = errors.check


-- ---- columns ----

local function ns(key, title) return { key = key, title = title .. " (ns)", type = "integer" } end
local function ns1(key, title) return { key = key, title = title .. " (ns)", digits = 1 } end
local function mb(key, title)
  return { key = key, title = title .. " (MB)", digits = 3, scale = 1e-6, exact = true }
end
local function int(key, title) return { key = key, title = title, type = "integer" } end
local function id(key, title) return { key = key, title = title, type = "id" } end
local function num1(key, title) return { key = key, title = title, digits = 1 } end
local function text(key, title) return { key = key, title = title, type = "text" } end


-- Time (%), Total Time .. StdDev, as most reports start.
local function time_columns(instances)
  return { num1("share", "Time (%)"), ns("total", "Total Time"), int("count", instances),
    ns1("mean", "Avg"), ns1("median", "Med"), ns("min", "Min"), ns("max", "Max"),
    ns1("stddev", "StdDev") }
end


local function with(columns, ...) return lists.add(columns, { ... }) end


-- Mean .. standard deviation of one of cuda_kern_exec_sum's four times.
local function five(letter, key)
  return { ns1(key .. "_mean", letter .. "Avg"), ns1(key .. "_median", letter .. "Med"),
    ns(key .. "_min", letter .. "Min"), ns(key .. "_max", letter .. "Max"),
    ns1(key .. "_stddev", letter .. "StdDev") }
end


-- ---- rows ----

-- By the end of a statistic's name, what frames call it.
local STATISTICS = { total = "sum", count = "count", mean = "mean", median = "median", min = "min",
  max = "max", deviation = "std" }

-- Groups by these columns as a frame, with statistics of others, { column, prefix of their names,
-- always }, and more columns, as group takes them. The standard deviation of one value is 0, as
-- NVIDIA has it; always: of none, too.
local function grouped(rows, by, sums, more)
  local columns = lists.first(more or {})
  for _, sum in ipairs(sums) do
    for name, of in pairs(STATISTICS) do columns[#columns + 1] = { sum[2] .. name, of, sum[1] } end
  end
  local groups = check(rows:group { by = by, columns = columns })
  for _, sum in ipairs(sums) do
    local steps = { { sum[2] .. "deviation" }, 0, "or" }
    if not sum.always then lists.add(steps, { { sum[2] .. "count" }, 0, "above", "where" }) end
    check(groups:compute { name = sum[2] .. "stddev", steps = steps })
  end
  return groups
end


-- Add the share of the whole; no total where the export has none of the times.
local function with_share(groups)
  local whole = groups:weigh({ "total" })[1]
  local steps = whole > 0 and { { "total" }, 100, "*", whole, "/" } or { 0, 0, "/" }
  return check(groups:compute { name = "share", steps = steps })
end


-- Add a column of text that says something of others: of(get) gives it, or nil; get(column)
-- is a cell of these. It is asked once for all rows that are equal there.
local function with_text(groups, by, name, of)
  local keys, values = check(groups:group { by = by, columns = {} }), {}
  for i = 1, #keys do values[i] = of(function(column) return keys:get(i, column) end) or false end
  return check(groups:extend(by, #keys, { { name = name, type = "string", values = values } }))
end


-- The groups sorted by these columns, a - before those that descend, a ? before those whose absent
-- cells come first; elsewhere these come last.
local function in_order(groups, columns)
  local keys = {}
  for _, key in ipairs(columns) do
    local sign, name = key:match "^([-?]?)(.*)$"
    if sign == "?" and #groups:where { [name] = false } > 0 then
      keys[#keys + 1] = { "no " .. name, false }
      check(groups:compute { name = "no " .. name, steps = { 1, { name }, "unless" } })
    end
    keys[#keys + 1] = { name, sign == "-" }
  end
  return check(groups:sort(keys))
end


-- "cudaMalloc_v3020" -> "cudaMalloc"; only four-digit versions, as NVIDIA does
local function with_api_name(groups, column, name)
  return with_text(groups, { column }, name, function(get)
    return get(column) and (get(column):gsub("_v....$", ""))
  end)
end


-- Absent when the export does not say.
local function with_size(groups, what)
  local by = { what .. "_x", what .. "_y", what .. "_z" }
  return with_text(groups, by, what, function(get)
    local x, y, z = get(by[1]), get(by[2]), get(by[3])
    return x and y and z and ("%4d %4d %4d"):format(x, y, z)
  end)
end


local styles = { [0] = "PushPop", "StartEnd" }

local function with_style(groups)
  return with_text(groups, { "style" }, "style_name", function(get) return styles[get "style"] end)
end


-- ---- the reports ----

-- Of each: its title, its name before 2023, the tables that it needs (of several in a list one),
-- and its columns; the frame whose rows are grouped, by which columns, and the columns of which
-- there are statistics, as `grouped` takes them (the durations unless given). `label` in these
-- columns is the kernel's name or the range's tag, as the options have it. Groups without `known`
-- are left out, finish(groups) adds what else is shown, `order` is what rows are sorted by.
local reports = {}

-- Total descending, then fewer calls, then by name.
local BY_TOTAL = { "-total", "count", "?label" }

reports.cuda_gpu_kern_sum = {
  title = "CUDA GPU Kernel Summary", old = "gpukernsum",
  needs = { "kernels" },
  columns = with(time_columns "Instances", text("label", "Name")),
  frame = "kernels", label = "name", by = { "label" }, finish = with_share, order = BY_TOTAL,
}

reports.cuda_gpu_kern_gb_sum = {
  title = "CUDA GPU Kernel/Grid/Block Summary", old = "gpukerngbsum",
  needs = { "kernels" },
  columns = with(time_columns "Instances", text("grid", "GridXYZ"), text("block", "BlockXYZ"),
    text("label", "Name")),
  frame = "kernels", label = "name",
  by = { "label", "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z" },
  finish = function(groups) return with_size(with_size(with_share(groups), "grid"), "block") end,
  order = { "-total", "count", "?label", "grid_x", "grid_y", "grid_z", "block_x", "block_y",
    "block_z" },
}

reports.cuda_gpu_mem_time_sum = {
  title = "CUDA GPU MemOps Summary (by Time)", old = "gpumemtimesum",
  needs = { { "copies", "sets" } },
  columns = with(time_columns "Count", text("name", "Operation")),
  frame = "transfers", by = { "name" }, finish = with_share,
  order = { "-total", "count", "?name" },
}

reports.cuda_gpu_mem_size_sum = {
  title = "CUDA GPU MemOps Summary (by Size)", old = "gpumemsizesum",
  needs = { { "copies", "sets" } },
  columns = { mb("total", "Total"), int("count", "Count"), mb("mean", "Avg"), mb("median", "Med"),
    mb("min", "Min"), mb("max", "Max"), mb("stddev", "StdDev"), text("name", "Operation") },
  frame = "transfers", by = { "name" }, sums = { { "bytes", "" } },
  order = { "-total", "count", "?name" },
}

reports.cuda_api_sum = {
  title = "CUDA API Summary", old = "cudaapisum",
  needs = { "api" },
  columns = with(time_columns "Num Calls", text("label", "Name")),
  frame = "api", by = { "name" },
  finish = function(groups) return with_api_name(with_share(groups), "name", "label") end,
  order = BY_TOTAL,
}

reports.cuda_kern_exec_sum = {
  title = "CUDA Kernel Launch & Exec Time Summary", old = "kernexecsum",
  needs = { "kernels", "api" },
  columns = lists.joined({ id("launch_pid", "PID"), id("launch_tid", "TID"),
    id("device", "DevId"), int("count", "Count"), int("queue_count", "QCount") },
    five("T", "total"), five("A", "api"), five("Q", "queue"), five("K", "kernel"),
    { text("api_label", "API Name"), text("label", "Kernel Name") }),
  frame = "kernels", label = "name",
  by = { "launch_pid", "launch_tid", "device", "api", "label" },
  sums = { { "launch_time", "total_" }, { "api_time", "api_" },
    { "queue_time", "queue_", always = true }, { "duration", "kernel_" } },
  more = { { "count", "count" } },
  known = "launch_tid",
  finish = function(groups)
    check(groups:compute { name = "rounded", type = "integer",
      steps = { { "total_mean" }, 10, "*" } })
    return with_api_name(groups, "api", "api_label")
  end,
  order = { "-rounded", "?label" },
}

reports.nvtx_sum = {
  title = "NVTX Range Summary", old = "nvtxsum",
  needs = { "ranges" },
  columns = with(time_columns "Instances", text("style_name", "Style"), text("label", "Range")),
  frame = "ranges", label = "tag", by = { "label", "style" },
  finish = function(groups) return with_style(with_share(groups)) end, order = BY_TOTAL,
}

reports.nvtx_gpu_proj_sum = {
  title = "NVTX GPU Projection Summary", old = "nvtxgpuproj",
  needs = { "ranges", "api", { "kernels", "copies", "sets" } },
  columns = { text("label", "Range"), text("style_name", "Style"), ns("total", "Total Proj Time"),
    ns("range_total", "Total Range Time"), int("count", "Range Instances"),
    ns1("mean", "Proj Avg"), ns1("median", "Proj Med"), ns("min", "Proj Min"),
    ns("max", "Proj Max"), ns1("stddev", "Proj StdDev"), int("operations_total", "Total GPU Ops"),
    num1("operations_mean", "Avg GPU Ops"), num1("level_mean", "Avg Range Lvl"),
    num1("children_mean", "Avg Num Child") },
  frame = "projections", label = "tag", known = "label", by = { "label", "style" },
  sums = { { "duration", "" }, { "range_duration", "range_" }, { "operations", "operations_" },
    { "level", "level_" }, { "children", "children_" } },
  finish = with_style, order = BY_TOTAL,
}

reports.nvtx_kern_sum = {
  title = "NVTX Range Kernel Summary", old = "nvtxkernsum",
  needs = { "ranges", "kernels", "api" },
  columns = { text("label", "NVTX Range"), text("style_name", "Style"), id("pid", "PID"),
    id("tid", "TID"), int("ranges", "NVTX Inst"), int("kernels", "Kern Inst"),
    ns("total", "Total Time"), ns1("mean", "Avg"), ns1("median", "Med"), ns("min", "Min"),
    ns("max", "Max"), ns1("stddev", "StdDev"), text("name", "Kernel Name") },
  frame = "kernel_ranges", label = "tag", by = { "pid", "tid", "label", "style", "name" },
  more = { { "ranges", "distinct", "range" }, { "kernels", "distinct", "kernel" } },
  finish = with_style, order = { "?label", "?pid", "?tid", "-total", "count", "?name" },
}


-- The rows of a report, in their order.
local function groups_of(trace, report, names, base)
  local label = report.label
  if label == "name" and base then label = "short_name" end
  if label == "tag" and names ~= "2023" then label = "colon_tag" end
  local function named(column) return column == "label" and label or column end
  local groups = grouped(check(trace:frame(report.frame)), lists.map(report.by, named),
    report.sums or { { "duration", "" } }, report.more)
  if report.known then groups = check(groups:where { { named(report.known), "~=", false } }) end
  if report.finish then groups = report.finish(groups) end
  return in_order(label and groups:alias(label, "label") or groups, report.order)
end


-- ---- looking them up ----

-- In the order `nsys stats` lists them.
stats.names = { "cuda_api_sum", "cuda_gpu_kern_gb_sum", "cuda_gpu_kern_sum",
  "cuda_gpu_mem_size_sum", "cuda_gpu_mem_time_sum", "cuda_kern_exec_sum", "nvtx_gpu_proj_sum",
  "nvtx_kern_sum", "nvtx_sum" }

-- What is printed when no report is asked for.
stats.default = { "nvtx_sum", "nvtx_gpu_proj_sum", "cuda_api_sum", "cuda_gpu_kern_sum",
  "cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum" }


-- "cuda_gpu_kern_sum:base", or a name from before 2023, to name, report, base.
function stats.find(wanted)
  local name, argument = wanted:match "^([^:]+):?(.*)$"
  for _, known in ipairs(stats.names) do
    if reports[known].old == name then name = known end
  end
  local report = reports[name]
  if not report then
    errors.raise("usage",
      ("no report '%s'%s"):format(wanted, nearest.suggestion(wanted, stats.names)),
      { hint = "llmprof stats --help lists the reports" })
  end
  if argument ~= "" and not (argument == "base" and report.label == "name") then
    errors.raise("usage", ("report '%s' has no argument '%s'"):format(name, argument))
  end
  return name, report, argument == "base"
end


local described = {
  kernels = "CUDA kernels", copies = "memory copies", sets = "memory sets",
  api = "CUDA API calls", ranges = "NVTX ranges",
}


-- Why the trace cannot fill a report, or nil. A list means any of them.
local function lacking(trace, needs)
  for _, need in ipairs(needs) do
    local any, names = false, type(need) == "table" and need or { need }
    for _, name in ipairs(names) do
      local has, message = trace:has(name)
      if has == nil then check(has, message) end
      any = any or has
    end
    if not any then
      local texts = lists.map(names, function(name) return described[name] end)
      return "the export has no " .. table.concat(texts, ", no ")
    end
  end
  return nil
end


-- One report: { name, title, columns, rows, reason }. rows is a frame, with a column for
-- each key of the columns; it is empty, and reason says why, when the trace has nothing for
-- it. options: names ("2023" or "2025": how ranges of the default domain are written), limit
-- (rows).
function stats.report(trace, wanted, options)
  local name, report, base = stats.find(wanted)
  local reason = lacking(trace, report.needs)
  local rows
  if reason then
    rows = frames.new(0, lists.map(report.columns, function(column)
      return { name = column.key, values = {}, type = column.type == "text" and "string"
        or column.digits and "number" or "integer" }
    end))
  else
    rows = groups_of(trace, report, options.names, base)
    reason = #rows == 0 and "the tables are there but hold no such event" or nil
  end
  if options.limit then rows = check(rows:slice(1, options.limit)) end
  return { name = base and name .. "_base" or name, title = report.title,
    columns = report.columns, rows = rows, reason = reason }
end


return stats
