-- NVIDIA's summary reports over a trace: the same names, columns and figures
-- as `nsys stats` prints for the same export.
--
-- Every report is declared once: its columns, and a function from the trace to
-- rows. Sources of the definitions: the report's own text in `nsys stats
-- --help-reports`; statistics are those of llmprof's frames (sample standard
-- deviation, median of an even count between the middle two).
local errors = require "llmprof.process.errors"
local frames = require "llmprof.frame"
local lists = require "llmprof.tables.lists"
local nearest = require "llmprof.tables.keys"

local stats = {}

local MB = 1e-6


local check = errors.check


-- ---- columns ----

local function ns(key, title) return { key = key, title = title .. " (ns)", type = "integer" } end
local function ns1(key, title) return { key = key, title = title .. " (ns)", digits = 1 } end
local function mb(key, title)
  return { key = key, title = title .. " (MB)", digits = 3, scale = MB, exact = true }
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
  return ns1(key .. "_mean", letter .. "Avg"), ns1(key .. "_median", letter .. "Med"),
    ns(key .. "_min", letter .. "Min"), ns(key .. "_max", letter .. "Max"),
    ns1(key .. "_stddev", letter .. "StdDev")
end


-- ---- rows ----

local function frame(trace, name) return check(trace:frame(name)) end


-- Statistics of one column of a group, by name with a prefix.
local function statistics_of(prefix, column)
  return { prefix .. "total", "sum", column }, { prefix .. "count", "count", column },
    { prefix .. "mean", "mean", column }, { prefix .. "median", "median", column },
    { prefix .. "min", "min", column }, { prefix .. "max", "max", column },
    { prefix .. "deviation", "std", column }
end


-- Add the standard deviation: that of one value is 0, as NVIDIA has it; always: of none, too.
local function add_deviation(groups, prefix, always)
  local steps = { { prefix .. "deviation" }, 0, "or" }
  if not always then
    table.move({ { prefix .. "count" }, 0, "above", "where" }, 1, 4, #steps + 1, steps)
  end
  check(groups:compute { name = prefix .. "stddev", steps = steps })
end


-- Groups by these columns as a frame, with statistics of others, { column, prefix, always },
-- and more columns, as group takes them.
local function grouped(rows, by, sums, more)
  local columns = lists.joined(more or {}, lists.flat(sums, function(sum)
    return { statistics_of(sum[2], sum[1]) }
  end))
  local groups = check(rows:group { by = by, columns = columns })
  for _, sum in ipairs(sums) do add_deviation(groups, sum[2], sum.always) end
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


-- The groups and keys to sort them by: columns, a - before those that descend, a ? before
-- those whose absent cells come first; elsewhere these come last.
local function order(groups, ...)
  local keys = {}
  for _, key in ipairs { ... } do
    local sign, name = key:match "^([-?]?)(.*)$"
    if sign == "?" and #groups:where { [name] = false } > 0 then
      keys[#keys + 1] = { "no " .. name, false }
      check(groups:compute { name = "no " .. name, steps = { 1, { name }, "unless" } })
    end
    keys[#keys + 1] = { name, sign == "-" }
  end
  return groups, keys
end


-- Total descending, then fewer calls, then by name.
local function by_total(groups, name) return order(groups, "-total", "count", "?" .. name) end


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


local function kernel_name_column(options) return options.base and "short_name" or "name" end


local styles = { [0] = "PushPop", "StartEnd" }

local function with_style(groups)
  return with_text(groups, { "style" }, "style_name", function(get) return styles[get "style"] end)
end


local function tag_column(options) return options.names == "2023" and "tag" or "colon_tag" end


-- ---- the reports ----

local reports = {}

reports.cuda_gpu_kern_sum = {
  title = "CUDA GPU Kernel Summary",
  old = "gpukernsum",
  base = true,
  needs = { "kernels" },
  columns = with(time_columns "Instances", text("label", "Name")),
  rows = function(trace, options)
    local name = kernel_name_column(options)
    local groups = with_share(grouped(frame(trace, "kernels"), { name }, { { "duration", "" } }))
    return by_total(groups:alias(name, "label"), "label")
  end,
}

reports.cuda_gpu_kern_gb_sum = {
  title = "CUDA GPU Kernel/Grid/Block Summary",
  old = "gpukerngbsum",
  base = true,
  needs = { "kernels" },
  columns = with(time_columns "Instances", text("grid", "GridXYZ"), text("block", "BlockXYZ"),
    text("label", "Name")),
  rows = function(trace, options)
    local name = kernel_name_column(options)
    local groups = with_share(grouped(frame(trace, "kernels"),
      { name, "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z" },
      { { "duration", "" } }))
    with_size(with_size(groups, "grid"), "block")
    return order(groups:alias(name, "label"), "-total", "count", "?label", "grid_x", "grid_y",
      "grid_z", "block_x", "block_y", "block_z")
  end,
}

reports.cuda_gpu_mem_time_sum = {
  title = "CUDA GPU MemOps Summary (by Time)",
  old = "gpumemtimesum",
  needs = { { "copies", "sets" } },
  columns = with(time_columns "Count", text("name", "Operation")),
  rows = function(trace)
    return by_total(with_share(grouped(frame(trace, "transfers"), { "name" },
      { { "duration", "" } })), "name")
  end,
}

reports.cuda_gpu_mem_size_sum = {
  title = "CUDA GPU MemOps Summary (by Size)",
  old = "gpumemsizesum",
  needs = { { "copies", "sets" } },
  columns = { mb("total", "Total"), int("count", "Count"), mb("mean", "Avg"), mb("median", "Med"),
    mb("min", "Min"), mb("max", "Max"), mb("stddev", "StdDev"), text("name", "Operation") },
  rows = function(trace)
    return by_total(grouped(frame(trace, "transfers"), { "name" }, { { "bytes", "" } }), "name")
  end,
}

reports.cuda_api_sum = {
  title = "CUDA API Summary",
  old = "cudaapisum",
  needs = { "api" },
  columns = with(time_columns "Num Calls", text("label", "Name")),
  rows = function(trace)
    local groups = with_share(grouped(frame(trace, "api"), { "name" }, { { "duration", "" } }))
    return by_total(with_api_name(groups, "name", "label"), "label")
  end,
}

reports.cuda_kern_exec_sum = {
  title = "CUDA Kernel Launch & Exec Time Summary",
  old = "kernexecsum",
  base = true,
  needs = { "kernels", "api" },
  columns = with({ id("launch_pid", "PID"), id("launch_tid", "TID"), id("device", "DevId"),
    int("count", "Count"), int("queue_count", "QCount"), five("T", "total") },
    five("A", "api")),
  rows = function(trace, options)
    local name = kernel_name_column(options)
    local by = { "launch_pid", "launch_tid", "device", "api", name }
    local all = grouped(frame(trace, "kernels"), by, {
      { "launch_time", "total_" }, { "api_time", "api_" },
      { "queue_time", "queue_", always = true }, { "duration", "kernel_" } },
      { { "count", "count" } })
    local groups = check(all:where { { "launch_tid", "~=", false } })
    check(groups:compute { name = "rounded", type = "integer",
      steps = { { "total_mean" }, 10, "*" } })
    return order(with_api_name(groups, "api", "api_label"):alias(name, "label"), "-rounded",
      "?label")
  end,
}
with(reports.cuda_kern_exec_sum.columns, five("Q", "queue"))
with(reports.cuda_kern_exec_sum.columns, five("K", "kernel"))
with(reports.cuda_kern_exec_sum.columns, text("api_label", "API Name"),
  text("label", "Kernel Name"))

reports.nvtx_sum = {
  title = "NVTX Range Summary",
  old = "nvtxsum",
  needs = { "ranges" },
  columns = with(time_columns "Instances", text("style_name", "Style"), text("label", "Range")),
  rows = function(trace, options)
    local tag = tag_column(options)
    local groups = with_share(grouped(frame(trace, "ranges"), { tag, "style" },
      { { "duration", "" } }))
    return by_total(with_style(groups):alias(tag, "label"), "label")
  end,
}

reports.nvtx_gpu_proj_sum = {
  title = "NVTX GPU Projection Summary",
  old = "nvtxgpuproj",
  needs = { "ranges", "api", { "kernels", "copies", "sets" } },
  columns = { text("label", "Range"), text("style_name", "Style"), ns("total", "Total Proj Time"),
    ns("range_total", "Total Range Time"), int("count", "Range Instances"),
    ns1("mean", "Proj Avg"), ns1("median", "Proj Med"), ns("min", "Proj Min"),
    ns("max", "Proj Max"), ns1("stddev", "Proj StdDev"), int("operations_total", "Total GPU Ops"),
    num1("operations_mean", "Avg GPU Ops"), num1("level_mean", "Avg Range Lvl"),
    num1("children_mean", "Avg Num Child") },
  rows = function(trace, options)
    local tag = tag_column(options)
    local named = frame(trace, "projections"):where { { tag, "~=", false } }
    local groups = grouped(named, { tag, "style" }, { { "duration", "" },
      { "range_duration", "range_" }, { "operations", "operations_" }, { "level", "level_" },
      { "children", "children_" } })
    return by_total(with_style(groups):alias(tag, "label"), "label")
  end,
}

reports.nvtx_kern_sum = {
  title = "NVTX Range Kernel Summary",
  old = "nvtxkernsum",
  needs = { "ranges", "kernels", "api" },
  columns = { text("range_label", "NVTX Range"), text("style_name", "Style"), id("pid", "PID"),
    id("tid", "TID"), int("ranges", "NVTX Inst"), int("kernels", "Kern Inst"),
    ns("total", "Total Time"), ns1("mean", "Avg"), ns1("median", "Med"), ns("min", "Min"),
    ns("max", "Max"), ns1("stddev", "StdDev"), text("name", "Kernel Name") },
  rows = function(trace, options)
    local tag = tag_column(options)
    local groups = grouped(frame(trace, "kernel_ranges"), { "pid", "tid", tag, "style", "name" },
      { { "duration", "" } },
      { { "ranges", "distinct", "range" }, { "kernels", "distinct", "kernel" } })
    return order(with_style(groups):alias(tag, "range_label"), "?range_label", "?pid", "?tid",
      "-total", "count", "?name")
  end,
}


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
  if argument ~= "" and not (argument == "base" and report.base) then
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


local function rows_of(trace, report, result, options)
  result.reason = lacking(trace, report.needs)
  if result.reason then
    return frames.new(0, lists.map(report.columns, function(column)
      return { name = column.key, values = {}, type = column.type == "text" and "string"
        or column.digits and "number" or "integer" }
    end))
  end
  local groups, order_keys = report.rows(trace, options)
  local sorted = check(groups:sort(order_keys))
  if #sorted == 0 then result.reason = "the tables are there but hold no such event" end
  return sorted
end


-- One report: { name, title, columns, rows, reason }. rows is a frame, with a column for
-- each key of the columns; it is empty, and reason says why, when the trace has nothing for
-- it. options: names ("2023"
-- or "2025": how ranges of the default domain are written), limit (rows).
function stats.report(trace, wanted, options)
  local name, report, base = stats.find(wanted)
  local result = { name = name, title = report.title, columns = report.columns }
  if base then result.name = name .. "_base" end
  result.rows = rows_of(trace, report, result, { names = options.names or "2025", base = base })
  if options.limit then result.rows = check(result.rows:slice(1, options.limit)) end
  return result
end


return stats
