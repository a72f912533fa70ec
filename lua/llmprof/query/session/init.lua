-- What is there to ask about: the globals of `llmprof repl`, `llmprof -e` and
-- `llmprof exec`, and the same for a recipe's hooks:
--
--   local session = require "llmprof.query.session"
--   local s = session.open { ctx.run.dir }
--   print(s.kernels:group("stage"):sum("dur"))
--
-- Nothing is read before it is used.
local errors = require "llmprof.process.errors"
local lists = require "llmprof.tables.lists"
local nearest = require "llmprof.tables.keys"

local session = {}

-- The globals of a session, in the order they are listed: name, what it is, an example; of a frame
-- that has none of its own the first rows. What several files have is of the first that has it.
session.globals = {
  { "kernels", "every kernel: a frame", 'kernels:group("short"):sum("dur"):sort("-dur"):top(5)' },
  { "ops", "kernels, copies, sets and graphs: a frame", 'ops:group("kind"):sum("dur")' },
  { "transfers", "memory copies and sets: a frame", 'transfers:group("name"):sum("bytes")' },
  { "api", "calls of the CUDA API: a frame", 'api:group("name"):sum("dur"):sort("-dur"):top(5)' },
  { "ranges", "NVTX ranges: a frame", 'ranges:group("tag"):sum("dur")' },
  { "stages", "every time a stage ran: a frame" },
  { "steps", "passes of the model, of each rank: a frame" },
  { "collectives", "kernels that communicate, with who waits for whom: a frame" },
  { "gaps", "times in which a GPU had nothing to do: a frame", 'gaps:sort("-dur"):top(10)' },
  { "layers", "layers of the model in each step: a frame", 'layers:group("layer"):mean("dur")' },
  { "samples", "hardware samples, in percent of the most that is possible: a frame" },
  { "cpu_samples", "what the CPU was in, sampled: a frame" },
  { "counters", "launches that ncu measured: a frame", 'counters:group("bound"):count()' },
  { "overlap", "overlap(a, b): how much of the time of two frames both ran",
    "overlap(kernels, transfers)" },
  { "whatif", "whatif(1, 3): what the findings 1 and 3 of the run gain together; in the prompt "
    .. 'also whatif(RUN), and whatif():graphs("decode")', "whatif(1)" },
  { "results", "results.json of the run", "results.stages[1].name" },
  { "run", "the run: id, dir, recipe, status, manifest", "run.id" },
  { "trace", "the trace itself, as llmprof.trace opens it", "trace:info()" },
  { "sql", "sql[[SELECT ...]] on the export: a frame",
    "sql[[SELECT count(*) AS n FROM StringIds]]" },
  { "files", "what was opened: files[2].kernels is that of the second", "files[1]" },
  { "help", "help(x) about a method, a column or a global", 'help "where"' },
}


