-- NVIDIA's summary reports over a trace: the same names, columns and figures
-- as `nsys stats` prints for the same export.
--
-- Every report is declared once: its columns, and a function from the trace to
-- rows. Sources of the definitions: the report's own text in `nsys stats
-- --help-reports`; statistics are those of llmprof's frames (sample standard
-- deviation, median of an even count between the middle two).
local errors = require "llmprof.base.errors"
local nearest = require "llmprof.base.nearest"
local packed_rows = require "llmprof.base.packed_rows"

local stats = {}

local MB = 1e-6


local function check(value, message, code)
  return errors.check("failed", value, message, code)
end


local function round1(value)
  return value and math.floor(value * 10 + 0.5) / 10
end


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


local function with(columns, ...)
  for _, column in ipairs { ... } do columns[#columns + 1] = column end
  return columns
end


-- Mean .. standard deviation of one of cuda_kern_exec_sum's four times.
local function five(letter, key)
  return ns1(key .. "_mean", letter .. "Avg"), ns1(key .. "_median", letter .. "Med"),
    ns(key .. "_min", letter .. "Min"), ns(key .. "_max", letter .. "Max"),
    ns1(key .. "_stddev", letter .. "StdDev")
end


-- ---- rows ----

local function frame(trace, name)
  return check(trace:frame(name))
end


local fields = { "total", "count", "mean", "median", "min", "max", "stddev" }

local prefixed = {} -- prefix -> field -> the two as one

local function names_of(prefix)
  local names = prefixed[prefix] or {}
  if not prefixed[prefix] then
    for _, field in ipairs(fields) do names[field] = prefix .. field end
    prefixed[prefix] = names
  end
  return names
end


-- Move a group's statistics of one column into its row, with a prefix.
local function spread(row, column, prefix)
  local summary = row[column]
  row[column] = nil
  for field, name in next, names_of(prefix) do row[name] = summary[field] end
end


-- Groups as rows with their share of the whole; no total where the export has
-- none of the times.
local function summed(groups, column)
  local whole = 0
  for _, row in ipairs(groups) do
    spread(row, column, "")
    whole = whole + (row.total or 0)
  end
  for _, row in ipairs(groups) do
    if whole > 0 and row.total then row.share = row.total * 100.0 / whole end
  end
  return groups
end


local function text_less(a, b)
  if a == b then return false end
  if a == nil or b == nil then return a == nil end
  return a < b
end


-- Largest first; what is not known comes last.
local function descending(a, b)
  if a == nil or b == nil then return b == nil and a ~= nil end
  return a > b
end


-- Total descending, then fewer calls, then by name.
local function by_total(a, b)
  if a.total ~= b.total then return descending(a.total, b.total) end
  if a.count ~= b.count then return a.count < b.count end
  return text_less(a.label or a.name, b.label or b.name)
end


local function sorted(rows, less)
  table.sort(rows, less)
  return rows
end


-- "cudaMalloc_v3020" -> "cudaMalloc"; only four-digit versions, as NVIDIA does
local function strip_version(name)
  return name and (name:gsub("_v....$", ""))
end


-- Absent when the export does not say.
local function xyz(row, what)
  if not (row[what .. "_x"] and row[what .. "_y"] and row[what .. "_z"]) then return nil end
  return ("%4d %4d %4d"):format(row[what .. "_x"], row[what .. "_y"], row[what .. "_z"])
end


local function kernel_name_column(options)
  return options.base and "short_name" or "name"
end


local styles = { [0] = "PushPop", "StartEnd" }

local function tag_column(options)
  return options.names == "2023" and "tag" or "colon_tag"
end


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
    local groups = frame(trace, "kernels"):group { by = { name }, sum = { "duration" } }
    for _, row in ipairs(groups) do row.label = row[name] end
    return sorted(summed(groups, "duration"), by_total)
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
    local groups = frame(trace, "kernels"):group {
      by = { name, "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z" },
      sum = { "duration" },
    }
    for _, row in ipairs(groups) do
      row.label, row.grid, row.block = row[name], xyz(row, "grid"), xyz(row, "block")
    end
    return sorted(summed(groups, "duration"), by_total)
  end,
}

reports.cuda_gpu_mem_time_sum = {
  title = "CUDA GPU MemOps Summary (by Time)",
  old = "gpumemtimesum",
  needs = { { "copies", "sets" } },
  columns = with(time_columns "Count", text("name", "Operation")),
  rows = function(trace)
    local groups = frame(trace, "transfers"):group { by = { "name" }, sum = { "duration" } }
    return sorted(summed(groups, "duration"), by_total)
  end,
}

reports.cuda_gpu_mem_size_sum = {
  title = "CUDA GPU MemOps Summary (by Size)",
  old = "gpumemsizesum",
  needs = { { "copies", "sets" } },
  columns = { mb("total", "Total"), int("count", "Count"), mb("mean", "Avg"), mb("median", "Med"),
    mb("min", "Min"), mb("max", "Max"), mb("stddev", "StdDev"), text("name", "Operation") },
  rows = function(trace)
    local groups = frame(trace, "transfers"):group { by = { "name" }, sum = { "bytes" } }
    return sorted(summed(groups, "bytes"), by_total)
  end,
}

reports.cuda_api_sum = {
  title = "CUDA API Summary",
  old = "cudaapisum",
  needs = { "api" },
  columns = with(time_columns "Num Calls", text("label", "Name")),
  rows = function(trace)
    local groups = frame(trace, "api"):group { by = { "name" }, sum = { "duration" } }
    for _, row in ipairs(groups) do row.label = strip_version(row.name) end
    return sorted(summed(groups, "duration"), by_total)
  end,
}

reports.cuda_kern_exec_sum = {
  title = "CUDA Kernel Launch & Exec Time Summary",
  old = "kernexecsum",
  base = true,
  needs = { "kernels", "api" },
  columns = with({ id("launch_pid", "PID"), id("launch_tid", "TID"), id("device", "DevId"),
    int("count", "Count"), int("queued", "QCount"), five("T", "total") },
    five("A", "api")),
  rows = function(trace, options)
    local name = kernel_name_column(options)
    local launched = frame(trace, "kernels"):where { { "call", "~=", false } }
    local groups = launched:group {
      by = { "launch_pid", "launch_tid", "device", "api", name },
      sum = { "launch_time", "api_time", "queue_time", "duration" },
    }
    for _, row in ipairs(groups) do
      spread(row, "launch_time", "total_")
      spread(row, "api_time", "api_")
      spread(row, "queue_time", "queue_")
      spread(row, "duration", "kernel_")
      row.queued = row.queue_count
      row.queue_stddev = row.queue_stddev or 0 -- as NVIDIA has it where nothing queued
      row.api_label, row.label = strip_version(row.api), row[name]
      row.rounded = round1(row.total_mean)
    end
    return sorted(groups, function(a, b)
      local left, right = a.rounded, b.rounded
      if left ~= right then return descending(left, right) end
      return text_less(a.label, b.label)
    end)
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
    local groups = frame(trace, "ranges"):group { by = { tag, "style" }, sum = { "duration" } }
    for _, row in ipairs(groups) do row.label, row.style_name = row[tag], styles[row.style] end
    return sorted(summed(groups, "duration"), by_total)
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
    local groups = named:group {
      by = { tag, "style" },
      sum = { "duration", "range_duration", "operations", "level", "children" },
    }
    for _, row in ipairs(groups) do
      spread(row, "duration", "")
      spread(row, "range_duration", "range_")
      spread(row, "operations", "operations_")
      row.level_mean, row.children_mean = row.level.mean, row.children.mean
      row.label, row.style_name = row[tag], styles[row.style]
    end
    return sorted(groups, by_total)
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
    local groups = frame(trace, "kernel_ranges"):group {
      by = { "pid", "tid", tag, "style", "name" },
      sum = { "duration" },
      distinct = { "range", "kernel" },
    }
    for _, row in ipairs(groups) do
      spread(row, "duration", "")
      row.ranges, row.kernels = row.distinct.range, row.distinct.kernel
      row.range_label, row.style_name = row[tag], styles[row.style]
    end
    return sorted(groups, function(a, b)
      if a.range_label ~= b.range_label then return text_less(a.range_label, b.range_label) end
      if a.pid ~= b.pid then return text_less(a.pid, b.pid) end
      if a.tid ~= b.tid then return text_less(a.tid, b.tid) end
      return by_total(a, b)
    end)
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
      local texts = {}
      for _, name in ipairs(names) do texts[#texts + 1] = described[name] end
      return "the export has no " .. table.concat(texts, ", no ")
    end
  end
  return nil
end


-- Longer reports are not noted.
local FEW_ROWS = 10000


local function keys_of(columns)
  local keys = {}
  for i, column in ipairs(columns) do keys[i] = column.key end
  return keys
end


-- The rows of a report, from the trace's notes where it was made before, else noted there.
local function rows_of(trace, report, result, options)
  local key = ("report %s %s"):format(result.name, options.names)
  local keys = keys_of(report.columns)
  local noted = trace:note(key)
  local rows = noted and packed_rows.unpack(noted, keys)
  if rows then return rows end
  result.reason = lacking(trace, report.needs)
  if result.reason then return {} end
  rows = report.rows(trace, options)
  if #rows == 0 then
    result.reason = "the tables are there but hold no such event"
  elseif #rows <= FEW_ROWS then
    trace:note(key, packed_rows.pack(rows, keys)) -- as far as there is room for it
  end
  return rows
end


-- One report: { name, title, columns, rows, reason }. rows is empty, and
-- reason says why, when the trace has nothing for it. options: names ("2023"
-- or "2025": how ranges of the default domain are written), limit (rows).
function stats.report(trace, wanted, options)
  local name, report, base = stats.find(wanted)
  local result = { name = name, title = report.title, columns = report.columns, rows = {} }
  if base then result.name = name .. "_base" end
  local rows = rows_of(trace, report, result, { names = options.names or "2025", base = base })
  local limit = math.min(options.limit or #rows, #rows)
  result.rows = table.move(rows, 1, limit, 1, {})
  return result
end


return stats
