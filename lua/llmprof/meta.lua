---@meta llmprof.recipe
-- What editors with LuaLS know of recipes: the fields of a recipe, cfg, results, hooks, frames
-- and the modules written in C. Nothing loads this file; `llmprof help modules` reads it. What is
-- below the line "generated" is from llmprof.defaults, docs/results.schema.json and the comments
-- in core/lua: llmprof exec tests/lint/meta.lua --update writes it.

---A stage: every NVTX range of this text in the default domain, or "domain:text".
---@class llmprof.Stage
---@field [1] string Text of the range
---@field children? string[] Ranges inside it, which are stages of their own
---@field step? string Ranges that each make one token

---A key of the recipe's own; its type is that of the default.
---@class llmprof.Option
---@field [1] string Text for --help
---@field [2]? string|number|boolean|string[] Default
---@field type? "string"|"integer"|"float"|"boolean"|"list" Where there is no default
---@field choices? string[]
---@field min? number
---@field max? number
---@field runs? boolean It names a program: files say so with --trust-config alone

---Kernels by Lua patterns, which see names in lower case and without parameters.
---@class llmprof.Category
---@field category string
---@field match? string[] Any is found in the name with its template arguments
---@field function? string[] Any is found in the function's own name

---What to start.
---@class llmprof.Workload
---@field argv (string|number|boolean)[] The program and its words, never a shell line
---@field env? table<string, string|number|false> Variables; false removes one
---@field cwd? string Where llmprof was started unless set

---A kernel of the timeline, as select_kernels sees it. Times in ns.
---@class llmprof.SelectableKernel
---@field id integer
---@field name string
---@field short_name string Function name without parameters
---@field stage? string
---@field part? string Child stage
---@field calls integer
---@field total_ns integer
---@field mean_ns number

---What one range of a stage takes.
---@class llmprof.Cost
---@field flops? number FLOP
---@field bytes? number Bytes of memory traffic

---@class llmprof.Recipe
---@field name string Letters, digits, "_", "." and "-"; names runs
---@field workload fun(cfg: llmprof.Config): llmprof.Workload
---@field model? llmprof.Config.model
---@field options? table<string, llmprof.Option> By key: ["infer.batch"] = { "text", 1 }
---@field stages? (string|llmprof.Stage)[]
---@field categories? llmprof.Category[] Before those of conf/categories.yaml
---@field nsys? llmprof.Config.nsys
---@field collector? llmprof.Config.collector
---@field ncu? llmprof.Config.ncu
---@field top_n? llmprof.Config.top_n
---@field report? string[]
---@field repeats? llmprof.Config.repeats
---@field mode? string
---@field capture? "auto"|"nsys"|"builtin"|"recorded"
---@field overhead? "before"|"measure"|"off"
---What the run is of, for keys model.* that nothing else sets.
---@field identify? fun(cfg: llmprof.Config): llmprof.Config.model
---The kernels to measure with counters, out of the list.
---@field select_kernels? fun(kernels: llmprof.SelectableKernel[], cfg: llmprof.Config): llmprof.SelectableKernel[]
---FLOP of one range of a stage, or FLOP and bytes, or nothing. metrics: metrics.json.
---@field flops? fun(stage: llmprof.results.stage, metrics: table?, cfg: llmprof.Config): number|llmprof.Cost|nil
---More findings.
---@field advise? fun(results: llmprof.Results): llmprof.results.finding[]
---Writes files of its own into the bundle's folder.
---@field render? fun(results: llmprof.Results, folder: string)

---@class llmprof.recipe
local recipe = {}

---Declare a recipe; what a recipe file returns.
---@param fields llmprof.Recipe
---@return llmprof.Recipe
function recipe.recipe(fields) end

---Path of a file beside the recipe.
---@param name string
---@return string
function recipe.path(name) end

---Options that workloads of PyTorch share; a recipe's own go before them.
---@param own table<string, llmprof.Option>
---@return table<string, llmprof.Option>
function recipe.torch_options(own) end

---The same as words of the workload, the recipe's own behind them.
---@param cfg llmprof.Config
---@param own (string|number|boolean)[]
---@return (string|number|boolean)[]
function recipe.torch_words(cfg, own) end

---Name, variant and arch of the model that conf/model/<name>.yaml describes.
---@param name string
---@return llmprof.Config.model
function recipe.described(name) end

---End the run with this line, what to do, and exit status 2.
---@param message string
---@param hint? string
function recipe.fail(message, hint) end

---A table of columns. Methods give a new one; times are in ns, sizes in bytes.
---@class llmprof.Frame
---@operator len: integer
local Frame = {}

---Rows that satisfy all: { stage = "decode", dur = { ">", 1e6 } }.
---@param condition table<string, any>|string|fun(row: table): boolean
---@return llmprof.Frame
function Frame:where(condition, ...) end

---Groups of rows, then count(), sum(column), mean(column) and so on.
---@param ... string
---@return llmprof.Groups
function Frame:group(...) end

---@param ... string Columns; "-dur" is largest first
---@return llmprof.Frame
function Frame:sort(...) end

---@param count integer
---@param column? string
---@return llmprof.Frame
function Frame:top(count, column) end

---@param count integer
---@return llmprof.Frame
function Frame:head(count) end

---@param count integer
---@return llmprof.Frame
function Frame:tail(count) end

---@param ... string
---@return llmprof.Frame
function Frame:select(...) end

---@param ... string
---@return llmprof.Frame
function Frame:unique(...) end

---One more column, computed for every row.
---@param name string
---@param compute fun(row: table): any
---@param unit? string
---@return llmprof.Frame
function Frame:with(name, compute, unit) end

---@param column string
---@return llmprof.Frame
function Frame:share(column) end

---Columns of the row of another frame with the same keys.
---@param other llmprof.Frame
---@param ... string|table<string, string> Columns; { ours = "theirs" }
---@return llmprof.Frame
function Frame:join(other, ...) end

---Its value so many rows before, among rows with equal columns.
---@param column string
---@param rows? integer Below 0: after
---@param ... string
---@return llmprof.Frame
function Frame:lag(column, rows, ...) end

---@param column string
---@param rows? integer
---@param statistic? "mean"|"sum"|"min"|"max"
---@param ... string
---@return llmprof.Frame
function Frame:rolling(column, rows, statistic, ...) end

---Times between its rows in which none of them ran.
---@param shortest? integer ns
---@return llmprof.Frame
function Frame:gaps(shortest) end

---@param column string
---@return number?
function Frame:sum(column) end

---@param column string
---@return number?
function Frame:mean(column) end

---@param column string
---@return number?
function Frame:median(column) end

---@param column string
---@return number?
function Frame:min(column) end

---@param column string
---@return number?
function Frame:max(column) end

---@param column string
---@return number?
function Frame:std(column) end

---@param column string
---@param percent number 0 to 100
---@return number?
function Frame:percentile(column, percent) end

---@param column string
---@return integer
function Frame:distinct(column) end

---@param column string
---@return llmprof.Frame
function Frame:stats(column) end

---@param column string
---@param bins? integer
---@return llmprof.Frame
function Frame:hist(column, bins) end

---@param column string
---@param over? string
---@return llmprof.Frame
function Frame:plot(column, over) end

---@param by? string
---@return llmprof.Frame
function Frame:strip(by) end

---@param other llmprof.Frame
---@param column? string
---@return llmprof.Frame
function Frame:diff(other, column) end

---Rows by the paths in a column, `model.layers.7.mlp`: a tree with what each branch sums up.
---@param by string
---@param column? string `duration` unless given
---@return llmprof.Frame
function Frame:tree(by, column) end

---@return fun(): table?
function Frame:rows() end

---@param column string
---@return any[]
function Frame:values(column) end

---@return llmprof.Frame
function Frame:columns() end

---@param rows? integer
function Frame:show(rows) end

---@param path string .csv, .json or .md
function Frame:save(path) end

---Groups of rows; their methods give a frame with a row for each group.
---@class llmprof.Groups
local Groups = {}

---@param ... string "count", "sum dur", "p99 dur"
---@return llmprof.Frame
function Groups:agg(...) end

---@return llmprof.Frame
function Groups:count() end

---@param column string
---@return llmprof.Frame
function Groups:sum(column) end

---@param column string
---@return llmprof.Frame
function Groups:mean(column) end

-- ---- generated ----

do
---how much reading a file may cost.
---
---  print(table.concat(bounds.keys(), " ", 1, 2)) --> limits.rows limits.bytes
---  bounds.set("limits.seconds", 60)
---  print(bounds.get "limits.seconds")            --> 60
---@class llmprof.bounds
local bounds = {}
---bounds.set(key, value): "limits.rows" and the like; 0 is no bound
function bounds.set(key, value) end
---bounds.get(key) -> value
function bounds.get(key) end
---bounds.keys() -> list
function bounds.keys() end
end

do
---event files of torch.profiler.
---
---  local reader = assert(chrome_trace.open "run.pt.trace.json")
---  for event in reader:events() do
---    print(event.category, event.name)  --> user_annotation  prefill
---    break
---  end
---  reader:close()
---  local recorded = assert(chrome_trace.operators "run.pt.trace.json")
---  local host = assert(recorded:frame "host")
---@class llmprof.chrome_trace
local chrome_trace = {}
---chrome_trace.open(path) -> reader | nil, message, code
---@return llmprof.chrome_trace.reader?
function chrome_trace.open(path) end
---chrome_trace.parse(text) -> reader | nil, message, code: of a string, plain
---or gzip
---@return llmprof.chrome_trace.reader?
function chrome_trace.parse(text) end
---chrome_trace.operators(path) -> operators | nil, message, code
---@return llmprof.chrome_trace.operators?
function chrome_trace.operators(path) end
---@class llmprof.chrome_trace.reader
local reader = {}
---reader:events() -> iterator over tables with the fields of
---llmprof_chrome_event; what an event lacks is nil
function reader:events() end
---@class llmprof.chrome_trace.operators
local operators = {}
---operators:info() -> { host, gpu, left_out (events), first, last (ns) }
function operators:info() end
---operators:frame(name) -> frame | nil, message, code; name: host,
---gpu or marks
function operators:frame(name) end
end

do
---what was going on when rows of several kinds overlap.
---
---  local calls = require("llmprof.frame").new(2, {
---    { name = "start", type = "integer", values = { 0, 30 } },
---    { name = "end", type = "integer", values = { 10, 40 } },
---    { name = "name", type = "string", values = { "malloc", "launch" } } })
---  local made = classes.of(calls, "name", { { "launch" }, { "malloc" } })
---  print(made:within(5, 35))                     --> 5  5
---@class llmprof.classes
local classes = {}
---classes.of(frame, word, lists) -> classes of the intervals start..end: those
---of a class have one of the words of its list in the column `word`
---@return llmprof.classes.classes?
function classes.of(frame, word, lists) end
---classes.cover(spans, { start, end, key }, list, names): adds columns: ns of
---each span in the first class, in the first two, and so on; list[key + 1] are
---those of a key, without one list[1]
function classes.cover(spans, columns, list, names) end
---classes.outside(rows, { by, begin, key, name }, list): adds a column: ns
---before each row in which neither a row of its group, since the last of these
---or, before the first, since `begin`, nor a call of list[key + 1] lasted;
---absent where the group was not idle or nothing says since when
function classes.outside(rows, columns, list) end
---@class llmprof.classes.classes
local classes = {}
---classes:within(from, to [, busy]) -> ns of each class in [from, to), without
---those that the intervals `busy` cover
function classes:within(from, to, busy) end
end

do
---several processes of one job, by MPI.
---
---  local job, why = cluster.open "libllmprof_mpi_openmpi.so"
---  if not job then return print(why) end
---  if job:rank() == 1 then assert(job:send(0, "hello")) end
---  if job:rank() == 0 then print(assert(job:receive(1))) end
---  assert(job:finish())
---
---The last argument of what waits is for how many seconds; none: for ever.
---@class llmprof.cluster
local cluster = {}
---cluster.open(plugin) -> cluster | nil, message, code
---@return llmprof.cluster.cluster?
function cluster.open(plugin) end
---@class llmprof.cluster.cluster
local cluster = {}
---cluster:send(to, bytes [, wait]) -> true | nil, message, code
function cluster:send(to, bytes, wait) end
---cluster:receive(from [, wait]) -> bytes | nil, message, code
function cluster:receive(from, wait) end
---cluster:finish([wait]) -> true | nil, message, code: all are here, MPI ends
---
function cluster:finish(wait) end
---cluster:abandon(status): the launcher ends all processes
function cluster:abandon(status) end
---cluster:rank() -> this process, from 0
function cluster:rank() end
---cluster:size() -> how many
function cluster:size() end
---cluster:library() -> "Open MPI"
function cluster:library() end
end

do
---kernels that are one collective on several ranks, and
---how far the ranks' clocks differ. What adds columns to the frame that it is
---given first returns that frame; failures are raised.
---
---  local rows = require("llmprof.frame").new(2, {
---    { name = "rank", type = "integer", values = { 0, 1 } },
---    { name = "start", type = "integer", values = { 0, 20 } },
---    { name = "end", type = "integer", values = { 40, 40 } },
---    { name = "key", type = "string", values = { "sum", "sum" } } })
---  local columns = { rank = "rank", start = "start", ["end"] = "end",
---                    key = "key" }
---  collectives.number(rows, columns, "ordinal")
---  columns.ordinal = "ordinal"
---  collectives.match(rows, columns)
---  print(rows:get(1, "waiting"), rows:get(1, "transfer"))  --> 20  20
---@class llmprof.collectives
local collectives = {}
---collectives.number(rows, { rank, start, end, key }, name): adds a column: the
---place among the rows of the same rank and key, from 0
function collectives.number(rows, columns, name) end
---collectives.match(rows, { rank, start, end, key, ordinal, lag }): adds the
---columns of ranks/collectives.h
function collectives.match(rows, columns) end
---collectives.excess(rows, value, name): adds a column: how much more of a
---value the rank has that came last
function collectives.excess(rows, value, name) end
---collectives.before(rows, { rank, start, end, key }, kernels, { rank, start,
---name }): adds previous, before, signature and follows
function collectives.before(rows, columns, kernels) end
---collectives.clock(rows, { rank, start, end, key, ordinal }, first, second
---[, lag]) -> { count, used, at (ns), offset (ns), drift (ns per ns), raw (ns),
---residual (ns) }. With count 0 the rest is absent.
function collectives.clock(rows, columns, first, second, lag) end
end

do
---rows of a CSV file as tables keyed by column name.
---
---  local text = "name,ms\ndecode,1.5\n"
---  local reader = assert(csv.parse(text, { numbers = true }))
---  for row, line in reader:rows() do
---    print(line, row.name, row.ms)               --> 2  decode  1.5
---  end
---  print(csv.number "1,234")                     --> 1234.0
---@class llmprof.csv
local csv = {}
---csv.open(path [, options]) -> reader | nil, message, code
---options: header (a field that marks the header row), units (boolean: a
---units row follows), short (boolean: rows may be shorter than the header),
---numbers (boolean: fields that read as numbers become numbers, absent ones
---nil), text (with numbers: list of columns that stay strings).
---@return llmprof.csv.reader?
function csv.open(path, options) end
---csv.parse(text [, options]) -> reader | nil, message, code: the same of a
---string
---@return llmprof.csv.reader?
function csv.parse(text, options) end
---csv.number(text) -> number, or nil and "absent" or "text"
function csv.number(text) end
---@class llmprof.csv.reader
local reader = {}
---reader:header() -> list of the columns' names
function reader:header() end
---reader:units() -> list of strings, empty without a units row
function reader:units() end
---reader:rows() -> iterator over row (a table by column name), line; a broken
---row raises
function reader:rows() end
end

do
---one empty kernel, to try profilers on.
---
---  local done, why = cuda.probe()
---  if not done then print(why) end
---@class llmprof.cuda
local cuda = {}
---cuda.probe([device]) -> true | nil, message, code
function cuda.probe(device) end
end

