-- The words of the prompt: what a session has, and what its frames do.
local words = {}


-- The globals of a session, in the order they are listed: name, what it is, an example. What
-- several files have is of the first that has it.
words.globals = {
  { "kernels", "every kernel: a frame",
    'kernels:group("short"):sum("dur"):sort("-dur"):top(5)' },
  { "ops", "kernels, copies, sets and graphs: a frame",
    'ops:group("kind"):sum("dur")' },
  { "transfers", "memory copies and sets: a frame",
    'transfers:group("name"):sum("bytes")' },
  { "api", "calls of the CUDA API: a frame",
    'api:group("name"):sum("dur"):sort("-dur"):top(5)' },
  { "ranges", "NVTX ranges: a frame",
    'ranges:group("tag"):sum("dur")' },
  { "stages", "every time a stage ran: a frame",
    'stages:group("stage"):agg("count", "mean dur", "mean busy")' },
  { "steps", "passes of the model, of each rank: a frame",
    'steps:where { phase = "decode" }:stats("interval")' },
  { "collectives", "kernels that communicate, with who waits for whom: a frame",
    'collectives:group("world"):sum("waiting")' },
  { "gaps", "times in which a GPU had nothing to do: a frame",
    'gaps:sort("-dur"):top(10)' },
  { "layers", "layers of the model in each step: a frame",
    'layers:group("layer"):mean("dur")' },
  { "samples", "hardware samples, in percent of the most that is possible: a frame",
    'samples:mean("dram_read")' },
  { "cpu_samples", "what the CPU was in, sampled: a frame",
    'cpu_samples:group("stage", "name"):sum("weight"):sort("-weight"):top(10)' },
  { "counters", "launches that ncu measured: a frame",
    'counters:group("bound"):count()' },
  { "overlap", "overlap(a, b): how much of the time of two frames both ran",
    "overlap(kernels, transfers)" },
  { "results", "results.json of the run",
    "results.stages[1].name" },
  { "run", "the run: id, dir, recipe, status, manifest",
    "run.id" },
  { "trace", "the trace itself, as llmprof.trace opens it",
    "trace:info()" },
  { "sql", "sql[[SELECT ...]] on the export: a frame",
    "sql[[SELECT count(*) AS n FROM StringIds]]" },
  { "files", "what was opened: files[2].kernels is that of the second",
    "files[1]" },
  { "help", "help(x) about a method, a column or a global",
    'help "where"' },
}


