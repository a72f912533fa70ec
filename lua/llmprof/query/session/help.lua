-- help(x): what a method, a column or a global is for.
local columns = require "llmprof.query.columns"
local errors = require "llmprof.process.errors"
local globals = require("llmprof.query.session").globals
local lists = require "llmprof.tables.lists"
local methods = require("llmprof.query.session").methods
local nearest = require "llmprof.tables.keys"
local plain = require "llmprof.report.plain"
local query = require "llmprof.query"
local reference = require "llmprof.query.reference"
local out = require "llmprof.io.output"
local tables = require "llmprof.tables"

local help = {}

-- What columns are: names (or "FRAME.NAME", where a frame means something else by it), what
-- they say, an example or a frame that has them.
local columns_known = {
  { "before after", "what ran before the gap, what ended it", "gaps" },
  { "api", "CUDA call that launched it", 'kernels:group("api"):count()' },
  { "api_start api_end", "when the launching call began, and returned", "kernels" },
  { "api_time", "how long the launching call took", 'kernels:group("api"):stats("api_time")' },
  { "batch", "requests of the step", 'steps:group("phase", "batch"):agg("count", "mean length")' },
  { "collectives.before", "kernels between the collective before and this one", "collectives" },
  { "steps.before", "when the last of the steps before it on its rank ended", "steps" },
  { "begin", "when the GPU could begin it; of a gap when it began", "steps" },
  { "block_x block_y block_z", "threads of a block, by dimension", "kernels" },
  { "bound", "what holds the kernel up, by its counters", "kernels" },
  { "busy", "time in which the GPU ran anything that it launched", "stages" },
  { "bytes", "how much was copied or set", 'transfers:group("name"):sum("bytes")' },
  { "call", "number of the launching call", 'kernels:distinct("call")' },
  { "gaps.call", "CUDA call that the launching thread was in as the gap began", "gaps" },
  { "call_row", "number of that call", 'gaps:where { call_row = true }:head(3)' },
  { "category", "kind of work, by the kernel's name", "kernels" },
  { "ranges.category", "category of the NVTX range", 'ranges:group("category"):count()' },
  { "caller", "function that called the sampled one", "cpu_samples" },
  { "caused", "of the rank that came last: the waiting of all others for it", "collectives" },
  { "collectives", "kernels of collectives in the step", "steps" },
  { "colon_tag", "domain and text of a range, as newer nsys writes it", "ranges" },
  { "comm_hidden", "of comm_time, that in which it computed as well", "steps" },
  { "comm_time", "time of the step in which a collective ran", "steps" },
  { "communicator", "number of NCCL's communicator", 'collectives:group("communicator"):count()' },
  { "context", "CUDA context", 'kernels:group("context"):count()' },
  { "steps.context", "requests that the step prefills", 'steps:group("context"):mean("length")' },
  { "context_tokens generation_tokens", "tokens that the step prefills, decodes", "steps" },
  { "copies", "copies and sets that the stage launched", "stages" },
  { "correlation", "number that joins a call and what it launched", "kernels" },
  { "cpu", "a step's range on the CPU without what waits for the GPU in it", "steps" },
  { "cpu_after", "the same from its range to the next one", "steps" },
  { "cpu_sample", "number of the sample", 'cpu_samples:select("cpu_sample", "time"):head(3)' },
  { "cut", "1: the stack lacks its outermost functions", 'cpu_samples:group("cut"):sum("weight")' },
  { "delay", "from the start of the launching call to the start on the GPU", "kernels" },
  { "depth", "functions on the sampled stack", 'cpu_samples:max("depth")' },
  { "device", "the GPU's number", 'kernels:group("device"):sum("dur")' },
  { "direction", "from where to where a copy goes", "transfers" },
  { "domain", "NVTX domain, absent for the default one", 'ranges:group("domain"):count()' },
  { "dram_bytes", "bytes moved to and from DRAM, measured by ncu", "counters" },
  { "sm_percent memory_percent dram_percent tensor_percent",
    "of the peak of SMs, memory's busiest part, DRAM, tensor cores, by ncu", "counters" },
  { "dram_read dram_write", "of the peak of reading, writing memory, sampled: %", "samples" },
  { "duration", "end - start; dur is the same", 'kernels:sum("duration")' },
  { "static_shared dynamic_shared", "shared memory of a block: compiled, at launch", "kernels" },
  { "end", 'end, since the trace began; write ["end"] in conditions', "kernels" },
  { "first last", "when its first operation began, its last one ended", "steps" },
  { "flop", "floating-point operations, measured by ncu", 'counters:sort("-flop"):top(3)' },
  { "follows", "number of the kernel that ran last before the collective", "collectives" },
  { "function", "function of the program that launched it, where stacks are known", "kernels" },
  { "gap", "time in which its rank ran nothing since the collective before", "collectives" },
  { "gap_after", "time until its stream began something else; absent for the last", "kernels" },
  { "gap_before", "time since its stream ended something; gap is the same", "kernels" },
  { "generation", "requests that the step decodes", 'steps:group("generation"):mean("length")' },
  { "gpu_gap_after", "time after it in which its GPU ran nothing", "kernels" },
  { "gpu_gap_before", "time before it in which its GPU ran nothing; gpu_gap is the same",
    "kernels" },
  { "gpu", "of the time in which the GPU's front end was active, sampled: %", "samples" },
  { "gpu_time", "sum of the durations of what it launched", "stages" },
  { "graph", "number of the CUDA graph that the step replayed", 'steps:group("graph"):count()' },
  { "graph_node", "node of a CUDA graph it ran for", "kernels" },
  { "graphs graphed", "CUDA graphs that it launched, kernels that ran by these", "steps" },
  { "grid_x grid_y grid_z", "blocks, by dimension", "kernels" },
  { "hidden", "time of the collective in which its rank computed", "collectives" },
  { "host_memory", "kind of memory of the host in a copy", "transfers" },
  { "id", "number of the measured launch", 'counters:where { id = 0 }' },
  { "idle", "time in which the GPU ran nothing", 'stages:select("stage", "rep", "idle")' },
  { "idle_sync idle_launch idle_memory idle_other", "idle time with the CPU in synchronisation, "
    .. "launches, calls for memory, any CUDA call; each with those before", "steps" },
  { "instance", "which collective, counted by when the last rank came", "collectives" },
  { "intensity", "FLOP per byte of DRAM, measured by ncu", "counters" },
  { "interval", "from the end of the step before it to its own", "steps" },
  { "kernels", "how many kernels it launched", 'steps:select("step", "kernels"):head(3)' },
  { "key", "number of what collectives are matched by", 'collectives:group("key"):count()' },
  { "kind", "kernel, copy, set or graph", 'ops:group("kind"):sum("dur")' },
  { "label", "name for people: operation, types or tile, library", "kernels" },
  { "lag", "collectives that its rank is behind the others", 'collectives:group("lag"):count()' },
  { "late", "of the rank that came last: how long after the one before", "collectives" },
  { "launch_pid launch_tid", "process, thread that launched it", "kernels" },
  { "launch_time", "from the start of the launching call to the end on the GPU", "kernels" },
  { "launched", "when the first launch of the step was called", "steps" },
  { "launches", "calls that launched something", 'stages:select("stage", "rep", "launches")' },
  { "layer", "layer of the model, from 0: by modules, else what comes back in a step", "kernels" },
  { "collectives.layer", "layer, from 0, by what is computed between collectives", "collectives" },
  { "length", "how long the step took on its GPU", "steps" },
  { "line", "line that launched it: the innermost of its stack in no framework", "kernels" },
  { "line_before", "line that launched what ran before the gap", "gaps" },
  { "ranges.self", "its duration without the ranges directly in it, which overlap once", "ranges" },
  { "limiter", "what keeps more of its warps from an SM; absent where nothing does", "kernels" },
  { "level", "ranges around it on its thread; 0: none", 'ranges:group("level"):count()' },
  { "mangled_name", "name as the compiler wrote it", "kernels" },
  { "members", "ranks on which the collective was seen", 'collectives:group("members"):count()' },
  { "message", "bytes that NCCL said it moves", 'collectives:group("message"):count()' },
  { "ranges.message", "bytes that NCCL said the range moves", 'ranges:group("message"):count()' },
  { "module", "module of the model that launched it, by stacks or ranges", "kernels" },
  { "cpu_samples.module", "library or script of the sampled function", "cpu_samples" },
  { "more_gap more_kernels more_work", "of the rank that came last: how much more gap, kernels, "
    .. "work_before than the others", "collectives" },
  { "moves move_time", "copies and sets of the step, the sum of their times", "steps" },
  { "name", "full name", 'kernels:where { name = { "~", "gemm" } }:unique("name"):top(3)' },
  { "cpu_samples.name", "function that the CPU was in", "cpu_samples" },
  { "number", "row of its step", 'collectives:distinct("number")' },
  { "occupancy_percent", "of the warps that an SM can hold, measured by ncu", "counters" },
  { "op", "number of the operation in the trace: kernels, copies, sets, graphs", "ops" },
  { "open", "1: the trace ended before the range", 'ranges:group("open"):count()' },
  { "operator", "operator of the framework that launched it", "kernels" },
  { "ordinal", "place among those of its key and rank", 'collectives:where { ordinal = 0 }' },
  { "overlap", "time in which its GPU ran something else, too", "kernels" },
  { "p2p", "1: a send or receive", 'collectives:group("p2p"):count()' },
  { "parent", "number of the range around it", 'ranges:group("parent"):count():top(3)' },
  { "stages.parent", "stage that it is a part of", 'stages:where { parent = false }' },
  { "part", "child stage around the launch", 'kernels:group("stage", "part"):sum("dur")' },
  { "stage_own part_own", "1: its range is on the sample's thread; 0: not", "cpu_samples" },
  { "stage_range part_range", "number of the range of its stage, its part", "kernels" },
  { "payload", "number given with the range; ranks of NCCL's communicator", "ranges" },
  { "phase", "stage of a step: prefill, mixed, decode", 'steps:group("phase"):mean("length")' },
  { "pid", "process", "kernels" },
  { "place", "place of the collective in its step", "collectives" },
  { "previous", "when the collective before on its rank ended", "collectives" },
  { "queue_time", "from the end of the launching call to the start on the GPU: queue is the "
    .. "same; absent where it began before", "kernels" },
  { "range", "number of the innermost range around the launch", "kernels" },
  { "rank", "process with a GPU that it computes on, from 0", 'kernels:group("rank"):sum("dur")' },
  { "registers", "registers of a thread", "kernels" },
  { "rep", "repeat of the recipe, from 1", 'kernels:group("stage", "rep"):sum("dur")' },
  { "shape", "number of the launch's grid, block, registers and shared memory", "kernels" },
  { "short_name", "function name without parameters; short is the same", "kernels" },
  { "signature", "number of what was computed before the collective", "collectives" },
  { "skew", "from the first rank's arrival to the last one's", "collectives" },
  { "sm", "of the SMs that had a warp, sampled: %", 'samples:sort("-sm"):top(3)' },
  { "stack", "number of the sampled stack, or of that which launched it", "cpu_samples" },
  { "stage", "outermost stage around the launch", 'kernels:group("stage"):sum("dur")' },
  { "start", "begin, since the trace began", 'kernels:sort("start"):head(3)' },
  { "steps.start", "begin of the range of the step, on the CPU", "steps" },
  { "step", "pass of the model on its rank, from 0; reports count within a stage", "kernels" },
  { "said", "what the range around its launch says", 'collectives:distinct("said")' },
  { "step_start", "when the range of its step began", 'collectives:distinct("step_start")' },
  { "stream", "CUDA stream", 'kernels:group("device", "stream"):sum("dur")' },
  { "style", "how the range was made", 'ranges:group("style"):count()' },
  { "tag", "DOMAIN:TEXT of a range; of an operation the innermost around its launch", "ranges" },
  { "tensor", "of the tensor pipes that worked, sampled: %", 'samples:mean("tensor")' },
  { "text", "text of the range", 'ranges:group("text"):count():top(5)' },
  { "theoretical_percent", "warps that its blocks fill at most, of those of an SM", "kernels" },
  { "tid", "thread", 'api:group("tid"):sum("dur")' },
  { "tokens", "tokens of the step", 'steps:group("tokens"):mean("length")' },
  { "time", "when it was sampled, since the trace began", 'cpu_samples:min("time")' },
  { "torch_module", "torch.nn.Module that launched it, as its stack says", "kernels" },
  { "transfer", "time of collectives from when the last rank came", "steps" },
  { "waiting", "time of collectives until the last rank came", "collectives" },
  { "turn", "place among the steps of its phase since the last one of another, from 0", "steps" },
  { "uncounted", "number of the interval that figures leave out, in which it lies", "steps" },
  { "unlaunched", "how long the gap was there before the CPU launched what ended it", "gaps" },
  { "used", "1: counts in the analysis; 0: a first repeat left out", "stages" },
  { "waves", "the grid over the blocks that all SMs hold at once", "kernels" },
  { "counters.waves", "the same, measured by ncu", "counters" },
  { "weight", "samples that the row stands for; 1 in a timeline", 'cpu_samples:sum("weight")' },
  { "work_before", "time in which its rank computed since the collective before", "collectives" },
  { "world", "rank among all files", 'steps:group("world"):mean("length")' },
}

