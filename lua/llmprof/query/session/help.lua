-- help(x): what a method, a column or a global is for.
local errors = require "llmprof.base.errors"
local globals = require "llmprof.query.session.globals"
local nearest = require "llmprof.base.nearest"
local query = require "llmprof.query"
local tables = require "llmprof.base.tables"

local help = {}

-- name, how it is called, what it does; in the order they are of use.
local methods = {
  { "where", 'where { stage = "decode", dur = { ">", 1e6 } }',
    "the rows that satisfy all conditions; a value, a list of values, or a comparison: "
      .. "== ~= < <= > >=, ~ and !~ (holds a text or matches a Lua pattern); "
      .. 'also where("dur", ">", 1e6) and, slowly, where(function(row) ... end)' },
  { "group", 'group("stage", "name")', "groups of rows; then count(), sum(c), mean(c), median(c), "
    .. "min(c), max(c), std(c), percentile(c, 99), distinct(c), stats(c) or agg(...)" },
  { "agg", 'group("name"):agg("count", "sum dur", "p99 dur")', "several statistics of each group" },
  { "sort", 'sort("-dur", "name")', "in this order; - is largest first" },
  { "top", 'top(10), top(10, "dur")', "the first rows, or those with the largest values" },
  { "head", "head(10)", "the first rows" },
  { "tail", "tail(10)", "the last rows" },
  { "select", 'select("name", "dur")', "these columns only" },
  { "unique", 'unique("name")', "the distinct values" },
  { "with", 'with("mean", function(r) return r.dur / r.count end, "ns")',
    "one more column, computed in Lua for every row" },
  { "share", 'share("dur")', "one more column: each row's share of the sum" },
  { "sum", 'sum("dur")', "the sum of a column: a number" },
  { "mean", 'mean("dur")', "the mean of a column" },
  { "median", 'median("dur")', "the median of a column" },
  { "min", 'min("dur")', "the smallest value of a column" },
  { "max", 'max("dur")', "the largest value of a column" },
  { "std", 'std("dur")', "the sample's standard deviation of a column" },
  { "percentile", 'percentile("dur", 99)', "a percentile of a column, interpolated linearly" },
  { "distinct", 'distinct("name")', "how many different values a column has" },
  { "stats", 'stats("dur")', "count, sum, mean, median, min, max and std in one row" },
  { "hist", 'hist("dur", 12)', "how the values of a column spread, as bars" },
  { "plot", 'plot("dur")', "the same rows with a bar for a column" },
  { "diff", 'a:diff(b), a:diff(b, "dur")',
    "two frames of groups, row by row: before, after, change" },
  { "rows", "for row in f:rows() do print(row.name) end", "a row at a time" },
  { "values", 'values("dur")', "a column as a Lua list; false where it has no value" },
  { "columns", "columns()", "the columns, their types and units" },
  { "show", "show(500)", "print that many rows; without a number all of them" },
  { "save", 'save("x.csv")', "write the columns shown to a file: .csv, .json, .md or .txt" },
}

-- Columns whose names do not say it all.
local about_columns = {
  start = "begin, since the trace began", ["end"] = "end, since the trace began",
  duration = "end - start; dur is the same", stage = "outermost stage around the launch",
  part = "child stage around the launch", category = "kind of work, by the kernel's name",
  short_name = "function name without parameters; short is the same",
  api = "CUDA call that launched it", api_time = "how long that call took",
  queue_time = "from the end of the launching call to the start on the GPU",
  delay = "from the start of the launching call to the start on the GPU",
  launch_time = "from the start of the launching call to the end on the GPU",
  graph_node = "node of a CUDA graph it ran for", level = "0: no range around it",
  sm_percent = "of the SMs' peak, measured by ncu",
  dram_percent = "of DRAM's peak, measured by ncu",
  bound = "what holds the kernel up, by its counters", intensity = "FLOP per byte of DRAM",
  busy = "time in which the GPU ran anything the stage launched",
  idle = "time of the stage in which the GPU ran nothing",
  gpu_time = "sum of the durations of what the stage launched",
  used = "1: counts in the analysis; 0: a first repeat left out",
  kind = "0 kernel, 1 copy, 2 set, 3 graph",
}


local function list_table(titles, rows)
  local declared, list = {}, {}
  for i, title in ipairs(titles) do declared[i] = { key = i, title = title, type = "text" } end
  for i, row in ipairs(rows) do list[i] = row end
  return tables.render("table", declared, list)
end


local function overview()
  return list_table({ "global", "what it is" }, globals)
    .. '\nhelp "methods" lists what frames do, help(kernels) their columns; help "where" says '
    .. "more of one.\n"
end


local function all_methods()
  local rows = {}
  for i, method in ipairs(methods) do rows[i] = { method[2], (method[3]:gsub(";.*", "")) } end
  return list_table({ "method", "what it gives" }, rows)
    .. "\n#f is how many rows a frame f has.\n"
end


local function about_frame(frame)
  local rows = {}
  for row in frame:columns():rows() do
    rows[#rows + 1] = { row.name, row.type, row.unit or "", about_columns[row.name] or "" }
  end
  return list_table({ "column", "type", "unit", "what it is" }, rows)
    .. '\nhelp "methods" lists what frames do.\n'
end


local function find(list, name)
  for _, entry in ipairs(list) do
    if entry[1] == name then return entry end
  end
  return nil
end


local function about_name(name)
  local method, global = find(methods, name), find(globals, name)
  if name == "methods" then return all_methods() end
  if method then return ("%s\n  %s\n"):format(method[2], method[3]) end
  if global then return ("%s: %s\n"):format(global[1], global[2]) end
  if about_columns[name] then return ("column %s: %s\n"):format(name, about_columns[name]) end
  local known = { "methods" }
  for _, list in ipairs { methods, globals } do
    for _, entry in ipairs(list) do known[#known + 1] = entry[1] end
  end
  for column in pairs(about_columns) do known[#known + 1] = column end
  errors.raise("usage",
    ("help: nothing about '%s'%s"):format(name, nearest.suggestion(name, known)),
    { hint = "help() lists the globals, help \"methods\" the methods" })
end


-- The function help(x) over a session.
function help.new(opened)
  return function(x)
    if x == nil then return overview() end
    if type(x) == "string" then return about_name(x) end
    if query.is(x) then return about_frame(x) end
    for _, global in ipairs(globals) do
      if rawequal(rawget(opened, global[1]), x) then return about_name(global[1]) end
    end
    return ("a %s\n"):format(type(x))
  end
end


-- Names of the methods that help knows: all there are.
help.methods = {}
for i, method in ipairs(methods) do help.methods[i] = method[1] end

return help