-- What frames do: name, how it is called, what it gives, and an example where it is no such call
-- of kernels; in the order they are of use.
session.methods = {
  { "where", 'where { stage = "decode", dur = { ">", 10e3 } }',
    "the rows that satisfy all conditions; a value, a list of values, or a comparison: "
      .. "== ~= < <= > >=, ~ and !~ (holds a text or matches a Lua pattern); "
      .. 'also where("dur", ">", 1e6) and, slowly, where(function(row) ... end)' },
  { "group", 'group("stage", "category")', "groups of rows; then count(), sum(c), mean(c), "
    .. "median(c), min(c), max(c), std(c), percentile(c, 99), distinct(c), stats(c) or agg(...)",
    'kernels:group("stage", "category"):sum("dur")' },
  { "agg", 'group("short"):agg("count", "p99 dur")', "several statistics of each group" },
  { "count", 'group("stage"):count()', "rows of each group" },
  { "sort", 'sort("-dur", "name")', "in this order; - is largest first" },
  { "top", 'top(10, "dur")', "the first rows, or those with the largest values" },
  { "head", "head(10)", "the first rows" },
  { "tail", "tail(10)", "the last rows" },
  { "select", 'select("name", "dur")', "these columns only" },
  { "unique", 'unique("category")', "the distinct values" },
  { "with", 'with("mean", function(r) return r.dur / r.count end, "ns")',
    "one more column, computed in Lua for every row",
    'kernels:group("stage"):sum("dur")'
      .. ':with("mean", function(r) return r.dur / r.count end, "ns")' },
  { "share", 'share("dur")', "one more column: each row's share of the sum",
    'kernels:group("category"):sum("dur"):share("dur")' },
  { "tree", 'tree("module", "dur")',
    "sums by the paths of a column, each with what is inside and `self` without; layers are one" },
  { "join", 'join(b, "name", { rank = "world" })',
    "columns of the row of another frame with the same keys, { ours = theirs } where names "
      .. "differ; a column that is there already comes as other_NAME",
    'kernels:group("step"):sum("dur"):join(steps:select("step", "phase", "interval"), "step")' },
  { "lag", 'lag("start", 1, "stream")',
    "one more column, lag_NAME: its value N rows before, among rows with equal columns; "
      .. "lag(c, -1) is that after, lead_NAME",
    'kernels:sort("start"):lag("short", 1, "stream")'
      .. ':group("lag_short_name", "short"):count():top(3)' },
  { "rolling", 'rolling("dur", 10, "mean", "stream")',
    "one more column, rolling_mean_NAME: mean, median, sum, min or max of the last N rows, "
      .. "among rows with equal columns",
    'steps:where { phase = "decode" }:rolling("interval", 4, "max"):head(5)' },
  { "gaps", "gaps(1e5)", "times of at least this many ns in which none of the rows ran" },
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
  { "plot", 'plot("duration", "start")',
    "a bar for each row; more than 50 rows, or a column over another one, as a line" },
  { "strip", 'strip("category")',
    "how busy each part of the time was, as shades: a strip for each value of a column" },
  { "diff", 'a:diff(b), a:diff(b, "dur")',
    "two frames of groups, row by row: before, after, change",
    'kernels:where { rep = 1 }:group("category"):sum("dur")'
      .. ':diff(kernels:where { rep = 2 }:group("category"):sum("dur"))' },
  { "rows", "for row in f:rows() do print(row.name) end", "a row at a time",
    "for row in stages:rows() do print(row.stage, row.dur) end" },
  { "values", 'values("dur")', "a column as a Lua list; false where it has no value" },
  { "columns", "columns()", "the columns, their types and units" },
  { "show", "show(500)", "print that many rows; without a number all of them" },
  { "save", 'save("x.csv")', "write the columns shown to a file: .csv, .json, .md or .txt",
    'stages:save("stages.csv")' },
}


local is_global = lists.set(lists.map(session.globals, function(global) return global[1] end))


function session.has(name) return is_global[name] == true end


local function find(files, name)
  for _, file in ipairs(files) do
    if file[name] then return file[name] end
  end
  errors.raise("usage", ("%s: no file was given that has it"):format(name),
    { hint = "run and results come with the folder of a run, counters with it or a raw page of "
      .. "ncu, all others with a trace in which they are found" })
end


-- The traces that were read for globals so far, which are those of session.open for all names.
function session.traces(globals)
  return lists.map(rawget(globals, "files") or {}, function(file)
    return rawget(file, "trace") or nil
  end)
end


-- The globals over these paths, as a table that loads them. offered: a set of the names that
-- there are; nil: all.
function session.open(paths, offered)
  local self, files = {}, nil
  local own = {
    overlap = function() return require("llmprof.query").overlap end,
    help = function()
      return require("llmprof.query.session.help").new(self, offered or is_global)
    end,
  }
  return setmetatable(self, { __index = function(_, name)
    if not (offered or is_global)[name] then return nil end
    files = files or lists.flat(paths, require("llmprof.query.session.source").all)
    if not offered then rawset(self, "files", files) end
    if name ~= "files" then rawset(self, name, own[name] and own[name]() or find(files, name)) end
    return rawget(self, name)
  end })
end


-- Nothing has that name: what has a similar one, or that texts have quotes.
local function unknown(name, others, offered)
  if is_global[name] then
    errors.raise("usage", ("'%s' is not there in a question"):format(name),
      { hint = "it reaches files; help() says what there is" })
  end
  local known = lists.joined(nearest.sorted(offered), nearest.sorted(others))
  errors.raise("usage", ("nothing is called '%s' here%s"):format(name,
    nearest.suggestion(name, known)),
    { hint = ('help() says what there is; a text has quotes: "%s"'):format(name) })
end


-- The environment, with what find(name) gives for names that it lacks. A name that is
-- nowhere raises: as nil it would be a condition that is left out. offered: of open.
function session.strict(environment, find_name, offered)
  return setmetatable(environment, { __metatable = false, __index = function(own, name)
    local value = find_name(name)
    if value == nil then unknown(tostring(name), own, offered or is_global) end
    return value
  end })
end


-- An environment for code: the session, then Lua's own globals.
function session.environment(paths)
  local self = session.open(paths)
  -- Lua's own gives a second value, where the module came from
  local own = { require = function(name) return (require(name)) end }
  return session.strict(own, function(name)
    local value = self[name]
    if value == nil then value = _G[name] end
    return value
  end), self
end


return session