-- The same by single names, where there are several with what these are.
help.fields = lists.flat(columns_known, function(entry)
  local made, said = {}, entry[2]
  if entry[1]:find " " then said = ("%s: %s"):format((entry[1]:gsub(" ", ", ")), said) end
  for name in entry[1]:gmatch "%S+" do made[#made + 1] = { name, said, entry[3] } end
  return made
end)


-- The example of an entry, by what it has in its place: code; of a column a frame, of a global
-- nothing, for the first values there; of a method nothing, for its call.
function help.example(entry)
  local name, code = entry[1]:match "[^.]*$", entry[#entry]
  if lists.has(methods, entry) then return entry[4] or "kernels:" .. entry[2] end
  if lists.has(globals, entry) then return entry[3] or name .. ":head(3)" end
  return code:find "^[%l_]+$" and ('%s:select("%s"):head(3)'):format(code, name) or code
end


local function list_table(titles, rows)
  local declared = {}
  for i, title in ipairs(titles) do declared[i] = { key = i, title = title, type = "text" } end
  declared[#declared].wraps = true
  return tables.render("table", declared, rows, { columns = out.columns(1) })
end


local function overview(offered)
  local rows = lists.filtered(globals, function(global) return offered[global[1]] end)
  return list_table({ "global", "what it is" }, rows)
    .. '\nhelp "methods" lists what frames do, help(kernels) their columns, help "spawn" a '
    .. 'module;\nhelp "where" says more of one.\n'
end


local function all_methods()
  local rows = lists.map(methods, function(method)
    return { method[2], (method[3]:gsub(";.*", "")) }
  end)
  return list_table({ "method", "what it gives" }, rows)
    .. "\n#f is how many rows a frame f has.\n"
end


-- The name of the global that a frame is, or nil.
local function name_of(frame, opened)
  for _, global in ipairs(globals) do
    if rawequal(rawget(opened, global[1]), frame) then return global[1] end
  end
  return nil
end


local function about_frame(frame, opened)
  local rows, global = {}, name_of(frame, opened)
  for row in frame:columns():rows() do
    local said = global and lists.find(help.fields, 1, global .. "." .. row.name)
      or lists.find(help.fields, 1, row.name)
    rows[#rows + 1] = { row.name, row.type, row.unit or "", said and said[2] or "" }
  end
  return list_table({ "column", "type", "unit", "what it is" }, rows)
    .. '\nhelp "NAME" has an example of each; help "methods" lists what frames do.\n'
end


local function unknown(name, offered)
  local entries = lists.map(lists.joined(methods, help.fields), function(entry)
    return entry[1]:match "[^.]*$"
  end)
  local known = lists.joined({ "methods" }, entries, nearest.sorted(offered),
    reference.module_names())
  errors.raise("usage",
    ("help: nothing about '%s'%s"):format(name, nearest.suggestion(name, known)),
    { hint = "help() lists the globals, help \"methods\" the methods" })
end


-- What require "llmprof.NAME" gives; where the name is something else as well, that there is.
local function about_module(name, is_other)
  local page = reference.module(name)
  if not page then return nil end
  return is_other and ('module: help(require "llmprof.%s")\n'):format(name)
    or plain.render(page, tostring)
end


-- The name of a module that is loaded, by what it is.
local function module_of(value)
  for _, name in ipairs(reference.module_names()) do
    if rawequal(package.loaded["llmprof." .. name], value) then return name end
  end
  return nil
end


-- All that a name is: a column may mean something else in another frame.
local function about_name(name, offered)
  if name == "methods" then return all_methods() end
  local said = {}
  local function add(entry, what)
    said[#said + 1] = ("%s\n  for example: %s\n"):format(what, help.example(entry))
  end
  local global, method = offered[name] and lists.find(globals, 1, name),
    lists.find(methods, 1, name)
  if global then add(global, name .. ": " .. global[2]) end
  if method then add(method, method[2] .. "\n  " .. method[3]) end
  for _, field in ipairs(help.fields) do
    local of, bare = field[1]:match "^([%w_]-)%.?([%w_]+)$"
    if bare == name or bare == columns.aliases[name] then
      add(field, ("column %s%s: %s"):format(bare, of ~= "" and " of " .. of or "", field[2]))
    end
  end
  said[#said + 1] = about_module(name, #said > 0)
  return #said > 0 and table.concat(said) or unknown(name, offered)
end


local function about(x, opened, offered)
  if x == nil then return overview(offered) end
  if type(x) == "string" then return about_name(x, offered) end
  if query.is(x) then return about_frame(x, opened) end
  local global, module = name_of(x, opened), module_of(x)
  return global and about_name(global, offered) or module and about_module(module)
    or ("a %s\n"):format(type(x))
end


-- help(x) over a session, of which the set of names is offered; printed as it is, it is
-- help().
function help.new(opened, offered)
  return setmetatable({}, { __metatable = false,
    __tostring = function() return overview(offered) end,
    __call = function(_, x) return about(x, opened, offered) end })
end


return help
