---@meta llmprof.recipe
-- What editors with LuaLS know of recipes, hooks and frames; `llmprof completion luals` adds the
-- rest (query/annotations.lua). Nothing loads this file.

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

---A section of the report: one of ours with its tables' rows and columns, or one of its own.
---@class llmprof.Section
---@field [1]? string Name of one of ours
---@field title? string Of its own
---@field name? string Of its own; from the title unless set
---@field rows? integer|fun(results: llmprof.Results): table[]? Most rows, or the rows
---@field columns? (string|table)[] Keys, of its own also { "key", "Title", digits = 2 }

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
---@field report? (string|llmprof.Section)[] In order
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