-- What frames do: name, how it is called, what it gives, an example; in the order they are
-- of use.
words.methods = {
  { "where", 'where { stage = "decode", dur = { ">", 1e6 } }',
    "the rows that satisfy all conditions; a value, a list of values, or a comparison: "
      .. "== ~= < <= > >=, ~ and !~ (holds a text or matches a Lua pattern); "
      .. 'also where("dur", ">", 1e6) and, slowly, where(function(row) ... end)',
    'kernels:where { stage = "decode", dur = { ">", 10e3 } }:head(5)' },
  { "group", 'group("stage", "name")', "groups of rows; then count(), sum(c), mean(c), median(c), "
    .. "min(c), max(c), std(c), percentile(c, 99), distinct(c), stats(c) or agg(...)",
    'kernels:group("stage", "category"):sum("dur")' },
  { "agg", 'group("name"):agg("count", "sum dur", "p99 dur")', "several statistics of each group",
    'kernels:group("short"):agg("count", "sum dur", "p99 dur"):top(5, "duration_sum")' },
  { "count", 'group("name"):count()', "rows of each group",
    'kernels:group("stage"):count()' },
  { "sort", 'sort("-dur", "name")', "in this order; - is largest first",
    'kernels:sort("-dur"):head(3)' },
  { "top", 'top(10), top(10, "dur")', "the first rows, or those with the largest values",
    'kernels:top(3, "dur")' },
  { "head", "head(10)", "the first rows", "kernels:head(3)" },
  { "tail", "tail(10)", "the last rows", "kernels:tail(3)" },
  { "select", 'select("name", "dur")', "these columns only",
    'kernels:select("short", "dur", "stream"):head(3)' },
  { "unique", 'unique("name")', "the distinct values", 'kernels:unique("category")' },
  { "with", 'with("mean", function(r) return r.dur / r.count end, "ns")',
    "one more column, computed in Lua for every row",
    'kernels:group("stage"):sum("dur")'
      .. ':with("mean", function(r) return r.dur / r.count end, "ns")' },
  { "share", 'share("dur")', "one more column: each row's share of the sum",
    'kernels:group("category"):sum("dur"):share("dur")' },
  { "join", 'join(b, "name", { rank = "world" })',
    "columns of the row of another frame with the same keys, { ours = theirs } where names "
      .. "differ; a column that is there already comes as other_NAME",
    'kernels:group("step"):sum("dur"):join(steps:select("step", "phase", "interval"), "step")' },
  { "lag", 'lag("start", 1, "stream")',
    "one more column, lag_NAME: its value so many rows before, among rows with equal columns; "
      .. "lag(c, -1) is that after, lead_NAME",
    'kernels:sort("start"):lag("short", 1, "stream")'
      .. ':group("lag_short_name", "short"):count():top(3)' },
  { "rolling", 'rolling("dur", 10, "mean", "stream")',
    "one more column, rolling_mean_NAME: mean, median, sum, min or max of so many rows up to each, "
      .. "among rows with equal columns",
    'steps:where { phase = "decode" }:rolling("interval", 4, "max"):head(5)' },
  { "gaps", "gaps(1e4)", "times of so many ns at least in which none of the rows ran",
    'kernels:where { stage = "decode" }:gaps(1e5)' },
  { "sum", 'sum("dur")', "the sum of a column: a number", 'kernels:sum("dur")' },
  { "mean", 'mean("dur")', "the mean of a column", 'kernels:mean("dur")' },
  { "median", 'median("dur")', "the median of a column", 'kernels:median("dur")' },
  { "min", 'min("dur")', "the smallest value of a column", 'kernels:min("dur")' },
  { "max", 'max("dur")', "the largest value of a column", 'kernels:max("dur")' },
  { "std", 'std("dur")', "the sample's standard deviation of a column", 'kernels:std("dur")' },
  { "percentile", 'percentile("dur", 99)', "a percentile of a column, interpolated linearly",
    'kernels:percentile("dur", 99)' },
  { "distinct", 'distinct("name")', "how many different values a column has",
    'kernels:distinct("name")' },
  { "stats", 'stats("dur")', "count, sum, mean, median, min, max and std in one row",
    'kernels:stats("dur")' },
  { "hist", 'hist("dur", 12)', "how the values of a column spread, as bars",
    'kernels:where { stage = "decode" }:hist("dur", 8)' },
  { "plot", 'plot("dur"), plot("interval", "start")',
    "a bar for each row; more than 50 rows, or a column over another one, as a line",
    'steps:plot("interval", "begin")' },
  { "strip", 'strip("category")',
    "how busy each part of the time was, as shades: a strip for each value of a column",
    'kernels:where { step = 3 }:strip("category")' },
  { "diff", 'a:diff(b), a:diff(b, "dur")',
    "two frames of groups, row by row: before, after, change",
    'kernels:where { rep = 1 }:group("category"):sum("dur")'
      .. ':diff(kernels:where { rep = 2 }:group("category"):sum("dur"))' },
  { "rows", "for row in f:rows() do print(row.name) end", "a row at a time",
    "for row in stages:rows() do print(row.stage, row.dur) end" },
  { "values", 'values("dur")', "a column as a Lua list; false where it has no value",
    'stages:values("stage")' },
  { "columns", "columns()", "the columns, their types and units", "kernels:columns()" },
  { "show", "show(500)", "print that many rows; without a number all of them", "stages:show(3)" },
  { "save", 'save("x.csv")', "write the columns shown to a file: .csv, .json, .md or .txt",
    'stages:save("stages.csv")' },
}


return words