do
---SHA-256 and Base64.
---
---  local sum = digest.sha256 "abc"
---  print(#sum, digest.base64(sum):sub(1, 8))     --> 32  ungWv48B
---@class llmprof.digest
local digest = {}
---digest.sha256(bytes) -> the 32 bytes of the digest
function digest.sha256(bytes) end
---digest.base64(bytes) -> text
function digest.base64(bytes) end
end

do
---errors as objects, one class for C and Lua.
---
---  local failure = require "llmprof.error"
---  local ok, err = pcall(error, failure.new { kind = "usage",
---    message = "no such column", hint = "help() lists them" }, 0)
---  print(failure.is(err), err.kind, err)  --> true  usage  no such column
---
---kind: a word for what to do about it, which gives the exit status
---(lua/llmprof/process/errors.lua); code: what llmprof_code_name says, where
---the error comes from the core.
---@class llmprof.error
local error = {}
---error.new(fields) -> error: the table itself. kind, message; code, hint (what
---to do next, one line), detail (lines shown before the message) and bug
---(boolean) may be absent
function error.new(fields) end
---error.is(value) -> is it such an error
function error.is(value) end
---error.nomem() -> error: memory was wanted and there was none, or no more than
---the bound on it
function error.nomem() end
end

do
---a second process that goes on from here.
---
---  local other <close> = assert(fork.start(1, function() return "there" end))
---  print("here", (other:take()))                 --> here  there
---@class llmprof.fork
local fork = {}
---fork.start(threads, f) -> process | nil, message, code. There f is called,
---which has everything as it is here now, and `threads` threads of ours; what
---it returns is handed over if it is a string, and before that whatever it
---calls its argument with. What it raises is lost, and what it prints may be.
---It hears of no signal.
---@return llmprof.fork.process?
function fork.start(threads, f) end
---@class llmprof.fork.process
local process = {}
---process:take() -> the next text that it hands over, waiting for it | nil,
---message, code: "io" when it ended without one
function process:take() end
---process:rest() -> true, once it has ended | nil, message, code
function process:rest() end
---process:ended() -> has it
function process:ended() end
---process:pid() -> its number
function process:pid() end
---process:close(): kills it if it still runs
function process:close() end
end

do
---frames over values from Lua.
---
---  local f = frame.new(2, {
---    { name = "kernel", type = "string", values = { "gemm", "add" } },
---    { name = "duration", type = "integer", unit = "ns", values = { 7, 3 } },
---  })
---@class llmprof.frame
local frame = {}
---frame.new(rows, columns) -> frame. columns: list of { name, type ("string",
---"integer" or "number"), unit, values }; nil and false are absent values.
---@return llmprof.frame.frame?
function frame.new(rows, columns) end
---frame.tidy(): frees the frames that nobody refers to, if they may be large.
---For callers that are done with many of them before others ask for memory.
function frame.tidy() end
---@class llmprof.frame.frame
local frame = {}
---frame:compute { name, steps, unit, type } -> the frame, with that column.
---steps: numbers, { column } (a string is there or not) and operators, each
---behind its two operands: * / + least most or where unless from above
---together. type: "number" or "integer", the nearest.
function frame:compute(options) end
---frame:weigh(columns [, weight]) -> sums, weights, in the order of the
---columns: of its numbers, each times the row's weight, and of the weights of
---the rows that have one; weights are 1 without that column and where it is
---absent
function frame:weigh(columns, weight) end
---frame:rows_by(columns) -> list, by group of rows that are equal in these
---columns, of lists of its rows, which count from 1
function frame:rows_by(columns) end
---frame:columns() -> list of { name, type, unit }
function frame:columns() end
---frame:get(row, column) -> value or nil; rows count from 1
function frame:get(row, column) end
---frame:values(column) -> list of all values; absent ones are false
function frame:values(column) end
---frame:where(conditions) -> frame with the rows that satisfy all of them.
---conditions: column = value (or list of values: any of them; false: absent),
---and { column, comparison, value } in the list part.
---@return llmprof.frame.frame?
function frame:where(conditions) end
---frame:union([start, end]) -> intervals covered by start..end of any row, or
---by the two columns named
---@return llmprof.frame.intervals?
function frame:union(start, to) end
---frame:idle_intervals(shortest) -> frame of the times of this number of ns and
---more in which no row ran, between those that did: start, end, duration
---@return llmprof.frame.frame?
function frame:idle_intervals(shortest) end
---frame:extent() -> first start and last end of start..end of any row; nothing
---without an interval
function frame:extent() end
---frame:covered(by, windows) -> for each group by these columns, by first
---appearance, a list: ns of each window { from, to } that start..end of any of
---its rows cover; windows ascend in both
function frame:covered(by, windows) end
---frame:extend(by, groups, columns) -> frame, with columns about its groups:
---value g of each belongs to the rows of group g of frame:aggregate(by, ...),
---which has `groups` rows. columns as for frame.new().
---@return llmprof.frame.frame?
function frame:extend(by, groups, columns) end
---frame:group(): groups and their statistics, as a frame or as a list.
function frame:group() end
---frame:group(options): the groups of rows that are equal in the columns `by`
---(none: all rows are one group), by first appearance.
---
---With `columns`, a list of { name, statistic, column, percentile }: a frame
---with a row for each group, `by` and these columns. Statistics are count
---(without a column: rows), distinct, sum, mean, median, min, max, std and
---percentile.
---
---Without: a list of tables that hold the group's key columns, count (rows),
---per column of `sum` a table { count, total, min, max, mean, median, stddev,
---p90, ... } (count alone when no value is present), per column of `total` the
---same without what follows max, distinct = { column = number of
---values } of the columns `distinct`, and with `union` (boolean) busy (ns that
---start..end of any row cover), first and last (ns). `percentiles`: numbers
---0..100.
function frame:group(options) end
---frame:count_groups(options) -> how many groups frame:group would make of the
---columns `by`, without making them
function frame:count_groups(options) end
---frame:lazy(columns, make) -> the frame, with columns { name, type, unit }
---that are those of make(frame), called when one of them is first looked at;
---its frame has as many rows
function frame:lazy(columns, make) end
---frame:take(rows) -> frame with the rows listed, counted from 1
---@return llmprof.frame.frame?
function frame:take(rows) end
---frame:slice(first, last) -> frame with those rows, as far as they are there;
---both count from 1
---@return llmprof.frame.frame?
function frame:slice(first, last) end
---frame:within(intervals [, column]) -> frame with the rows whose start and end
---lie within an interval, once for each. intervals: list of { start, stop } in
---ns; with a column of integers, a row's is that of the field of this name.
---@return llmprof.frame.frame?
function frame:within(intervals, column) end
---frame:select(columns) -> frame with these columns only
---@return llmprof.frame.frame?
function frame:select(columns) end
---frame:sort(keys [, limit]) -> frame in that order, its first rows only.
---keys: list of { column, descending (boolean) }.
---@return llmprof.frame.frame?
function frame:sort(keys, limit) end
---frame:alias(column, name) -> the frame, with the column by that name, too
function frame:alias(column, name) end
---frame:follow(columns) -> the frame, with columns "next_NAME": the cell of
---each in the row that follows, nil in the last
function frame:follow(columns) end
---frame:histogram(column, edges) -> list of counts, one fewer than edges,
---which ascend; the last bin holds its upper edge too
function frame:histogram(column, edges) end
---frame:gaps { by, before, after, previous } -> the frame, with the columns
---that are named: ns without any row until this one, and after it; the row,
---from 0, that ended last before
function frame:gaps(options) end
---frame:overlap { by, name } -> the frame, with ns beside other rows
function frame:overlap(options) end
---frame:lag { column, offset, by, name } -> the frame, with cells of rows
---before (below 0: after)
function frame:lag(options) end
---frame:rolling { column, size, statistic ("sum", "mean", "median", "min",
---"max"), by, name } -> the frame, with that of the last rows up to each
function frame:rolling(options) end
---frame:part { column, name } -> the frame, with each cell's part of the sum
function frame:part(options) end
---frame:less { column, by, name } -> the frame, with one column of integers
---less another
function frame:less(options) end
---frame:match { by, other, keys, name } -> the frame, with the row of another
---frame, from 0, whose columns `keys` equal its own `by`
function frame:match(options) end
---frame:beside { column, other, there, before, name } -> the frame, with the
---row of another frame, from 0: the last whose column `there` is less than the
---column or, without `before`, the first in which it is not
function frame:beside(options) end
---frame:pair { column, turn, other, key, name } -> the frame, with the row of
---another frame, from 0, that it pairs off with by order
function frame:pair(options) end
---frame:downsample { x, y, low, high, bins } -> list of { least, most } of
---column y, false where no row falls into a bin; without x over rows from 1
function frame:downsample(options) end
---@class llmprof.frame.intervals
local intervals = {}
---intervals:covered([from, to]) -> ns covered, within [from, to) if given
function intervals:covered(from, to) end
---intervals:overlap(other) -> ns covered by both
function intervals:overlap(other) end
---intervals:join(other) -> intervals: what either covers
---@return llmprof.frame.intervals?
function intervals:join(other) end
---intervals:span() -> first start, last end; nothing when empty
function intervals:span() end
---intervals:gaps(from, to [, shortest]) -> intervals: the holes in between
---@return llmprof.frame.intervals?
function intervals:gaps(from, to, shortest) end
---intervals:get(i) -> start, end
function intervals:get(i) end
---intervals:frame() -> frame with a row for each: start, end
---@return llmprof.frame.frame?
function intervals:frame() end
end

do
---files and folders. Every function returns nil, message, code on
---failure; those without a result of their own return true.
---
---  local folder = assert(fs.temp_dir "example-")
---  assert(fs.write(folder .. "/a.txt", "text"))
---  print(fs.read(folder .. "/a.txt"), fs.list(folder)[1])  --> text  a.txt
---  print(select(3, fs.stat(folder .. "/b.txt")))           --> notfound
---  assert(fs.remove_tree(folder))
---@class llmprof.fs
local fs = {}
---fs.mkdir(path)
function fs.mkdir(path) end
---fs.mkdirs(path): with missing parents; content with a folder that exists
function fs.mkdirs(path) end
---fs.remove(path): a file, a link or an empty folder
function fs.remove(path) end
---fs.remove_tree(path): with everything below; follows no link, and refuses
---"", "/", "." and any path with a ".."
function fs.remove_tree(path) end
---fs.settle(folder): everything on its file system is on the disk
function fs.settle(folder) end
---fs.copy(from, to): atomic, with permission bits
function fs.copy(from, to) end
---fs.copy_soon(from, to): the same, settled by fs.settle
function fs.copy_soon(from, to) end
---fs.same(one, other) -> do both hold the same bytes | nil, message, code
function fs.same(one, other) end
---fs.rename(from, to): takes the place of a file that is there
function fs.rename(from, to) end
---fs.symlink(target, path)
function fs.symlink(target, path) end
---fs.replace_symlink(target, path): atomic
function fs.replace_symlink(target, path) end
---fs.lock(path [, { wait = true }]) -> a lock on a folder, or on a file that is
---made for it: held until its close(), or the end of the process; code "busy"
---when it is held already
function fs.lock(path, columns) end
---fs.private_dir(parent) -> path of a new folder that only its user can enter,
---and its lock: fs.sweep removes the folder when nobody holds that
function fs.private_dir(parent) end
---fs.sweep(folder) -> how many files and folders it removed that processes
---which are gone left there half-written
function fs.sweep(folder) end
---fs.readlink(path) -> what a symbolic link says
function fs.readlink(path) end
---fs.realpath(path) -> absolute path without links
function fs.realpath(path) end
---fs.beneath(folder, name) -> path of the file, which may not exist; code
---"denied" when a part of the name is a symbolic link or ".."
function fs.beneath(folder, name) end
---fs.temp_dir(prefix) -> path of a new private folder
function fs.temp_dir(prefix) end
---fs.cwd() -> the working directory
function fs.cwd() end
---fs.read(path [, limit]) -> contents; code "limit" when there are more than
---`limit` bytes
function fs.read(path, limit) end
---fs.write(path, bytes): atomic
function fs.write(path, bytes) end
---fs.write_soon(path, bytes): the same, settled by fs.settle
function fs.write_soon(path, bytes) end
---fs.chmod(path, mode): permission bits, as stat gives them
function fs.chmod(path, mode) end
---fs.stat(path) -> { type, size, mtime_ns, mode }; type is "file",
---"directory", "link" (lstat only) or "other"
function fs.stat(path) end
---fs.lstat(path) -> as fs.stat, of a link itself
function fs.lstat(path) end
---fs.list(path) -> sorted names, without "." and ".."
function fs.list(path) end
---fs.free_space(path) -> bytes
function fs.free_space(path) end
---fs.access(path [, mode]): mode of "r", "w", "x"; none: does it exist?
function fs.access(path, mode) end
end

do
---what the driver says about the GPUs.
---
---  local list, reason = gpu.list()
---  if #list == 0 then print(reason) end
---  for _, device in ipairs(list) do
---    local now = gpu.sample(device.index)
---    print(device.name, now and now.power_w)
---  end
---@class llmprof.gpu
local gpu = {}
---gpu.open([library]) -> devices of NVML from a file of one's own | nil,
---message, code
---@return llmprof.gpu.devices?
function gpu.open(library) end
---gpu.list() -> list of tables, and the reason in words when it is empty
---Fields are absent where the device does not tell: index (from 0), name,
---uuid, pci_bus_id, compute_capability ("9.0"), driver_version, cuda_version
---("13.0"), sm_clock_max_mhz, memory_clock_max_mhz, power_limit_w, mig,
---persistence (booleans), and those of a sample. A device that cannot be used
---has index and error (a message) only.
function gpu.list() end
---gpu.sample(index) -> table | nil, message, code
---sm_clock_mhz, memory_clock_mhz, power_w, energy_j, temperature_c,
---utilization_percent, memory_busy_percent, memory_used_bytes,
---memory_total_bytes, throttle (list of reasons, empty when there are none).
function gpu.sample(index) end
---@class llmprof.gpu.devices
local devices = {}
---devices:list() -> as gpu.list()
function devices:list() end
---devices:sample(index) -> as gpu.sample()
function devices:sample(index) end
end

do
---what Ctrl-C does to running Lua.
---
---  local done, value = interrupt.protect(function() return 7 end)
---  print(done, value, interrupt.terminated())    --> true  7  false
---@class llmprof.interrupt
local interrupt = {}
---interrupt.protect() is on the stack
function interrupt.protect() end
---interrupt.protect(f) -> as pcall(f), but an interrupt ends f whatever f
---catches, and is over when this returns
function interrupt.protect(f) end
---interrupt.session(on): Ctrl-C may come again and again without ending the
---process
function interrupt.session(on) end
---interrupt.collect(): collects all garbage, as collectgarbage() does, or, once
---there was a signal, no more of it
function interrupt.collect() end
---interrupt.terminated() -> was the process asked to end (SIGTERM)
function interrupt.terminated() end
end

do
---JSON text and Lua values.
---
---  local value = assert(json.decode '{ "ms": [1.5, null] }')
---  print(value.ms[1], value.ms[2] == json.null)  --> 1.5  true
---  print(json.encode { ms = json.list {} })      --> {"ms":[]}
---  print(select(2, json.decode "{"))
---@class llmprof.json
local json = {}
---json.null: what null is in a table
json.null = nil
---json.list([t]) -> t, marked as a list, which an empty table is not
function json.list(t) end
---json.ordered(t, keys) -> t, whose keys are written in that order first
function json.ordered(t, keys) end
---json.schemas() -> schemas, none yet
---@return llmprof.json.schemas?
function json.schemas() end
---json.decode(text [, options]) -> value | nil, message, code
---options: name (in messages, "json"), max_depth, max_size, max_nodes, ordered
---(boolean: objects keep the order of their keys, as json.ordered gives it),
---schemas, schema (a name of them: return, too, what schemas:check says)
function json.decode(text, options) end
---json.load(path [, options]) -> value | nil, message, code: the same options
---
function json.load(path, options) end
---json.encode(value [, options]) -> text | nil, message, code
---options: pretty (boolean: on many lines), indent (spaces a level, 1 to 16;
---implies pretty; 2), read (boolean: return text and what json.decode(text,
---options) does)
function json.encode(value, options) end
---@class llmprof.json.schemas
local schemas = {}
---schemas:add(name, text) -> true | nil, message, code
function schemas:add(name, text) end
---schemas:value(name) -> what json.decode(text, { ordered = true }) made of it,
---or nil
function schemas:value(name) end
---schemas:lacking() -> the name of one that another refers to, or nil
function schemas:lacking() end
---schemas:check(name, value [, definition]) -> nil, or what is wrong first:
---"$.stages[1].name: string expected, got 1"; a name that is not there, and a
---schema with what is not known, raise
function schemas:check(name, value, definition) end
end

do
---lines typed at a terminal.
---
---  local editor, why = lineedit.open "llmprof"
---  if not editor then return print(why) end
---  local line, message, code = editor:read "> "  -- nil alone: end of input
---@class llmprof.lineedit
local lineedit = {}
---lineedit.open(program) -> editor | nil, message, code
---@return llmprof.lineedit.editor?
function lineedit.open(program) end
---@class llmprof.lineedit.editor
local editor = {}
---editor:key() -> key, as read()
function editor:key() end
---editor:read(prompt) -> line | nil at the end of input | nil, message, code
---("interrupted": Ctrl-C)
function editor:read(prompt) end
---editor:complete(f): Tab calls f(line up to the cursor) -> text to insert or
---nil, lines to show or nil
function editor:complete(f) end
---editor:remember(line): add to the history
function editor:remember(line) end
---editor:load(path) -> true | nil, message, code
function editor:load(path) end
---editor:save(path) -> true | nil, message, code
function editor:save(path) end
end

do
---lines from programs that connect to a Unix socket.
---
---  local name = "@example-" .. require("llmprof.sys").pid()
---  local listener = assert(listen.open(name))
---  for _, heard in ipairs(assert(listener:poll())) do
---    if heard.line then assert(listener:send(heard.peer, "go\n")) end
---  end
---  listener:close()
---@class llmprof.listen
local listen = {}
---listen.open(path) -> listener | nil, message, code. "@NAME" is an abstract
---socket, for any user.
---@return llmprof.listen.listener?
function listen.open(path) end
---@class llmprof.listen.listener
local listener = {}
---listener:poll() -> list of { peer (a number), line }, without line where the
---peer is gone | nil, message, code
function listener:poll() end
---listener:peer(peer) -> pid, uid, as the system says | nil
function listener:peer(peer) end
---listener:send(peer, text) -> true | nil, message, code
function listener:send(peer, text) end
end

do
---tables and escaping.
---
---  local columns = { { title = "Kernel", max = 40, code = true },
---                    { title = "ms", align = "right" } }
---  local rows = { { "void f()", "1.25" } }
---  io.write((markdown.table(columns, rows)))
---  print(markdown.escape "a|b")                  --> a\|b
---@class llmprof.markdown
local markdown = {}
---markdown.escape(text) -> text that renders as it is, in a paragraph or a
---heading
function markdown.escape(text) end
---markdown.code(text) -> text as inline code
function markdown.code(text) end
---markdown.table(columns, rows [, options]) -> table, footnotes or nil, the
---number of footnotes
---columns: list of { title, align ("left", "right" or "center"), max (columns
---shown of a cell; a longer one gets a footnote), code (boolean) }.
---rows: list of lists of strings; a cell that is nil or false is empty.
---options: prefix (of footnotes, "k"), first (their first number, 1).
function markdown.table(columns, rows, options) end
end

do
---the exports of one run as one.
---
---  assert(merge.files({ "run.1.sqlite", "run.2.sqlite" }, "all.sqlite"))
---@class llmprof.merge
local merge = {}
---merge.files(list of paths, to) -> true | nil, message, code
function merge.files(list, to) end
end

do
---counters of the raw page that Nsight Compute prints.
---
---  local page = assert(ncu.open "raw.csv")
---  print(page:metrics()["gpu__time_duration.sum"])  --> s
---  local wanted = { ["gpu__time_duration.sum"] = true }
---  local counters = assert(page:counters(wanted))
---  print(#counters > 0)                             --> true
---@class llmprof.ncu
local ncu = {}
---ncu.open(path) -> page | nil, message, code
---@return llmprof.ncu.page?
function ncu.open(path) end
---ncu.parse(text) -> page | nil, message, code: the same of a string
---@return llmprof.ncu.page?
function ncu.parse(text) end
---@class llmprof.ncu.page
local page = {}
---page:metrics() -> table of base units by metric
function page:metrics() end
---page:counters(set of metrics) -> frame | nil, message, code; once
---(ncu/ncu_page.h has its columns)
function page:counters(set) end
end

do
---ranges and marks in the traces of this process. Without a tool
---that records them they cost nothing and do nothing.
---
---  nvtx.push "prefill"
---  nvtx.pop()
---  local phases = nvtx.domain "phases"
---  phases:push "analyse"
---  phases:pop()
---@class llmprof.nvtx
local nvtx = {}
---nvtx.push(name): a range of this thread begins
function nvtx.push(name) end
---nvtx.pop(): the range pushed last ends
function nvtx.pop() end
---nvtx.mark(name): a moment
function nvtx.mark(name) end
---nvtx.start(name) -> id of a range that may overlap others
function nvtx.start(name) end
---nvtx.stop(id)
function nvtx.stop(id) end
---nvtx.available() -> whether a tool records, which one or why not
function nvtx.available() end
---nvtx.domain(name) -> domain
---@return llmprof.nvtx.domain?
function nvtx.domain(name) end
---@class llmprof.nvtx.domain
local domain = {}
---domain:push(name)
function domain:push(name) end
---domain:pop()
function domain:pop() end
---domain:mark(name)
function domain:mark(name) end
---domain:start(name) -> id
function domain:start(name) end
---domain:stop(id): as the functions, in the domain
function domain:stop(id) end
end

do
---frames that outlive their trace, and values that were counted
---in several places.
---
---  local one = require("llmprof.frame").new(1, {
---    { name = "ns", type = "integer", values = { 5 } } })
---  local all = pack.join { one, one }
---  print(#all, pack.decode(pack.encode(all)):get(2, "ns"))  --> 2  5
---  local packing <close> = pack.gzip_begin(pack.encode(all))
---  print(packing:take():sub(1, 2) == "\31\139")           --> true
---@class llmprof.pack
local pack = {}
---pack.join(frames [, clocks, times]) -> frame of its own memory with the rows
---of all and the columns of the first. clocks: for each frame { offset, drift,
---at }: t becomes t - offset - drift * (t - at) in the columns that `times`
---names
function pack.join(frames, clocks, times) end
---pack.encode(frame) -> string
function pack.encode(frame) end
---pack.decode(string) -> frame | nil, message, code: the bytes are the world's
---
function pack.decode(string) end
---pack.gzip(bytes) -> the same as gzip
function pack.gzip(bytes) end
---pack.gzip_begin(bytes) -> packing, which goes on while the caller does;
---before it is closed no process is forked
---@return llmprof.pack.packing?
function pack.gzip_begin(bytes) end
---pack.spread(frame, by, value, weight [, percentiles]) -> list of groups, by
---first appearance: the key columns, and of the values, each counted as often
---as its weight says, count, total, min, max, mean, median, stddev, p90, ...
function pack.spread(frame, by, value, weight, percentiles) end
---@class llmprof.pack.packing
local packing = {}
---packing:take() -> what pack.gzip makes of the bytes, once: it is closed
function packing:take() end
end

do
---rows of a frame that come back at regular distances.
---
---  local kernels = require("llmprof.frame").new(3, {
---    { name = "start", type = "integer", values = { 0, 100, 200 } },
---    { name = "end", type = "integer", values = { 50, 150, 250 } },
---    { name = "name", type = "string", values = { "a", "a", "a" } } })
---  local rhythm = period.rhythms(kernels, { "name" }, 2)[1]
---  print(rhythm.period, rhythm.distances)        --> 100  2
---  print(#period.cycles(kernels, { "name" }, rhythm.row))  --> 3
---@class llmprof.period
local period = {}
---period.rhythms(frame, columns, least) -> list, in order of the groups' first
---rows, of { row (the group's first), distances, runs, longest, period
---(ns), span (ns), spread }. least: distances of the shortest run that
---counts.
function period.rhythms(frame, columns, least) end
---period.cycles(frame, columns, row) -> list of { first, next, rows, likeness,
---head, head_last } of the group that the row is in, in order. The last cycle
---has no `next`, one whose head was not compared no `head_last`.
function period.cycles(frame, columns, row) end
end

do
---what a program would take if something in it were different.
---
---  local opened = assert(require("llmprof.trace").open "run.sqlite")
---  local gpu = assert(opened:frame "gpu")
---  local r = replay.new { { operations = gpu,
---    calls = assert(opened:frame "api"),
---    ranges = assert(opened:frame "ranges") } }
---  local change = r:change()
---  print(change:scale(1, gpu, 0.5) == #gpu)      --> true
---  local changed = r:run(change)[1]              -- of the first part
---  print(changed:get(1, "end"), r:recorded()[1]:get(1, "end"))
---
---Times are ns. Parts count from 1. Failures are raised.
---@class llmprof.replay
local replay = {}
---replay.new(parts) -> replay; parts: { { operations, calls, ranges [, waits,
---records, offset] }, ... }, frames with the columns of replay/replay.h
---@return llmprof.replay.replay?
function replay.new(parts) end
---@class llmprof.replay.replay
local replay = {}
---replay:basis() -> { calls, operations, orphans, collectives, links, cpu (ns),
---derived (ns), waits (ns), unexplained (ns) }
function replay:basis() end
---replay:change() -> a change that changes nothing yet
function replay:change() end
---replay:run([change]) -> list of frames, one for each part: its ranges with
---start, end, gpu_start and gpu_end; dependencies that were missing
function replay:run(change) end
---replay:recorded() -> the same frames, as it was recorded
function replay:recorded() end
---replay:busy([replayed]) -> ns from the first range's start to the last one's
---end, summed over parts, and of it the time in which an operation ran, as
---recorded or in the last run
function replay:busy(replayed) end
---replay:waits() -> ns in calls that waited, as recorded, and in the last run
---
function replay:waits() end
---replay:waits_in(part, range) -> ns in synchronising calls inside a range, and
---of it the waits that nothing explains
function replay:waits_in(part, range) end
---@class llmprof.replay.change
local change = {}
---change:scale(part, operations, factor) -> how many: their time on the GPU
function change:scale(part, operations, factor) end
---change:remove(part, operations [, "work" | "call" | "gap"]) -> how many
function change:remove(part, operations, value) end
---change:ignore(part, operations) -> how many of collectives nobody waits for
---any more
function change:ignore(part, operations) end
---change:scale_all(factor): the time of all operations
function change:scale_all(factor) end
---change:cpu(part, ranges or nil, gap, call): factors of CPU gaps and of what
---calls take by themselves, inside ranges, or everywhere
function change:cpu(part, ranges, gap, call) end
---change:no_waits(part, ranges) -> how many calls wait no longer
function change:no_waits(part, ranges) end
---change:graph(part, ranges, { launch, node, between (ns), least }) -> how many
---calls one launch of a graph replaces in each of the ranges
function change:graph(part, ranges, columns) end
---change:blind(part) -> how many ranges were given the CPU times of others,
---and a list of booleans: which
function change:blind(part) end
end

do
---files built into the binary.
---
---  print(resources.list("conf/mode/")[1])        --> conf/mode/deep.yaml
---  print(resources.get "none")                   -->
---@class llmprof.resources
local resources = {}
---resources.get(path) -> contents, or nothing when there is no such file
function resources.get(path) end
---resources.list([prefix]) -> sorted list of paths
function resources.list(prefix) end
---resources.unpack(path, folder) -> true | nil, message, code: the files of a
---packed capture, into a folder that is there
function resources.unpack(path, folder) end
end

do
---copies of exports that can be handed on.
---
---  local taken = assert(scrub.copy("run.sqlite", "scrubbed.sqlite"))
---  print(math.type(taken.rows))                  --> integer
---@class llmprof.scrub
local scrub = {}
---scrub.copy(from, to) -> { rows, tables, strings } | nil, message, code:
---what was taken out
function scrub.copy(from, to) end
end

do
---frames as CSV, JSON or aligned lines, piece by piece.
---
---  local times = require("llmprof.frame").new(1, {
---    { name = "total", type = "integer", values = { 1234 } } })
---  local columns = { { key = "total", title = "Total (ns)", whole = true } }
---  for piece in sheet.next, sheet.open(times, columns, { format = "csv" }) do
---    io.write(piece)
---  end
---  assert(sheet.save(sheet.open(times, columns, {}), "kernels.csv"))
---@class llmprof.sheet
local sheet = {}
---sheet.open(frame, columns, options) -> sheet. columns: list of { key (column
---of the frame), title, whole, name, digits, scale, exact, raw }; options:
---format ("csv", "json" or "table"), guard, keep_invisible (booleans), width
---(integer).
function sheet.open(frame, columns, options) end
---sheet.next(sheet) -> the next piece, nil at the end
function sheet.next(sheet) end
---sheet.save(sheet, path [, soon]): all pieces that are left, as fs.write does;
---soon: as fs.write_soon
function sheet.save(sheet, path, soon) end
---sheet.send(sheet, file, name): all pieces that are left, into a file of Lua,
---which errors call by this name
function sheet.send(sheet, file, name) end
end

do
---which span of time rows are in, and what steps took. Each
---function adds columns to the frame that it is given first and returns that
---frame; failures are raised.
---
---  local new = require("llmprof.frame").new
---  local steps = new(2, {
---    { name = "start", type = "integer", values = { 0, 100 } } })
---  local ops = new(2, {
---    { name = "time", type = "integer", values = { 99, 100 } } })
---  spans.until_next(steps, { start = "start" }, "until")
---  spans.assign(ops, { time = "time" }, steps,
---               { start = "start", ["end"] = "until" }, "step")
---  print(ops:get(1, "step"), ops:get(2, "step"))  --> 0  1
---@class llmprof.spans
local spans = {}
---spans.until_next(frame, { start, key }, name): adds a column: when the next
---row of the key starts
function spans.until_next(frame, columns, name) end
---spans.assign(rows, { time, key }, spans, { start, end, key }, name): adds a
---column to rows: which span, counted from 0, as rows of operations are
function spans.assign(rows, columns, spans, name) end
---spans.look_up(rows, span, spans, column, name): adds a column to rows: the
---value in a column of the span that the column `span` names
function spans.look_up(rows, span, spans, column, name) end
---spans.least(spans, rows, span, value, name): adds a column to spans: the
---least value in a column of the rows that are in it
function spans.least(spans, rows, span, value, name) end
---spans.cover(spans, { start, end, key }, sets, name): adds a column: ns of
---each span that the intervals sets[key + 1] cover; without a key those of
---sets[1]
function spans.cover(spans, columns, sets, name) end
---spans.rest(spans, { start, end }, covered, name): adds a column: ns of each
---span that the column `covered` leaves
function spans.rest(spans, columns, covered, name) end
---spans.measure(steps, { rank, start }, ops, { step, start, end, work,
---launched, graphed, rank }): adds the columns of ranks/step_table.h to steps
---
function spans.measure(steps, columns, ops) end
end

do
---child processes.
---
---  local result = assert(spawn.run({ "sh", "-c", "echo hello; exit 3" }, {
---    timeout = 30,
---    on_line = function(line, stream) print(stream, line) end,
---  }))                                           --> stdout  hello
---  print(result.ok, result.code)                 --> false  3
---  print(select(3, spawn.run { "no-such-program" }))  --> notfound
---@class llmprof.spawn
local spawn = {}
---spawn.run(argv [, options]) -> result | nil, message, code
---
---argv: list of strings; the program is looked up in PATH unless it contains
---a "/". options:
---  stdout, stderr  path of a file to write, or "inherit" for ours
---  on_line         function(line, stream, terminator): stream is "stdout" or
---                  "stderr"; terminator "\n", "\r\n", "\r", "" when the
---                  output ended, nil when the line is over 1 MiB and goes
---                  on. Returning false stops the process. An error stops it,
---                  too, and is raised again
---  env             { NAME = value, or false to remove }, over ours
---  cwd             working directory
---  timeout         seconds; then SIGTERM to its process group
---  grace           seconds from there to SIGKILL; 5
---  kill_group      true: end what is left of the group when it exits
---  kill_orphans     true: the same for processes of it that left the group;
---                  they have LLMPROF_RUN_MARK in their environment
---  mark            its value, of spawn.mark; a new one unless given
---  hold_signals    true: signals that we get are not sent on; who started
---                  it ends it within the grace period
---  helper          true: it works for us alone, and ends with us and, if
---                  nobody is there to end it, by limits of its own
---
---result: ok (exit code 0), code or signal ("SIGKILL"), status (the code, or
---128 and the signal's number, as shells have it), timed_out, interrupted
---("SIGINT": a signal that we got and sent on), wall, user, system (seconds),
---max_rss (bytes; nil when below our own, which hides it), pid, orphans (list
---of { pid, name, lives (could not be ended) }: what kill_orphans found).
function spawn.run(argv, options) end
---spawn.start(argv [, options]) -> process | nil, message, code: as run, in
---the background. Lines are delivered, and the time-out is seen to, by pump,
---wait and stop only.
---@return llmprof.spawn.process?
function spawn.start(argv, options) end
---spawn.mark() -> a value for `mark` that nobody can guess | nil, message, code
---
function spawn.mark() end
---spawn.end_left(mark) -> list as a result's orphans: kill what a process that
---is gone left of a child with this mark
function spawn.end_left(mark) end
---spawn.which(name) -> absolute path | nil, message, code
function spawn.which(name) end
---@class llmprof.spawn.process
local process = {}
---process:pump([seconds]) -> true while it runs, false when it is done |
---nil, message, code. Delivers what is there; waits up to that long (0) for
---something if there is nothing.
function process:pump(seconds) end
---process:wait() -> result | nil, message, code; again and again if you like
function process:wait() end
---process:stop() -> result | ...: SIGTERM, grace, SIGKILL, to the group
function process:stop() end
---process:running() -> false once it has exited, delivered or not
function process:running() end
---process:pid() -> its number
function process:pid() end
---process:interrupted() -> "SIGINT": a signal that we got while it ran, as far
---as pumped; nil for none
function process:interrupted() end
---process:signal(name) -> true | nil, message, code; to its group
function process:signal(name) end
---process:close(): kills the group if it still runs
function process:close() end
end

do
---names of kernels however they are spelt.
---
---  print(spelling.of "void at::f<(int)4>(T1)")   --> at::f<4>
---@class llmprof.spelling
local spelling = {}
---spelling.of(name) -> what is the same for all spellings of the name
function spelling.of(name) end
end

do
---units, counters and samples of the collector's spools, as
---frames; llmprof.trace has their timeline.
---
---  local recorded, why = spool.open "run.spool"
---  if not recorded then return print(why) end
---  local counters = assert(recorded:frame "counters")
---@class llmprof.spool
local spool = {}
---spool.open(path) -> spool | nil, message, code
---@return llmprof.spool.spool?
function spool.open(path) end
---@class llmprof.spool.spool
local spool = {}
---spool:frame(name) -> frame | nil, message, code; name is one of units,
---counters, samples, metrics (spool/spool.h has their columns)
function spool:frame(name) end
end

do
---read-only queries.
---
---  local db = assert(sqlite.open "run.sqlite")
---  for row in db:query("SELECT ? + 1 AS n", 7) do print(row.n) end  --> 8
---  print(db:has "CUPTI_ACTIVITY_KIND_KERNEL")    --> true
---@class llmprof.sqlite
local sqlite = {}
---sqlite.open(path) -> database | nil, message, code
---@return llmprof.sqlite.database?
function sqlite.open(path) end
---@class llmprof.sqlite.database
local database = {}
---database:query(sql, ...) -> iterator for a generic for, which also frees
---the statement when the loop is left early. Broken SQL raises.
function database:query(sql, ...) end
---database:columns(sql, ...) -> list of { name, values }, number of rows;
---NULL is false. Broken SQL raises.
function database:columns(sql, ...) end
---database:has(table [, column]) -> boolean
function database:has(table, column) end
end

do
---the machine and this process.
---
---  local began = sys.monotonic()
---  print(sys.monotonic() >= began, math.type(began))  --> true  integer
---  print(sys.signal_name(2))                     --> SIGINT
---@class llmprof.sys
local sys = {}
---sys.realtime() -> nanoseconds since 1970-01-01 UTC
function sys.realtime() end
---sys.monotonic() -> nanoseconds, for differences only
function sys.monotonic() end
---sys.isatty(fd) -> boolean; fd: 0 stdin, 1 stdout, 2 stderr
function sys.isatty(fd) end
---sys.columns() -> width of the terminal, nil without one
function sys.columns() end
---sys.lines() -> height of the terminal, nil without one
function sys.lines() end
---sys.output_lost() -> nil while all that was printed on standard output has
---been written, "closed" when its reader has gone away, "failed" else
function sys.output_lost() end
---sys.pid() -> number of this process
function sys.pid() end
---sys.hostname() -> name | nil, message, code
function sys.hostname() end
---sys.uname() -> { sysname, release, version, machine }
function sys.uname() end
---sys.environ() -> { NAME = value }; the first of a doubled name counts, as
---for os.getenv
function sys.environ() end
---sys.cpu() -> { model, cores (logical), memory (bytes) }, unknown ones nil
function sys.cpu() end
---sys.in_container() -> true, evidence | false
function sys.in_container() end
---sys.executable() -> real path of the running binary | nil, message, code
function sys.executable() end
---sys.readable(fd, [seconds]) -> would reading not wait; within so long (0)
function sys.readable(fd, seconds) end
---sys.read(fd, most) -> bytes that are there, waiting for the first; "" at the
---end | nil, message, code
function sys.read(fd, most) end
---sys.signal_name(number) -> "SIGINT", nil for no signal
function sys.signal_name(number) end
---sys.kill(pid, "SIGTERM") -> true | nil, message, code: to one process, its
---number above 1
function sys.kill(pid, value) end
end

do
---widths, fitting text into columns, numbers for people.
---
---  print(text.truncate("void fill(Params)", 9))  --> void …ms)
---  print(text.duration(1245000))                 --> 1.25 ms
---  print(text.duration(1245000, { unit = "us" }))  --> 1245.00 µs
---@class llmprof.text
local text = {}
---text.width(s) -> columns
function text.width(s) end
---text.clean(s) -> s as one line, without control characters and malformed
---bytes
function text.clean(s) end
---text.clean_lines(s) -> the same, but tabs and newlines stay
function text.clean_lines(s) end
---text.html(s) -> s as one line, as an element or a quoted attribute shows it
---
function text.html(s) end
---text.truncate(s, columns [, "middle" | "end"]) -> s, at most that wide
function text.truncate(s, columns, value) end
---text.pad(s, columns [, "left" | "right" | "center"]) -> s, at least that
---wide
function text.pad(s, columns, value) end
---text.wrap(s, columns) -> list of lines
function text.wrap(s, columns) end
---text.number(value [, digits = 0 [, separator]]) -> "1234.50"
function text.number(value, digits, separator) end
---text.count(integer [, separator = ","]) -> "35,512"
function text.count(integer, separator, value) end
---text.percent(fraction [, digits = 1]) -> "35.2%"
function text.percent(fraction, digits) end
---text.duration(ns [, options]) -> "1.25 ms"
---options: unit ("ns", "us", "ms" or "s"; else the one that fits), digits,
---separator (between thousands), bare (boolean: without the unit).
function text.duration(ns, options) end
---text.bytes(count [, options]) -> "150.11 GB"
---options: as duration's, with unit "B", "kB" ... "EB" or "KiB" ... "EiB",
---and binary (boolean: units by 1024).
function text.bytes(count, options) end
---text.rate(value, suffix [, options]) -> "789.12 TFLOP/s"
---options: as duration's, with unit one of "" "k" "M" "G" "T" "P" "E".
function text.rate(value, suffix, options) end
---text.unit(quantity, value [, digits]) -> the unit that fits: give a column
---the unit of its largest value. quantity: "duration", "bytes", "binary" or
---"rate".
function text.unit(quantity, value, digits) end
end

do
---a timeline as frames. Times are ns since the trace began.
---
---  local opened = assert(trace.open "run.sqlite")
---  local kernels = assert(opened:frame "kernels")
---  print(opened:info().reader, #kernels > 0)     --> nsys  true
---  opened:close()
---@class llmprof.trace
local trace = {}
---trace.open(path [, cache]) -> trace | nil, message, code
---cache: { folder, least (bytes: of smaller files nothing is kept), most (bytes
---of all that is kept) }: columns that were kept there are used, and what is
---loaded is kept there when the trace is closed
---@return llmprof.trace.trace?
function trace.open(path, cache) end
---trace.operators(path) -> trace | nil, message, code: of a spool the units of
---operators, which it leaves out when it is opened as another trace
---@return llmprof.trace.trace?
function trace.operators(path) end
---trace.reader(path) -> name of the reader that claims the file ("nsys",
---"spool", "torch", "ncu", "folded") | nil, message, code; true behind the name
---where it holds a timeline
function trace.reader(path) end
---trace.hint(path) -> what to do about a file that could not be opened, in one
---line; nil: nothing is known
function trace.hint(path) end
---@class llmprof.trace.trace
local trace = {}
---trace:save() -> true | nil, message, code: keep what is not in the cache yet;
---closing does it, too, and says nothing when it cannot
function trace:save() end
---trace:info() -> { path, reader, schema, product, epoch (ns since 1970),
---cached (true: its columns were in the cache), keeps (true: what is loaded of
---it goes there) }; what the file does not say is
---nil
function trace:info() end
---trace:devices() -> list of { id, name, chip, uuid, bus, memory (bytes),
---bandwidth (bytes/s), clock (Hz), sm_count, l2 (bytes), compute }
function trace:devices() end
---trace:processes() -> list of { pid, name }, as far as tables are loaded
function trace:processes() end
---trace:threads() -> list of { pid, tid, name }, as far as tables are loaded
function trace:threads() end
---trace:has(table) -> were such events recorded; table is one of kernels,
---copies, sets, graphs, api, ranges, samples, cpu_samples
function trace:has(table) end
---trace:with_details() -> details of kernels are wanted, too: read them with
---the operations, where they are not loaded yet
function trace:with_details() end
---trace:knows(fact) -> can the trace say so; fact is one of calls (which
---launched an operation), graph_nodes, host_memory (of copies), payloads (of
---ranges), allocations, diagnostics
function trace:knows(fact) end
---trace:timeless() -> by table, as trace:has() names them, how many of its
---events had no start or no end and were left out; 0 before they are loaded
function trace:timeless() end
---trace:diagnostics() -> list of { severity ("info", "warning" or "problem"),
---text }: what the recorder noticed of itself
function trace:diagnostics() end
---trace:frame(name) -> frame | nil, message, code
---
---Frames of one name are views of one that lives as long as any of them: what
---one has worked out the others have, and what is added to one is its own.
function trace:frame(name) end
---trace:renew(name): frames of this name that are asked for from here on share
---nothing with those before, so that what they work out goes with them.
function trace:renew(name) end
---trace:steps(tags) -> frame of the ranges with one of these tags as the GPU
---ran them, see llmprof_trace_steps | nil, message, code
function trace:steps(tags) end
---trace:label(frame, name, tags) -> frame with two more columns: `name`, the
---tag, or the label given for it, of the innermost of those ranges around each
---operation's launch, or from each range outwards, and `name`_range, that
---range's row.
function trace:label(frame, name, tags) end
---trace:stack_tree(frame [, { least, most }]) -> frame of the stacks of CPU
---samples, or of operations, as a tree, see llmprof_trace_stack_tree | nil,
---message, code. least: samples, or ns, of what is there, 1 unless set; most:
---rows.
function trace:stack_tree(frame, columns) end
---trace:stack_functions(frame) -> frame of the functions on the stacks of CPU
---samples, see llmprof_trace_stack_functions | nil, message, code
function trace:stack_functions(frame) end
---trace:label_spans(frame, name, spans) -> frame with two more columns: `name`,
---the name of the span in which each operation starts, and `name`_range, the
---span's number from 0. spans: list of { name, start, stop }, ns.
function trace:label_spans(frame, name, spans) end
---trace:write_folded(frame, path [, options]) -> { stacks, samples,
---without_stack } of the CPU samples, or of operations by ns, that were written
---as collapsed stacks | nil, message, code. options: packed (boolean: as gzip)
---
function trace:write_folded(frame, path, options) end
---trace:write_speedscope(frame, path [, options]) -> { stacks, weight,
---without_stack } of the stacks of CPU samples, or of operations by ns, that
---were written for speedscope.app | nil, message, code. options: packed
---(boolean: as gzip)
function trace:write_speedscope(frame, path, options) end
---trace:perfetto(path [, options]) -> counts of what was written:
---{ operations, ranges, calls, flows, lanes, long_names (of more than 8 KiB,
---which were cut) } | nil, message, code
---options: packed (boolean: as gzip), windows (list of { first, last }, ns
---since the session started, in order: only what lies there)
function trace:perfetto(path, options) end
---trace:sqlite(path) -> counts of what was written, in the schema of nsys:
---{ operations, ranges, calls } | nil, message, code
function trace:sqlite(path) end
end

do
---what this build is; fields, no functions.
---
---  print(version.version:match "^%d+%.%d+%.%d+$" ~= nil)  --> true
---@class llmprof.version
local version = {}
---version.version: "1.2.3"
version.version = nil
---version.compiler: its name and version
version.compiler = nil
---version.nvtx: boolean, whether NVTX was there to build with
version.nvtx = nil
end

do
---YAML text and Lua values.
---
---  local preset = assert(yaml.decode "trace: [cuda, nvtx]")
---  print(preset.trace[2])                        --> nvtx
---  io.write(yaml.encode(yaml.ordered({ b = 1, a = 2 }, { "b" })))
---@class llmprof.yaml
local yaml = {}
---yaml.null: what null is in a table
yaml.null = nil
---yaml.list([t]) -> t, marked as a list, which an empty table is not
function yaml.list(t) end
---yaml.ordered(t, keys) -> t, whose keys are written in that order first
function yaml.ordered(t, keys) end
---yaml.decode(text [, options]) -> value | nil, message, code
---options: name (in messages, "yaml"), max_depth, max_size, max_nodes
function yaml.decode(text, options) end
---yaml.load(path [, options]) -> value | nil, message, code
function yaml.load(path, options) end
---yaml.encode(value) -> text | nil, message, code
function yaml.encode(value) end
---yaml.encode_line(value) -> text | nil, message, code: in flow style, to stand
---behind "key: "
function yaml.encode_line(value) end
end

---@class llmprof.Config
---@field cache llmprof.Config.cache Keys cache.*
---@field capture "auto"|"nsys"|"builtin"|"recorded"|"files"|"none" Where the timeline comes from; none: the program runs by itself, and what it says of itself is all
---@field collector llmprof.Config.collector Keys collector.*
---@field compare llmprof.Config.compare Keys compare.*
---@field counters llmprof.Config.counters Keys counters.*
---@field cpu_stacks? string[] Files of collapsed stacks that a sampler such as py-spy or perf took of the run, STAGE=FILE of one stage
---@field files? string[] With capture=files: traces of any format that is read, and folders of them
---@field hardware llmprof.Config.hardware Keys hardware.*
---@field launch llmprof.Config.launch Keys launch.*
---@field limits llmprof.Config.limits Keys limits.*
---@field mode? string A preset of presets: how deep to measure; default unless set
---@field model llmprof.Config.model Keys model.*
---@field ncu llmprof.Config.ncu Keys ncu.*
---@field nsys llmprof.Config.nsys Keys nsys.*
---@field operators "on"|"off" Run the workload once more under its own profiler
---@field out? string Write the bundle into this folder instead of tmp/stage2/<run id>
---@field overhead "before"|"measure"|"off" Time the workload without the profiler: in a plain run before the timeline, in one before and one after it (measure), or not; servers are not unless this is set
---@field price llmprof.Config.price Keys price.*
---@field python string The Python that runs the workload
---@field recorded? string Folder of the recorded capture; recorded/<recipe> beside the recipe unless set
---@field repeats llmprof.Config.repeats Keys repeats.*
---@field report string[] Sections of the report
---@field run llmprof.Config.run Keys run.*
---@field timeline "on"|"off" Capture a timeline; off measures counters alone
---@field tools llmprof.Config.tools Keys tools.*
---@field top_n llmprof.Config.top_n Keys top_n.*
---@field workload llmprof.Config.workload Keys workload.*
---@field [string] any Keys of the recipe's own

---@class llmprof.Config.cache
---@field bytes? integer Disk that what was read from traces may take in the cache, where the next command finds it; 4 GB, or a tenth of what is free, unless set; 0 keeps nothing

---@class llmprof.Config.collector
---@field graphs "node"|"graph" CUDA graphs as a row per node, or as one
---@field memory string Most memory of the collector's buffers in a process
---@field plan? string[] More lines of the collector's plan, KEY=VALUE each
---@field samples_hz integer Hardware samples per second in the timeline; 0: none
---@field sources "auto"|"python"|"off" Lines of Python that launch kernels: auto, of CUDA graphs too where they are captured after plain repeats; python, with CUPTI there from the start, which makes graphs of plain repeats 3 to 10 % slower; off
---@field units? string What units of the workload are, as docs/collector.md has it; as the counters ask for unless set
---@field yield "on"|"off" A torch.profiler of the workload's own gets CUPTI when it starts, and the timeline ends there; no waits, samples and counters

---@class llmprof.Config.compare
---@field assumed integer Two single runs of the same thing are assumed to differ by this many percent, where nothing tells by how much

---@class llmprof.Config.counters
---@field by "on"|"auto"|"builtin"|"ncu"|"off" counters=WORD: measure the selected kernels with hardware counters: on and auto by what took the timeline, builtin by llmprof's collector in the same run, or by ncu
---@field set? string What to measure, by the collector and by ncu alike: light, roofline, full (help counters), or a file with a metric a line; unless set light by the collector, the ncu preset's request by ncu

---@class llmprof.Config.hardware
---@field bandwidth_bytes_per_s? number Memory bandwidth of the GPU in bytes/s; as conf/hardware says unless set
---@field name? string The GPU, a file in conf/hardware; found by the device's name unless set
---@field peak_per_s? number Dense FLOP/s of the GPU in the model's number format; as conf/hardware says unless set

---@class llmprof.Config.launch
---@field args string[] More arguments for what starts them, word by word
---@field gpus "all"|"one" Each rank sees all GPUs and LOCAL_RANK says which is its own, or that one alone
---@field grace_s integer Seconds that the others have when a rank has failed
---@field ranks integer Ranks to start the workload as, with a capture of each
---@field with "local"|"torchrun"|"mpirun"|"srun" What starts them

---@class llmprof.Config.limits
---@field bytes? integer Memory to take at most; half of the machine's unless set
---@field ratio? integer What comes out of a packed file to what goes in, at most; 200 unless set
---@field rows? integer Rows of a table that are read at most; a thousand million unless set
---@field seconds? integer Reading one file takes at most; 600 unless set
---@field threads? integer Threads that read and write traces at once; as many as there are processors unless set

---@class llmprof.Config.model
---@field arch? string Its architecture: a name of conf/model, or a file
---@field config? string Its architecture, a Hugging Face config.json; goes before model.arch
---@field dtype? string What it computes in
---@field kv_dtype? string What its KV cache is stored in; as its architecture says unless set
---@field name? string The model, as reports call it
---@field variant? string Its size or flavour
---@field weight_dtype? string What its weights are stored in; as its architecture says unless set

---@class llmprof.Config.ncu
---@field budget_s integer Seconds that measuring counters may take, as predicted
---@field cache_control "all"|"none" Caches before each pass
---@field clock_control "none"|"base"|"boost"|"reset" Clocks while profiling
---@field extra_args? string[] More options for ncu, word by word
---@field force_overwrite boolean Overwrite an existing report
---@field kernel_name_base "auto"|"function"|"demangled"|"mangled" What kernel filters match: auto takes mangled names where the timeline has them, else function
---@field max_new_tokens? integer Tokens generated while counters are measured; as many as for the timeline unless set
---@field metrics? string[] More metrics
---@field nvtx_include? string[] Select and profile kernels in these NVTX ranges, decode* in stages that begin so; in the recipe's stages unless set
---@field preset string Preset of Nsight Compute options
---@field replay_mode "kernel"|"application"|"range"|"app-range" How passes are repeated
---@field sections? string[] More sections, by identifier
---@field set? string Section set
---@field target_processes "all"|"application-only" Which processes
---@field timeout_s integer Seconds after which a counter run is ended

---@class llmprof.Config.nsys
---@field capture_range "none"|"nvtx"|"cudaProfilerApi" What starts and ends the capture
---@field capture_range_end? string What happens at the end of a capture range: none, stop, stop-shutdown, repeat, repeat:N or repeat-shutdown:N
---@field cpuctxsw "none"|"process-tree"|"system-wide" Context switch tracing
---@field cuda_graph_trace "node"|"graph" CUDA graphs as one row, or a row per node
---@field cuda_memory_usage? boolean Record memory allocation events
---@field export_timeout_s integer Seconds after which exporting is given up
---@field extra_args? string[] More options for nsys profile, word by word
---@field gpu_metrics "on"|"off" Sample hardware counters of all GPUs over time
---@field keep_report boolean Keep run.nsys-rep, which holds the environment of the workload
---@field kill? string Signal to the workload when the session ends
---@field nvtx_capture? string With capture_range=nvtx: range or range@domain
---@field nvtx_domain_exclude? string[] Leave these NVTX domains out
---@field nvtx_domain_include? string[] Trace these NVTX domains only
---@field preset string Preset of Nsight Systems options
---@field sample "none"|"process-tree"|"system-wide" CPU sampling
---@field scrub boolean Keep the export without environment, command lines and paths
---@field trace string[] What to trace
---@field trace_fork_before_exec? boolean Trace children before they exec
---@field wait? "primary"|"all" Wait for the first process or for all

---@class llmprof.Config.price
---@field currency string What price.per_hour is in
---@field per_hour? number What an hour of one GPU costs; an example from conf/hardware unless set

---@class llmprof.Config.repeats
---@field skip_first "auto"|"yes"|"no" Leave the first repeat out of the figures: auto does so when it took far longer than the others

---@class llmprof.Config.run
---@field id? string Name of the run; UTC time and recipe unless set
---@field representative_max_new_tokens? integer Tokens generated in every capture of the run, in place of infer.max_new_tokens
---@field root string Where runs are kept
---@field dir string The run's folder, for `workload`; no key that can be set

---@class llmprof.Config.tools
---@field collector? string Path of libllmprof_collector.so; found by itself unless set
---@field ncu? string Path of ncu; found by itself unless set
---@field nsys? string Path of nsys; found by itself unless set

---@class llmprof.Config.top_n
---@field coverage number Stop when these cover this share of GPU time
---@field kernels integer Kernels to select, at most
---@field launches_per_kernel integer Launches of each to measure
---@field per_stage boolean Select for each stage, not over all

---@class llmprof.Config.workload
---@field operators_trace? string Chrome trace of torch.profiler to take the operators from, instead of a run under it
---@field stall_s integer Seconds without progress after which a program is ended: no line printed, no file written where it may, and no processor time used but under ncu
---@field timeout_s? integer Seconds after which the workload is ended

---@class llmprof.Results
---@field advice llmprof.results.advice
---@field counters? llmprof.results.counters
---@field cpu_samples? llmprof.results.cpu_samples What the CPU was in: stacks that were sampled; absent where none were
---@field efficiency? llmprof.results.efficiency docs/metrics.md; of a stage, or of all without a parent together
---@field engine? { name?: string, title?: string } The serving engine that ran the model, by its ranges or kernels
---@field engine_metrics? llmprof.results.engine_metrics What the engine's own page said before, in and after the window
---@field environment llmprof.results.environment Where it was captured: versions and machine, as far as anything says
---@field framework? { name?: "pytorch"|"jax"|"ggml", title?: string } What the program is written with, by its kernels, its ranges or what it says
---@field gaps? llmprof.results.gap[] The longest times within repeats in which a GPU did nothing, longest first
---@field hardware? llmprof.results.hardware What the GPU could do at most
---@field headroom? llmprof.results.headroom[] Kernels by what an instance of their stage could get back, largest first
---@field inferred? llmprof.results.inferred How stages were found that no NVTX range marks; absent where one does
---@field integrity? llmprof.results.integrity
---@field kernels llmprof.results.kernel[] By stage and part, largest total time first; the used repeats only
---@field latency? llmprof.results.latency
---@field layers? llmprof.results.step_layers Of a decode step, on the busiest GPU: docs/metrics.md
---@field lines? { rows?: llmprof.results.line[], stages?: llmprof.results.stage_lines[] } Lines of the program that launched operations; absent where the trace has no stacks
---@field load? llmprof.results.load Requests that came by themselves, not in rounds, as their clients saw them
---@field missing llmprof.results.missing[]
---@field model? llmprof.results.model The recipe's model, over it what the workload says in metrics.json
---@field modules? { layers?: llmprof.results.marked[], modules?: llmprof.results.marked[], operators?: llmprof.results.marked[] } What stacks of launches or NVTX ranges name; absent where nothing does
---@field operators? llmprof.results.operators The framework's operators in a run. docs/workload.md explains it.
---@field other_kernels? llmprof.results.other_kernels[] What those are that kernels leaves out, where there are more than 10,000 names
---@field overhead? llmprof.results.overhead What profiling cost: plain runs beside the profiled one
---@field ranks? llmprof.results.ranks Steps, ranks and collectives: docs/ranks.md
---@field repeats? llmprof.results.repeats
---@field roofline? llmprof.results.roofline
---@field run llmprof.results.run
---@field running_cost? llmprof.results.running_cost Money and energy; absent where neither is known of any stage
---@field schema_version 1
---@field selection? llmprof.results.selection Kernels to measure with counters
---@field source llmprof.results.source
---@field stages llmprof.results.stage[]
---@field totals? llmprof.results.totals The whole capture, stages and repeats or not
---@field transfers? llmprof.results.transfer[]

---@class llmprof.results.abstention
---@field rule string
---@field why string

---@class llmprof.results.advice
---@field abstained llmprof.results.abstention[]
---@field findings llmprof.results.finding[]
---@field note? string Which gains must not be added up
---@field silent? llmprof.results.silence[]

---@class llmprof.results.api
---@field launch llmprof.results.calls
---@field memory llmprof.results.calls
---@field other llmprof.results.calls
---@field sync llmprof.results.calls

---@class llmprof.results.between_steps
---@field between_ns number From step to step; ns
---@field count number Steps
---@field graph_ns? number Within replays of CUDA graphs, and before them once they are launched; ns
---@field host_ns? number as in waiting; ns
---@field idle_ns number GPU idle in it; ns
---@field launch_ns? number as in waiting; ns
---@field memory_ns? number as in waiting; ns
---@field other_ns? number as in waiting; ns
---@field sync_ns? number as in waiting; ns

---@class llmprof.results.calls
---@field calls number A count, as the mean of the used instances
---@field ns number Nanoseconds

---@class llmprof.results.category
---@field calls number A count, as the mean of the used instances
---@field category string
---@field gpu_time_ns number Nanoseconds
---@field share? number 0 to 1

---@class llmprof.results.ceiling
---@field format string
---@field per_s number FLOP/s, at the clock that was held where that is known

---@class llmprof.results.change
---@field from integer As it is configured
---@field key string Of the configuration
---@field to integer While counters are measured

---@class llmprof.results.check
---@field fix? string How to capture again
---@field level "ok"|"warning"|"problem"
---@field name string
---@field text string What was seen

---@class llmprof.results.client_times
---@field count integer How many
---@field max_ns? number Nanoseconds
---@field mean_ns number Nanoseconds
---@field min_ns? number Nanoseconds
---@field p50_ns? number Nanoseconds
---@field p90_ns? number Nanoseconds
---@field p99_ns? number Nanoseconds

---@class llmprof.results.collective_kernel
---@field algbw? number bytes/s
---@field algorithm? string In files of versions that took it from the kernel's name
---@field busbw? number bytes/s
---@field bytes? number Of a message, in the median
---@field count integer Of one rank
---@field decode_count? integer Of these in decode steps
---@field library string
---@field link? string Between the GPUs, as conf/hardware says
---@field link_share? number busbw of what that carries in one direction
---@field matched integer Collectives that met, each once
---@field name string
---@field op string
---@field protocol? string The same
---@field ranks integer How many
---@field skew_p50_ns? number From the first arrival to the last; ns
---@field total_ns number Of all ranks; ns
---@field transfer_ns? number Nanoseconds
---@field transfer_p50_ns? number Nanoseconds
---@field waiting_ns? number Nanoseconds

---@class llmprof.results.collective_totals
---@field beyond_ns? number Of that, beyond what such transfers take: it may be waiting for a rank that is not in the capture; ns
---@field collective_ns? number Nanoseconds
---@field count integer Kernels
---@field exposed_ns? number Nanoseconds
---@field hidden_ns? number Nanoseconds
---@field matched integer Collectives, each once
---@field transfer_ns? number From the last start to the last end, each collective once; ns
---@field unmatched integer Kernels without a counterpart
---@field waiting_ns? number Nanoseconds

---@class llmprof.results.contradiction
---@field difference number Over the larger one
---@field timeline_ns number Nanoseconds
---@field workload_ns number Nanoseconds

---@class llmprof.results.cost
---@field activation_bytes? number Inputs and outputs of all products; not part of bytes
---@field bytes? number That have to move; bytes
---@field flops? number FLOP
---@field formula? table<string, string>
---@field kv_read_bytes? number Of the cache
---@field kv_write_bytes? number Of the cache
---@field parts? { flops?: number, name?: string, weight_bytes?: number }[]
---@field sequence? { bytes?: number, flops?: number, name?: string }[] What follows each other, so that least times add up: encoders, decoder
---@field source string Description of the model, or the recipe
---@field weight_bytes? number Each once per pass
---@field work? table What the costs are for: batch, tokens, ...

---@class llmprof.results.counters
---@field by_correlation? integer Of these, found by their correlation id in the same process; the others by name, stage and launch configuration
---@field coverage? number Share of the kernels' time whose launches were measured in their stage and with their shapes; 0 to 1
---@field elsewhere? number Share of the kernels' time whose launches were measured with their shapes, but in another stage, where ncu met them first; 0 to 1
---@field kernels integer That have counters
---@field lacking? ({ coverage?: number, name?: "DRAM"|"L2"|"L1"|"SM"|"occupancy"|"FLOP" })[] What the counters do not tell of all kernels that they cover, and of which share of the kernels' time they do; absent for nothing
---@field launches integer Measured by ncu
---@field matched integer Found in the timeline
---@field ranges? llmprof.results.range_counters[] Of range replay, in the order measured
---@field stages? { coverage?: number, name?: string }[] The same of each stage

---@class llmprof.results.counters_source
---@field file string In the bundle
---@field from "live"|"recorded"|"builtin"|"files"
---@field tool? string

---@class llmprof.results.cpu_samples
---@field outside? integer Of these, taken in no stage of a repeat that counts
---@field stages llmprof.results.sampled_stacks[] By stage, first those of the timeline, then those of files beside it
---@field timeline? integer Samples that the timeline has

---@class llmprof.results.described
---@field formats { activations?: string, embeddings?: string, experts?: string, kv?: string, projections?: string, weights?: string }
---@field parameters { active?: integer, decoder?: integer, encoders?: integer, total?: integer }
---@field source string

---@class llmprof.results.device
---@field bandwidth_bytes_per_s? integer Of its memory, in theory; bytes/s
---@field chip? string
---@field compute_capability? string
---@field id integer As the timeline counts GPUs
---@field l2_bytes? integer Bytes
---@field max_clock_hz? integer Of the SMs; Hz
---@field memory_bytes? integer Bytes
---@field name? string
---@field sm_count? integer Streaming multiprocessors
---@field uuid? string

---@class llmprof.results.distribution
---@field count integer Values
---@field max_ns number Nanoseconds
---@field mean_ns number Nanoseconds
---@field min_ns number Nanoseconds
---@field p50_ns? number Nanoseconds
---@field p90_ns? number Of 10 values or more; ns
---@field p99_ns? number Of 100 values or more; ns
---@field slope_error_ns? number Standard error of the slope
---@field slope_ns_per_token? number How much longer each step is than the one before; ns
---@field source? "ranges"|"inferred"|"metrics"|"stage"|"clients" NVTX ranges of steps, inferred steps, the workload's steps_ms, stage over steps; of TTFT a server's clients
---@field std_ns? number Of the sample (n - 1); ns
---@field trend? "longer"|"shorter"|"none" Of the steps; none within three standard errors of the slope
---@field values_ns? number[]

---@class llmprof.results.dropped
---@field kernel integer id
---@field launches integer That it would have taken
---@field seconds number Predicted; s
---@field why? string Why its name cannot be asked for

---@class llmprof.results.efficiency
---@field bytes? number Of all stages together
---@field floor_bound? "compute"|"memory"
---@field floor_ns? llmprof.results.quantity A value, or a ratio above 1 with the contradiction it is
---@field floor_share? llmprof.results.quantity A value, or a ratio above 1 with the contradiction it is
---@field flops? number Of all stages together
---@field hfu? llmprof.results.quantity A value, or a ratio above 1 with the contradiction it is
---@field hfu_note? string What hfu counts, or why it is absent
---@field intensity? llmprof.results.quantity A value, or a ratio above 1 with the contradiction it is
---@field mbu? llmprof.results.quantity A value, or a ratio above 1 with the contradiction it is
---@field mfu? llmprof.results.quantity A value, or a ratio above 1 with the contradiction it is
---@field mfu_at_clock? llmprof.results.quantity A value, or a ratio above 1 with the contradiction it is
---@field time_ns? number Of one instance; ns
---@field time_source? string Plain runs or the profiled one

---@class llmprof.results.engine_level
---@field max number Most
---@field mean number Mean of the looks
---@field min number Least

---@class llmprof.results.engine_look
---@field at_ns number On the clock of the steps; ns
---@field batch? number Of these, mean
---@field kv_use? number Of the KV cache, 0 to 1
---@field preemptions? number Since the look before
---@field running? number Requests
---@field step_ns? number Length of these, mean; ns
---@field steps? integer That began since the look before
---@field waiting? number Requests

---@class llmprof.results.engine_metrics
---@field acceptance? number Speculated tokens that were accepted over those drafted
---@field complaint? string
---@field failed? integer Times that it could not be
---@field kv_use? llmprof.results.engine_level Over the looks: requests, or the share of the KV cache that is in use
---@field looks integer Times that it was read
---@field preemptions? number Requests that lost their KV cache to others, from the first look to the last
---@field prefix_hit_share? number Tokens found in the prefix cache over those looked for
---@field running? llmprof.results.engine_level Over the looks: requests, or the share of the KV cache that is in use
---@field tokens_per_verification? number Tokens that a request gets from one verification of speculated ones
---@field waiting? llmprof.results.engine_level Over the looks: requests, or the share of the KV cache that is in use

---@class llmprof.results.environment
---@field commit? string Of the code that ran: env.json
---@field commit_changed? boolean A file that it tracks was another
---@field cpu? string
---@field cuda? string
---@field devices? llmprof.results.device[]
---@field driver? string
---@field gpus? table[] The GPUs of the machine, by NVML
---@field kernel? string Of the operating system
---@field ncu? string Version
---@field nsys? string Version

---@class llmprof.results.evidence
---@field source string
---@field text string

---@class llmprof.results.finding
---@field after? integer[] Ranks of the findings that have to be dealt with first
---@field assumption? string What the gain takes for granted
---@field behind? "waiting" Comes back only once the GPU no longer waits
---@field blocking? true To be dealt with before all others
---@field confidence "high"|"medium"|"low"
---@field evidence llmprof.results.evidence[]
---@field gain_ns? number What one instance of the stage could get back at most; ns
---@field gain_share? number 0 to 1
---@field kernels? integer[] id of kernels
---@field of? string Where of_ns is from: timeline, plain runs
---@field of_ns? number Time of the stage; ns
---@field rule string
---@field spends? "waiting"|"gpu" Part of the stage's time it is taken from
---@field stage? string
---@field title string
---@field try string
---@field unlocks? integer[] Ranks of the findings that have to wait for this one

---@class llmprof.results.gap
---@field before? string What ended when it began
---@field call? string The call that took most of it
---@field call_ns? number How much of it
---@field ended_by? string What began when it ended
---@field graph_ns? number Within replays of CUDA graphs, and before them once they are launched; ns
---@field host_ns? number It was in no CUDA call
---@field launch_ns? number The CPU was in launching calls
---@field layer? integer Of that step, from 0
---@field line? string That launched what began
---@field line_before? string That launched what ended
---@field memory_ns? number It allocated or freed memory
---@field module? string For which it did
---@field ns integer How long; ns
---@field other_ns? number It was in other CUDA calls
---@field rank? integer Whose GPU, of several
---@field rep? integer Repeat
---@field stage? string Of what ended it, or the part of a stage
---@field start_ns integer Since the trace began
---@field step? integer Of that stage, from 1
---@field sync_ns? number It waited for the GPU

---@class llmprof.results.group
---@field coverage? number Selected ones' share of the kernels' time, what was aimed at; 0 to 1
---@field kernels integer[] id of kernels
---@field name string Stage, or all
---@field of integer Kernels it has

---@class llmprof.results.hardware
---@field clock? { hz?: number, samples?: integer, source?: string } Of the SMs, held while kernels ran
---@field count integer GPUs that ran kernels
---@field file? string In conf/hardware
---@field format string Number format of the model's products
---@field l2? llmprof.results.peak Of one GPU: dense FLOP/s or OP/s, or byte/s
---@field memory? llmprof.results.peak Of one GPU: dense FLOP/s or OP/s, or byte/s
---@field name? string
---@field peaks table<string, llmprof.results.peak> By number format
---@field sm_count? integer Of one GPU
---@field source? string Of the figures of that file

---@class llmprof.results.headroom
---@field headroom_ns number Nanoseconds
---@field kernel integer id
---@field kind string As the kernel's headroom_kind
---@field part? string
---@field per_instance_ns number Nanoseconds
---@field per_token_ns? number Per step; ns
---@field stage string
---@field stage_share? number 0 to 1

---@class llmprof.results.host_step
---@field count integer Steps
---@field lead_max_ns number The longest such time; ns
---@field lead_ns number How long after its range a token was there, as a mean; ns
---@field max_ns number Nanoseconds
---@field mean_ns number Nanoseconds
---@field min_ns number Nanoseconds
---@field p50_ns? number Nanoseconds
---@field p90_ns? number Nanoseconds
---@field p99_ns? number Nanoseconds
---@field std_ns? number Of the sample (n - 1); ns

---@class llmprof.results.idle_thread
---@field call? string The CUDA call with the most of it
---@field call_ns? number Nanoseconds
---@field calls_ns number Of that, in CUDA calls that do not wait for the GPU; ns
---@field idle_ns number The GPU waited for such steps, all together; ns
---@field phase? string
---@field pid integer Of its process
---@field range? string The NVTX range with the most of it
---@field range_ns? number Nanoseconds
---@field ranges_ns number In NVTX ranges; ns
---@field rank integer Its number, from 0
---@field thread? string Its name
---@field tid integer The thread's number
---@field waiting_ns number In CUDA calls that do; ns

---@class llmprof.results.inferred
---@field anchor string The kernel, or CUDA graph, that comes once in a step
---@field confidence number Of 1
---@field generations integer Found
---@field layers? integer Of a step
---@field named boolean Its name says that it comes once per token
---@field period_ns number Nanoseconds
---@field steps integer Found

---@class llmprof.results.inflation
---@field certain? boolean Is it more than the plain runs differ by? Absent when there was one
---@field inflation number Profiled over plain, - 1
---@field name string Of the stage
---@field plain_max_ms number ms
---@field plain_min_ms number ms
---@field plain_ms number Mean of the runs; ms
---@field profiled_ms number ms

---@class llmprof.results.input
---@field calls integer
---@field sequences? integer The batch; absent where sequences follow each other in one row
---@field tokens integer Of each sequence, or of all

---@class llmprof.results.instance
---@field copies integer Launched by it
---@field gpu_busy_ns number Nanoseconds
---@field gpu_idle_ns number Nanoseconds
---@field gpu_time_ns number Nanoseconds
---@field graphs integer Traced as one row
---@field host_ns? number Length of the range on the CPU; ns
---@field kernels integer Launched by it
---@field launches integer API calls that started GPU work
---@field rep integer Repeat it belongs to
---@field sets integer Launched by it
---@field start_ns integer When the GPU could begin it, since the session started; ns
---@field used boolean Is it part of the stage's figures
---@field wall_ns number Nanoseconds

---@class llmprof.results.integrity
---@field checks llmprof.results.check[]
---@field verdict "good"|"fair"|"poor" The worst level

---@class llmprof.results.joined
---@field by_name llmprof.results.joined_part Joined by a name that only one operator launches
---@field by_order llmprof.results.joined_part Joined by what was launched before and after
---@field gpu_time_ns integer Of all of them
---@field joined_outside_ns? integer The part of it before launches that joined
---@field launches integer All, joined or not
---@field operators llmprof.results.joined_operator[]
---@field outside_ns? integer GPU idle before them with the CPU in no CUDA call

---@class llmprof.results.joined_operator
---@field gpu_time_ns integer On the timeline
---@field launches integer
---@field name string
---@field outside_ns? integer GPU idle before its launches with the CPU in no CUDA call
---@field share? number Of the GPU time of all launches of the stage
---@field stage string

---@class llmprof.results.joined_part
---@field gpu_time_ns integer
---@field launches integer

---@class llmprof.results.kernel
---@field calls integer Launches in the used repeats
---@field category string
---@field counters? llmprof.results.kernel_counters From ncu: what its shapes say together, each as often as it ran. Amounts are weighted by calls, percentages by time
---@field cumulative? number 0 to 1
---@field device? integer Where it ran, if on one GPU
---@field devices? integer On how many GPUs it ran
---@field floor_ns? number Least time of all calls together by their counters; ns
---@field headroom_kind? string measured, upper bound: why, contradiction: what
---@field headroom_ns? number total_ns less that; ns
---@field id integer Place in this list
---@field label? string Name for people, one per name of the 10,000 largest; short_name for others
---@field launch? llmprof.results.launch What follows from the launch configuration of the shape with the most time, and the chip's limits
---@field lines? { calls?: integer, function?: string, gpu_ns?: number, line?: string }[] That launched it, where stacks are known: the five with most of its time
---@field max_ns number Nanoseconds
---@field mean_ns number Nanoseconds
---@field median_ns number Nanoseconds
---@field min_ns number Nanoseconds
---@field module? string Torch module of most of its time; numbers as `*`
---@field name string Demangled
---@field part? string Child stage
---@field shapes llmprof.results.shape[] None where the trace does not say them
---@field share? number Of the time of the kernels of all stages
---@field short_name string Function name without parameters
---@field stage string
---@field stage_cumulative? number 0 to 1
---@field stage_share? number Of the time of the kernels of its stage
---@field std_ns? number Of the sample (n - 1); ns
---@field total_ns number Nanoseconds

---@class llmprof.results.kernel_counters
---@field adu_percent? number 0 to 100, as ncu gives it
---@field alu_percent? number 0 to 100, as ncu gives it
---@field bank_conflict_percent? number Of the wavefronts of shared memory those that conflicts of banks add
---@field bound? "DRAM"|"L2"|"L1"|"tensor"|"fp32"|"fp64"|"ALU"|"XU"|"LSU"|"TEX"|"ADU"|"uniform"|"MIO"|"issue"|"some SM unit"|"L2 or L1"|"DRAM, L2 or L1"|"latency"|"waiting"|"unknown" The busiest unit from 60 % on, by percents or by rates over the GPU's peaks, or those that it may be where ncu's sum over units is above all that were measured; latency below, where all units are known; unknown: a unit that it depends on was not measured; waiting: for other ranks
---@field bound_percent? number That decided: of the busiest unit's peak; absent where the bound is not known
---@field bound_reason? string The number that decided; of an unknown bound what was not measured
---@field dram_bytes_per_launch? number Bytes
---@field dram_percent? number 0 to 100, as ncu gives it
---@field flop_per_launch? number FLOP
---@field fp32_flop_per_launch? number FLOP
---@field fp32_percent? number 0 to 100, as ncu gives it
---@field fp64_percent? number 0 to 100, as ncu gives it
---@field intensity? number FLOP per byte of DRAM
---@field issue_percent? number 0 to 100, as ncu gives it
---@field l1_percent? number 0 to 100, as ncu gives it
---@field l2_bytes_per_launch? number Bytes
---@field l2_percent? number 0 to 100, as ncu gives it
---@field launches integer Measured
---@field lsu_percent? number 0 to 100, as ncu gives it
---@field match "exact"|"stage"|"name" Same stage, name and launch shape; measured in another stage; same stage and name, another shape
---@field measured_calls? integer Calls of the shapes that were measured
---@field measured_in? string With match stage: where
---@field measured_ns? number Under ncu; ns
---@field memory_percent? number 0 to 100, as ncu gives it
---@field mio_percent? number 0 to 100, as ncu gives it
---@field occupancy_limiter? string What keeps more warps from an SM
---@field occupancy_percent? number 0 to 100, as ncu gives it
---@field padding? number FLOP and intensity are those of whole tiles: at least this many times what the tokens need
---@field second? string Of the units that were measured the busiest after the one that decided
---@field second_percent? number 0 to 100, as ncu gives it
---@field sectors_per_load? number Sectors of 32 bytes for a warp's load from global memory: 4 for 4 bytes a thread, 16 for 16
---@field sectors_per_store? number The same of stores
---@field shape_share? number 0 to 1
---@field shapes? llmprof.results.shape_counters[]
---@field sm_percent? number 0 to 100, as ncu gives it
---@field stalls? llmprof.results.stall[] What warps wait for most, the two largest
---@field tensor_flop_per_launch? number FLOP
---@field tensor_format? string Number format of most of them
---@field tensor_percent? number 0 to 100, as ncu gives it
---@field tex_percent? number 0 to 100, as ncu gives it
---@field timeline_ns? number Mean of those calls on the timeline; ns
---@field uniform_percent? number 0 to 100, as ncu gives it
---@field waves? number Per SM
---@field xu_percent? number 0 to 100, as ncu gives it

---@class llmprof.results.kv_transfer
---@field end_ns number Its first step elsewhere began; ns
---@field length_ns number Nanoseconds
---@field start_ns number Its prefill ended; ns

---@class llmprof.results.kv_transfers
---@field from_rank integer The first that only prefills
---@field left integer Requests that were prefilled
---@field single? llmprof.results.kv_transfer[] One for each request, in order
---@field taken integer Requests that were taken up
---@field times? llmprof.results.client_times Times of several requests
---@field to_rank integer The first that decodes
---@field unknown? string Why single ones are not known

---@class llmprof.results.late_place
---@field caused_ns number Waiting of the others; ns
---@field count integer How many
---@field late_ns? number After the one before it; ns
---@field layer? integer From 0; absent: outside of them
---@field more_gap_ns? number Longer idle before it; ns
---@field more_kernels? number More kernels before it, mean
---@field more_work_ns? number Longer computing before it than the others; ns
---@field phase? string
---@field rank integer Its number, from 0

---@class llmprof.results.late_rank
---@field gain_ns? number What it needs more than the next slowest, late_ns at most; absent where the CPU time of a rank is not known; ns
---@field late_ns number After the next to last, in all collectives of the step; ns
---@field next_rank? integer The next slowest
---@field phase string
---@field rank integer Its number, from 0
---@field ranks llmprof.results.rank_need[] That meet in the collectives
---@field share number Of the waiting, what is for it
---@field steps integer Of it, that count

---@class llmprof.results.latency
---@field contradiction? llmprof.results.contradiction The workload's own time of a step is not that of the timeline
---@field host? llmprof.results.host_step The CPU's side of the steps: the ranges that mark them
---@field plain? llmprof.results.plain_latency By the workload's own clock, in runs without the profiler
---@field repeats? llmprof.results.repeat_latency[]
---@field tokens_per_s? llmprof.results.rate Tokens of all sequences per second of decode
---@field tpot? llmprof.results.distribution
---@field ttft? llmprof.results.distribution

---@class llmprof.results.launch
---@field limiter? "registers"|"shared memory"|"the block's size"|"blocks per SM"|"the grid's size" What keeps more warps from an SM; absent where nothing does
---@field occupancy_percent number Theoretical occupancy: warps of an SM that its blocks fill at most
---@field tail_share? number Places for blocks that stay empty in the last wave, of those of all waves
---@field waves? number Grid over the blocks that all SMs hold at once

---@class llmprof.results.launch_delay
---@field median_ns? number Nanoseconds
---@field p90_ns? number Nanoseconds
---@field queued_share number 0 to 1

---@class llmprof.results.launch_place
---@field kernel integer Place among the names, from 0
---@field module? integer The same
---@field operator? integer The same

---@class llmprof.results.launch_stage
---@field name? string
---@field order string Numbers of places, from 0, as they were launched

---@class llmprof.results.launches
---@field kernels string[] Names
---@field left_out? integer Launches beyond those that are kept
---@field modules? string[] Paths
---@field operators string[] Names
---@field places llmprof.results.launch_place[] Each pair of a kernel and an operator once
---@field stages llmprof.results.launch_stage[] One for each time that a stage ran

---@class llmprof.results.layer
---@field collective_ns? number Nanoseconds
---@field collectives? integer Kernels of collectives
---@field exposed_ns? number Nanoseconds
---@field hidden_ns? number Nanoseconds
---@field layer? integer From 0; absent: outside of the layers
---@field phase? string Absent: outside of steps
---@field transfer_ns? number Nanoseconds
---@field waiting_ns? number Nanoseconds

---@class llmprof.results.left_out
---@field cut? true The capture ended in it
---@field first? integer How many steps at the beginning of an engine's stage
---@field ns number Nanoseconds
---@field openings? integer How many decodes have a first step that counts in the stage, not in TPOT
---@field per_step? boolean The times are of one step, as repeats differ in how many they have
---@field rank? integer Whose, of steps of several ranks
---@field rep integer From 1
---@field stage string
---@field step? integer A step of it, which counts in the stage, not in TPOT
---@field usual_ns number Median of the other repeats, or of the steps behind it; ns

---@class llmprof.results.line
---@field function? string That it is in
---@field gpu_ns number Theirs
---@field host_ns? number From the return of the call before each of its launches to their own
---@field idle_ns? number The GPU waited before them
---@field kernels integer Operations that it launched
---@field line string File below site-packages, and number
---@field module? string That most of its time is for; numbers as `*`
---@field names { calls?: integer, gpu_ns?: number, name?: string }[] What took most of it, at most five
---@field share? number Of the stage's GPU time
---@field stage string

---@class llmprof.results.load
---@field answer? llmprof.results.seen Times of requests; of those that a generator does not list what it says of all
---@field arrivals? "poisson"|"constant" Of the pauses between
---@field completed? integer Answered to their end
---@field completed_per_s? number Requests answered over the duration
---@field duration_ns? number From the first that was sent to the last answer
---@field errors? llmprof.results.load_error[]
---@field failed? integer Sent, and not answered so
---@field generator? string Another one, by its name
---@field held_per_s? number As they were sent
---@field kind "rate"|"command" load.rate, or another generator
---@field planned_per_s? number Of the times that were drawn, from the first request to the last
---@field prompt_tokens_per_s? number Those of the prompts
---@field rate_per_s? number As it was asked for
---@field requests? integer Asked for; absent, with what became of them, where nobody knows how many
---@field slo? llmprof.results.slo Requests within the limits of load.slo
---@field tokens_per_s? number Tokens of all answers over the duration
---@field tpot? llmprof.results.seen Times of requests; of those that a generator does not list what it says of all
---@field ttft? llmprof.results.seen Times of requests; of those that a generator does not list what it says of all
---@field unqueued_per_s? number What that would be if no request waited for another: over the time of sending and the shortest answer
---@field unread? string Why it is not known what another generator's requests took

---@class llmprof.results.load_error
---@field count integer Requests that it ended
---@field text string

---@class llmprof.results.marked
---@field calls? integer Ranges of it
---@field gpu_ns? number Of a module with those in it
---@field gpu_self_ns? number Of nothing inside
---@field host_ns? number On the CPU
---@field host_self_ns? number The same without what is inside
---@field idle_ns? number The GPU waited before its operations, with those inside; of stacks
---@field kernels? integer Operations, with those inside; of stacks
---@field name string
---@field share? number Of the stage's GPU time
---@field stage string

---@class llmprof.results.memory
---@field allocated_bytes? integer The most that was given out
---@field device? integer Of a GPU; absent: the host's
---@field events integer
---@field reserved_bytes? integer The most that the allocator held

---@class llmprof.results.missing
---@field how string What would fill it
---@field what string
---@field why string

---@class llmprof.results.model
---@field described? llmprof.results.described The description of the architecture that the costs come from
---@field dtype? string What it computes in: bf16, fp16, fp32
---@field name? string
---@field parameters? { active?: integer, decoder?: integer, total?: integer } As the workload counted them, else by the description
---@field variant? string
---@field weights? string random, checkpoint, or what the workload says

---@class llmprof.results.operator
---@field calls integer
---@field device_self_ns? integer GPU time of what it launched itself; ns
---@field device_total_ns? integer GPU time of what it and operators it called launched; ns
---@field host_self_ns integer CPU time without those; ns
---@field host_total_ns integer CPU time, operators that it called included; ns
---@field input_shapes? any[] Of the calls with the most frequent shapes
---@field kernels? llmprof.results.operator_kernel[] What it launched itself, by name, largest first
---@field name string
---@field share? number device_self_ns as a part of device_ns; added by llmprof
---@field stages? llmprof.results.operator_stage[] Where it ran, by the outermost range around it

---@class llmprof.results.operator_kernel
---@field calls integer
---@field device_ns integer GPU time
---@field name string

---@class llmprof.results.operator_stage
---@field calls integer
---@field device_self_ns? integer GPU time of what it launched itself; ns
---@field host_self_ns integer CPU time without the operators that it called; ns
---@field name string

---@class llmprof.results.operators
---@field device_ns? integer GPU time of all kernels and copies
---@field doubtful_events? integer GPU operations that end after the next two on their stream
---@field inputs? llmprof.results.input[] What the model was given, by the shapes of lookups of tokens, longest first
---@field joined? llmprof.results.joined The operators on the timeline, in the repeats that count; added by llmprof
---@field launches? llmprof.results.launches What was launched, in order; joins the operators to a timeline
---@field left_out_events? integer Events of a trace that had no start, or no valid duration
---@field memory? llmprof.results.memory[] What the framework's allocators told, by device
---@field operators llmprof.results.operator[]
---@field schema_version 1
---@field source? string What recorded it
---@field unattributed_device_ns? integer The part of it that no operator launched, as the replay of a CUDA graph
---@field wall_ms? number Milliseconds the recorded runs took on the CPU's clock

---@class llmprof.results.other_kernels
---@field calls integer Launches
---@field category string
---@field names integer Different ones
---@field part? string Child stage
---@field stage string
---@field total_ns number Time of all of them; ns

---@class llmprof.results.overhead
---@field runs integer Plain ones
---@field stages llmprof.results.inflation[]

---@class llmprof.results.overlap
---@field communication_ns? number A collective's kernel ran; ns
---@field computation_ns number A kernel ran that is no collective's; ns
---@field exposed_communication_ns? number Of that without computation; ns
---@field exposed_transfers_ns number Of that without any kernel; ns
---@field transfers_ns number A copy or memset ran; ns

---@class llmprof.results.padded
---@field as integer At least
---@field batch integer Requests

---@class llmprof.results.peak
---@field at_held_clock_per_s? number per_s at the clock that was held
---@field clock_hz? number That per_s is stated for
---@field per_s number FLOP/s, OP/s or byte/s
---@field source string

---@class llmprof.results.pipeline
---@field active_ns number Any stage worked; mean over pipelines; ns
---@field stages llmprof.results.pipeline_stage[] In order
---@field text string
---@field told_by "names"|"collectives" How it is known which rank is of which stage

---@class llmprof.results.pipeline_stage
---@field bubble_ns number It did not, and another stage did; ns
---@field busy_ns number It worked on more than sends and receives; ns
---@field dp? integer Place in data parallel
---@field in_p2p_ns number Of that, a send or a receive was under way; ns
---@field ranks integer[] Their numbers
---@field share number Bubbles of active_ns
---@field stage integer Its number, from 0

---@class llmprof.results.plain_latency
---@field runs integer Without a profiler
---@field tokens_per_s? llmprof.results.rate Tokens of all sequences per second of decode
---@field tpot? llmprof.results.distribution
---@field ttft? llmprof.results.distribution

---@class llmprof.results.point
---@field bound? "compute"|"memory"
---@field dram_rate? number Byte/s of DRAM; of kernels
---@field intensity? number FLOP per byte of DRAM
---@field kernel? integer id
---@field l2_intensity? number FLOP per byte of L2
---@field part? string
---@field rate? number FLOP/s
---@field share? number 0 to 1
---@field stage string
---@field unit? "tensor"|"vector" Where most of it ran

---@class llmprof.results.policy
---@field by? "recipe" The recipe's select_kernels chose
---@field coverage? number 0 to 1
---@field kernels? integer At most, of a stage
---@field launches_per_kernel? integer Per launch shape
---@field per_stage? boolean

---@class llmprof.results.quantity
---@field contradiction? string
---@field formula string
---@field inputs table<string, number>
---@field ratio? number What it would be, above 1
---@field value? number Absent with a contradiction

---@class llmprof.results.range_counters
---@field dram_bytes? integer Bytes
---@field dram_percent? number 0 to 100, as ncu gives it
---@field duration_ns? number While it was measured; ns
---@field flop? { fp16?: number, fp32?: number, fp64?: number, tensor?: number, total?: number } FLOP by kind; fp64, fp32 and fp16 of the vector units
---@field intensity? number FLOP per byte of DRAM
---@field memory_percent? number 0 to 100, as ncu gives it
---@field occurrence integer Among those measured of the range
---@field range? string Of NVTX, domain:name outside the default one; CUDA graph N
---@field sm_percent? number 0 to 100, as ncu gives it
---@field stage? string It is in
---@field tensor_percent? number 0 to 100, as ncu gives it

---@class llmprof.results.rank
---@field bubble_ns? number It worked on nothing, another stage of its pipeline did; ns
---@field caused_ns? number The waiting of the others for it; ns
---@field collective_ns? number Nanoseconds
---@field collectives? integer Kernels of collectives
---@field device integer CUDA number in the process
---@field dp? integer Place in data parallel
---@field ep? integer Place in expert parallel
---@field expert_ns? number In kernels of experts; ns
---@field exposed_ns? number Nanoseconds
---@field file string
---@field gpu? string
---@field gpu_time_ns? number Nanoseconds
---@field hidden_ns? number Of that, it computed, too; ns
---@field kernels? integer How many
---@field last? integer How often it was the last to come
---@field leader? integer The first of the ranks whose collectives are its own, too
---@field matched? integer Of them, met on another rank
---@field p2p_ns? number In sends and receives of a pipeline; ns
---@field pid? integer Of its process
---@field pp? integer Place in pipeline parallel
---@field process? string
---@field rank integer Its number, from 0
---@field tp? integer Its place, as names tell
---@field waiting_ns? number Until the last rank had come; ns

---@class llmprof.results.rank_file
---@field apart_ns? number Their median distance on UTC; ns
---@field clock "own"|"UTC"|"collectives"|"none" none: it was left as it is
---@field drift? number ns per ns
---@field file string
---@field offset_ns? number Taken away beyond UTC; ns
---@field pairs? integer Ends of collectives that say so
---@field ranks integer How many
---@field residual_ns? number Their median distance in the end; ns

---@class llmprof.results.rank_kernel
---@field calls integer On all ranks
---@field fastest_ns? number Nanoseconds
---@field mean_ns? number Nanoseconds
---@field median_ns? number Nanoseconds
---@field name string
---@field slowest_ns? number Mean there; ns
---@field slowest_rank? integer Where the mean is longest
---@field total_ns number Nanoseconds

---@class llmprof.results.rank_need
---@field between_ns? number The same from the range to the next one, median; where the program marks its steps; ns
---@field cpu_ns? number Its range on the CPU, less the calls of its thread that wait for the GPU; ns
---@field rank integer Its number, from 0
---@field start_ns? number Its range begins so long after that of the first rank; ns
---@field steps integer That count
---@field waiting_ns number In collectives, until the last rank had come; ns
---@field work_ns number Any operation of it ran, less the waiting in collectives; ns

---@class llmprof.results.rank_steps
---@field busy_ns? number Any operation of it ran; ns
---@field collective_ns? number A collective of it ran; ns
---@field collectives? number A count, as the mean of the used instances
---@field copies? number A count, as the mean of the used instances
---@field count integer Steps; over ranks those of the rank with the most, or all where one has less than half of that
---@field cpu_ns? number Its range on the CPU, less the calls of its thread that wait for the GPU; ns
---@field exposed_ns? number Of that, it did not; ns
---@field gpu_time_ns? number Sum of its operations; ns
---@field graphed? number Kernels that CUDA graphs ran
---@field hidden_ns? number Of that, it computed, too; ns
---@field idle_host_ns? number Of that, in no CUDA call; ns
---@field idle_launch_ns? number Of that, in launching calls; ns
---@field idle_memory_ns? number Of that, in allocations; ns
---@field idle_ns? number The GPU waited before it; ns
---@field idle_other_ns? number Of that, in other CUDA calls; ns
---@field idle_sync_ns? number Of that, the CPU waited for the GPU; ns
---@field interval_ns? number From the end of one to the end of the next; ns
---@field kernels? number A count, as the mean of the used instances
---@field max_ns? number Nanoseconds
---@field mean_ns? number From the end of the step before it on the GPU, or its own first operation, to its last; ns
---@field min_ns? number Nanoseconds
---@field p50_ns? number Nanoseconds
---@field p90_ns? number Nanoseconds
---@field rank? integer Its number, from 0
---@field total_ns? number Of all ranks; ns
---@field transfer_ns? number In collectives, from then on; ns
---@field waiting_ns? number In collectives, until the last rank had come; ns

---@class llmprof.results.ranks
---@field collectives? llmprof.results.collective_kernel[] Largest total time first
---@field doubt? string Why transfers are not what they look like: ranks may be missing
---@field engine? string That wrote the labels
---@field engine_looks? llmprof.results.engine_look[] The engine's own numbers beside the steps, look for look
---@field expert_imbalance? number Time in kernels of experts: the busiest rank over the mean
---@field files llmprof.results.rank_file[] What it was read from
---@field gpu_time_ns? number Sum of the kernels of all ranks; ns
---@field idle_threads? llmprof.results.idle_thread[] Threads of an engine while its GPU waited for steps
---@field kernels? llmprof.results.rank_kernel[] Once each, over all ranks; largest total time first
---@field kv_transfers? llmprof.results.kv_transfers From the end of prefills on one rank to the first steps on another
---@field late? llmprof.results.late_rank[] Phases in which one rank keeps the others waiting, of steps that count
---@field layers? llmprof.results.layer[] Communication by phase and layer
---@field left_out string[] A line for each thing that is not in it, and why
---@field padded? llmprof.results.padded[] Batches that ran in the CUDA graph of a larger one
---@field pipeline? llmprof.results.pipeline Stages of pipeline parallel, and what they do not work
---@field places? llmprof.results.late_place[] Who the others waited for, and where; the most first
---@field ranks llmprof.results.rank[] In order
---@field requests? llmprof.results.requests What clients saw, beside the steps
---@field source? "labels"|"ranges"|"inferred" What marks the steps
---@field stages? llmprof.results.step_group[] Steps by phase
---@field startup_steps? integer Inferred steps of start-up, which are in no table of steps
---@field step_rows? llmprof.results.step_row[] Single steps by rank and start, the first 4096
---@field steps? llmprof.results.step_group[] Steps by phase, batch and tokens
---@field totals? llmprof.results.collective_totals Collectives of all ranks
---@field verdict? llmprof.results.ranks_verdict Do ranks wait for each other, for whom and where

---@class llmprof.results.ranks_verdict
---@field first? true At the first collective of a step
---@field from_step? integer Since the last step of another phase
---@field gpu_share? number Collectives of all kernel time
---@field group? integer Ranks that it meets, itself among them; absent where these are all
---@field group_share? number Of the waiting of its group
---@field instead? string What that rank did meanwhile
---@field kind "waiting"|"transfer"|"balanced"|"unknown"
---@field layer? integer From 0; absent: outside of the layers
---@field phase? string
---@field place_ns? number Of that, at this place; ns
---@field rank? integer That the others wait for
---@field share? number Of all waiting
---@field spread? true All over the phase: no place stands out
---@field text string
---@field waiting_ns? number Nanoseconds

---@class llmprof.results.rate
---@field batch? number Sequences side by side; of an engine's steps the mean
---@field count integer Values
---@field mean number Tokens/s
---@field std? number Of the sample (n - 1)

---@class llmprof.results.repeat_latency
---@field left_out? string[] Its stages that the figures are not from
---@field outlier? true The first, far longer than the others
---@field rep integer From 1
---@field tokens_per_s? number Of all sequences
---@field tpot_ns? number Nanoseconds
---@field ttft_ns? number Nanoseconds
---@field used boolean The figures are from it, among others

---@class llmprof.results.repeats
---@field count integer In the capture
---@field cut? string[] Stages of which nothing was recorded but one in which the capture ended
---@field first_excess_ns? number Time of the first less that median; ns
---@field first_is_outlier? boolean It took far longer than the others
---@field left_out? llmprof.results.left_out[]
---@field skipped_first boolean All of the first is left out
---@field slowdown? number Time of the first over the median of the others
---@field used integer Those the figures are from
---@field whole_run boolean The trace has no stage: all of it is one

---@class llmprof.results.request
---@field first_step? integer That overlaps it, from 0, of those that ran something
---@field length_ns number Nanoseconds
---@field prefill_step? integer Absent where token counts fit no step or several
---@field sent_ns number On the clock of the steps; ns
---@field stall_ns? number Steps that prefilled others while it was in decode, beyond a decode step; ns
---@field steps integer That overlap it
---@field tokens integer Generated
---@field tpot_ns? number Nanoseconds
---@field ttft_ns number Nanoseconds

---@class llmprof.results.requests
---@field agrees? boolean Within 5 %
---@field attributable string
---@field averaged? true between_tokens are means over the requests of a round
---@field between_tokens? llmprof.results.client_times Times of several requests
---@field count integer How many
---@field difference? number Mean TPOT over that, less 1
---@field single? llmprof.results.request[] Those that say when they were sent, the first 4096
---@field stall_ns? number Of it, because steps prefill other requests, too; ns
---@field step_interval_ns? number Mean interval of steps, each as often as it has requests in decode; ns
---@field tpot llmprof.results.client_times Times of several requests
---@field ttft? llmprof.results.client_times Times of several requests

---@class llmprof.results.roofline
---@field kernels llmprof.results.point[]
---@field left_out integer Measured kernels without a point: no floating point, other shapes, neither FLOP nor DRAM bytes measured
---@field roofs { dram?: llmprof.results.peak, l2?: llmprof.results.peak, tensor?: llmprof.results.peak, tensor_format?: string, tensors?: llmprof.results.ceiling[], vector?: llmprof.results.peak }
---@field stages llmprof.results.point[]
---@field without_dot? llmprof.results.without_dot[] Measured kernels that the picture has no dot of, by reason

---@class llmprof.results.run
---@field created string UTC
---@field id string
---@field llmprof string Version that made this file
---@field recipe string Its name
---@field top_n? integer Rows of the tables of the largest kernels: top_n.kernels

---@class llmprof.results.running_cost
---@field batch? number As the workload says
---@field energy_j_per_token? number From the first stage to the end of the last under the profiler, of an output token
---@field energy_source? "counter"|"power" NVML's counter of energy, or the power that was sampled
---@field gpus integer That ran the stages
---@field idle_w? number The GPUs draw while no kernel runs
---@field no_energy? string Why energy_j_per_token is absent
---@field ns_per_token? number All stages, of an output token
---@field per_million_tokens? number Money for all stages, of output tokens
---@field price? { currency?: string, example?: true, per_hour?: number, source?: string } Of one GPU; absent where nothing tells
---@field stages llmprof.results.stage_cost[]
---@field tokens? number Output tokens of a repeat: the first of each sequence, and decode's

---@class llmprof.results.sampled
---@field counted_bytes? number What counters say that its measured kernels moved, of one instance
---@field counted_share? number 0 to 1
---@field covered number 0 to 1
---@field dram_read_bytes? number Of one instance, on all GPUs
---@field dram_write_bytes? number Of one instance, on all GPUs
---@field gpu? number 0 to 1
---@field hfu? llmprof.results.quantity A value, or a ratio above 1 with the contradiction it is
---@field mbu? llmprof.results.quantity A value, or a ratio above 1 with the contradiction it is
---@field sm? number 0 to 1
---@field tensor? number 0 to 1

---@class llmprof.results.sampled_function
---@field module? string Library or script that it is in
---@field name string What has no name is its library in brackets
---@field self integer Samples in it
---@field total integer Samples in it or in what it called

---@class llmprof.results.sampled_stacks
---@field cut integer Of them, with a stack whose outermost functions are missing
---@field different integer Functions that there are on the stacks
---@field file? string That they are from, if not the timeline
---@field functions llmprof.results.sampled_function[] Those with most samples of their own, largest first
---@field other_threads? integer Samples of other threads of the process meanwhile, which are not among them
---@field samples integer Samples
---@field scope "thread"|"process"|"time"|"run"|"stage" Samples of the threads that the stage's ranges are on; of all threads of their processes meanwhile; of all while the GPU ran it; of the whole run; or, of a file without times, what it was named for
---@field stage string
---@field tree llmprof.results.stack_frame[] The stacks as a tree: each function before those it called, the largest first; without what has less than 0.1 % of the samples
---@field without_stack integer Of them, without a stack

---@class llmprof.results.seen
---@field count? integer Requests
---@field max_ns? number Nanoseconds
---@field mean_ns number Nanoseconds
---@field min_ns? number Nanoseconds
---@field p50_ns? number Nanoseconds
---@field p90_ns? number Of 10 requests or more; ns
---@field p99_ns? number Of 100 requests or more; ns
---@field std_ns? number Nanoseconds
---@field values_ns? number[]

---@class llmprof.results.selection
---@field coverage? number 0 to 1
---@field dropped llmprof.results.dropped[]
---@field filter? string For ncu --kernel-name
---@field groups llmprof.results.group[]
---@field kernels integer[] id of kernels
---@field policy llmprof.results.policy
---@field shortened? llmprof.results.change[] How the workload was shortened while counters were measured, to fit ncu.budget_s

---@class llmprof.results.shape
---@field block integer[] x, y, z
---@field calls integer Launches of this shape
---@field grid integer[] x, y, z
---@field registers? integer Per thread
---@field shared_bytes? integer Static and dynamic, per block; bytes
---@field total_ns number Nanoseconds

---@class llmprof.results.shape_counters
---@field block integer[] x, y, z
---@field bound? "DRAM"|"L2"|"L1"|"tensor"|"fp32"|"fp64"|"ALU"|"XU"|"LSU"|"TEX"|"ADU"|"uniform"|"MIO"|"issue"|"some SM unit"|"L2 or L1"|"DRAM, L2 or L1"|"latency"|"waiting"|"unknown" The busiest unit from 60 % on, by percents or by rates over the GPU's peaks, or those that it may be where ncu's sum over units is above all that were measured; latency below, where all units are known; unknown: a unit that it depends on was not measured; waiting: for other ranks
---@field bound_percent? number 0 to 100, as ncu gives it
---@field calls integer On the timeline
---@field dram_bytes_per_launch? number Bytes
---@field dram_percent? number 0 to 100, as ncu gives it
---@field flop_per_launch? number FLOP
---@field fp32_flop_per_launch? number FLOP
---@field grid integer[] x, y, z
---@field l2_bytes_per_launch? number Bytes
---@field launches integer Measured
---@field measured_ns? number Under ncu; ns
---@field sm_percent? number 0 to 100, as ncu gives it
---@field tensor_flop_per_launch? number FLOP
---@field tensor_format? string Number format of most of them
---@field total_ns number On the timeline; ns

---@class llmprof.results.silence
---@field rule string
---@field stage? string
---@field why string What it saw instead

---@class llmprof.results.slo
---@field met integer Requests within both
---@field per_s? number Goodput: such requests per second
---@field share? number Of all that were asked for
---@field tpot_ns? number At most; ns
---@field ttft_ns? number At most; ns

---@class llmprof.results.slow_steps
---@field count integer That are longer
---@field every? integer One step of this many is; absent where they lie in groups
---@field excess_ns number How much longer than usual, by the median; ns
---@field first integer The first of them, from 1
---@field groups? integer Of steps that follow each other
---@field of integer All that count, of one rank
---@field part? "gpu"|"launch"|"sync"|"memory"|"other"|"host"|"graph" What takes longer: GPU work, or its idle time, as in waiting
---@field total_ns number The same of all; ns
---@field usual_ns number Median step; ns
---@field where? "before"|"inside" The range that marks the step, or what the GPU ran for it

---@class llmprof.results.source
---@field counters? llmprof.results.counters_source
---@field timeline? llmprof.results.timeline_source

---@class llmprof.results.stack_frame
---@field depth integer 0: the outermost; 1: what it called; and so on
---@field module? string As in `functions`
---@field name string As in `functions`
---@field self integer Samples, or ns, in it, called this way
---@field total integer Samples in it or in what it called, called this way

---@class llmprof.results.stage
---@field api? llmprof.results.api CUDA API calls inside the stage, GPU idle or not
---@field between_steps? llmprof.results.between_steps What lies between the marked steps of one instance
---@field bound? "launch"|"host"|"gpu"|"ranks"|"communication" What holds the stage up: launching calls, the program between them, the GPU, waiting for other ranks in collectives, collectives that move data or of which nobody can tell
---@field bound_reason? string
---@field categories? llmprof.results.category[]
---@field copies? number Copies and sets
---@field cost? llmprof.results.cost Of the model's work in one instance: docs/metrics.md
---@field efficiency? llmprof.results.efficiency docs/metrics.md; of a stage, or of all without a parent together
---@field gpu_busy_ns? number Time in which something that the stage launched ran; ns
---@field gpu_idle_ns? number Part of the wall time in which nothing ran on the GPU; ns
---@field gpu_time_ns? number Sum over operations; ns
---@field host_copies_alone_ns? number Time in which the GPU did nothing but copy from or to the host; absent where that is little; ns
---@field host_ns? number Length of its range on the CPU, mean; ns
---@field idle_share? number 0 to 1
---@field instances llmprof.results.instance[]
---@field kernels? number A count, as the mean of the used instances
---@field kernels_per_token? number Per step
---@field launch_delay? llmprof.results.launch_delay From the end of the launching call to the start of the kernel
---@field launches? number API calls that started GPU work
---@field name string
---@field ns_per_token? number Per step; ns
---@field own? llmprof.results.wall Without a timeline: of its ranges by the workload's own clock, one a repeat
---@field parent? string Stage it lies inside of
---@field repeats? integer That its used instances are of
---@field sampled? llmprof.results.sampled What hardware samples say of a stage; docs/metrics.md
---@field share? number 0 to 1
---@field slow_steps? llmprof.results.slow_steps Steps that are longer than the others again and again; absent without
---@field steps? number Decode steps
---@field tokens? number Of all sequences
---@field waiting? llmprof.results.waiting GPU idle time by what the launching threads did
---@field waits? llmprof.results.wait[] Calls that wait for the GPU, by what lies around them; most calls first
---@field wall? llmprof.results.wall From when the GPU could begin it to the end of its last operation, or of its range where that is later

---@class llmprof.results.stage_cost
---@field energy_j? number Under the profiler; absent where samples do not tell so short a time apart
---@field energy_j_per_token? number Of its tokens
---@field idle_share? number Of the energy, what the GPUs draw while no kernel runs
---@field per_million_tokens? number Money, of its tokens
---@field stage string
---@field time_ns number Without the profiler where that was timed
---@field tokens? number That it makes, of prefill that it takes, of all sequences

---@class llmprof.results.stage_lines
---@field gpu_ns number All
---@field line_ns number With a line of no framework
---@field module_ns number With a torch module
---@field stage string
---@field tree llmprof.results.stack_frame[] Functions, with their lines as modules, around what they launched, by ns; without what has less than 0.1 % of them

---@class llmprof.results.stall
---@field reason string As NVIDIA's metrics call it: long_scoreboard
---@field share number Of the cycles of all warps, those that issue too
---@field waits_for string The same in words

---@class llmprof.results.step_group
---@field batch? integer Requests
---@field busy_ns? number Any operation of it ran; ns
---@field collective_ns? number A collective of it ran; ns
---@field collectives? number A count, as the mean of the used instances
---@field copies? number A count, as the mean of the used instances
---@field count integer Steps; over ranks those of the rank with the most, or all where one has less than half of that
---@field cpu_ns? number Its range on the CPU, less the calls of its thread that wait for the GPU; ns
---@field exposed_ns? number Of that, it did not; ns
---@field generation? integer Requests in decode
---@field gpu_time_ns? number Sum of its operations; ns
---@field graphed? number Kernels that CUDA graphs ran
---@field hidden_ns? number Of that, it computed, too; ns
---@field idle_host_ns? number Of that, in no CUDA call; ns
---@field idle_launch_ns? number Of that, in launching calls; ns
---@field idle_memory_ns? number Of that, in allocations; ns
---@field idle_ns? number The GPU waited before it; ns
---@field idle_other_ns? number Of that, in other CUDA calls; ns
---@field idle_sync_ns? number Of that, the CPU waited for the GPU; ns
---@field interval_ns? number From the end of one to the end of the next; ns
---@field kernels? number A count, as the mean of the used instances
---@field max_ns? number Nanoseconds
---@field mbu? number Of all its GPUs
---@field mean_ns? number From the end of the step before it on the GPU, or its own first operation, to its last; ns
---@field mfu? number Of all its GPUs
---@field min_ns? number Nanoseconds
---@field p50_ns? number Nanoseconds
---@field p90_ns? number Nanoseconds
---@field phase? string
---@field ranks llmprof.results.rank_steps[] How many
---@field slowest_ns? number Nanoseconds
---@field slowest_rank? integer Where the mean is longest
---@field spread_ns? number The slowest rank over the fastest; ns
---@field tokens? integer That the step worked on
---@field tokens_per_s? number Of all its requests
---@field total_ns? number Of all ranks; ns
---@field transfer_ns? number In collectives, from then on; ns
---@field waiting_ns? number In collectives, until the last rank had come; ns

---@class llmprof.results.step_layer
---@field count integer Steps
---@field index integer From 0
---@field kernels number In it
---@field mean_ns number Mean over the steps; ns
---@field std_ns? number Over the steps; ns

---@class llmprof.results.step_layers
---@field count integer Layers of a step
---@field ends? boolean A layer ends with it, as it is a collective
---@field kernel? string What comes once in each
---@field module? string Where stacks name them: the path to them
---@field named boolean Its name says that it is attention
---@field networks? { count?: number, ns?: number, operations?: number } Where a layer runs several networks one after the other, as experts in a loop
---@field rows llmprof.results.step_layer[]

---@class llmprof.results.step_row
---@field batch? integer Requests
---@field begin_ns? number On the GPU; ns
---@field busy_ns? number Nanoseconds
---@field collectives? integer Kernels of collectives
---@field comm_hidden_ns? number Nanoseconds
---@field comm_time_ns? number Nanoseconds
---@field context? integer Requests in prefill
---@field cpu_ns? number Its range on the CPU, less the calls of its thread that wait for the GPU; ns
---@field end_ns? number Of its range; ns
---@field generation? integer Requests in decode
---@field graphed? integer Kernels that CUDA graphs ran
---@field idle_ns? number Nanoseconds
---@field interval_ns? number Nanoseconds
---@field kernels? integer How many
---@field last_ns? number End of its last operation; ns
---@field length_ns? number Nanoseconds
---@field moves? integer Copies and sets
---@field phase? string
---@field rank integer Its number, from 0
---@field start_ns? number Its range on the CPU; ns
---@field tokens? integer That the step worked on
---@field transfer_ns? number Nanoseconds
---@field turn? integer Its number since the last step of another phase
---@field waiting_ns? number Nanoseconds

---@class llmprof.results.timeline_source
---@field command? string That made the capture
---@field export_product? string Version of nsys that exported
---@field export_schema? string Version of nsys's SQLite schema
---@field file string In the bundle
---@field from "live"|"recorded"|"builtin"|"files" Kind of capture
---@field recorded? string When, as the capture says
---@field tool? string

---@class llmprof.results.totals
---@field api_calls integer CUDA API calls
---@field busy_ns? number At least one operation ran; ns
---@field copies integer Run
---@field gpu_time_ns? number Sum over operations; ns
---@field graph_kernels? integer Kernels of graph nodes
---@field graphs integer Graphs traced as one row
---@field kernels integer Run
---@field overlap? llmprof.results.overlap What ran beside what, each GPU by itself, added up; absent where graphs are whole
---@field sets integer Of memory to a value
---@field span_ns? number First start to last end; ns
---@field stage_share? number 0 to 1

---@class llmprof.results.transfer
---@field bytes integer Bytes
---@field calls integer Copies
---@field direction "host to device"|"device to host"|"device to device"|"peer to peer"|"other"
---@field gpu_time_ns number Nanoseconds
---@field pageable? boolean Is the host's side pageable memory
---@field stage string

---@class llmprof.results.wait
---@field after? string What the thread starts next
---@field before? string Started last: category, copy, set, graph
---@field bytes? integer Of that copy
---@field calls number Per instance
---@field ns number In them, per instance

---@class llmprof.results.waiting
---@field graph_ns? number Within replays of CUDA graphs, and before them once they are launched; ns
---@field host_ns number No CUDA call at all; ns
---@field launch_ns number Nanoseconds
---@field memory_ns number Nanoseconds
---@field other_ns number Any other CUDA call; ns
---@field sync_ns number Nanoseconds

---@class llmprof.results.wall
---@field count integer Used instances
---@field max_ns number Nanoseconds
---@field mean_ns number Nanoseconds
---@field min_ns number Nanoseconds
---@field std_ns? number Of the sample (n - 1); ns
---@field total_ns number Nanoseconds

---@class llmprof.results.without_dot
---@field kernels integer[] ids
---@field why string

return recipe
