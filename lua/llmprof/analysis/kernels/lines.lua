-- Lines of the program that launched operations of the GPU, where the trace has stacks: their
-- time, the idle time of the GPU before, the time of the CPU, and the stacks as trees. The same
-- by torch module, for llmprof.analysis.kernels.modules.
--
-- The CPU's time of a launch is that from the return of the call before it on its thread, in
-- the same repeat, to its own return. Kernels of a graph are launched all at once: they have
-- none.
local cpu_samples = require "llmprof.analysis.timeline.cpu_samples"
local check = require("llmprof.process.errors").check
local json = require "llmprof.json"
local labels = require "llmprof.analysis.kernels.labels"
local lists = require "llmprof.tables.lists"
local range_name = require "llmprof.trace.nvtx_names"
local rows = require "llmprof.ranks.rows"
local spans = require "llmprof.spans"
local stages = require "llmprof.analysis.stages.find"
local tuple = require("llmprof.tables.keys").tuple

local lines = { where = { "trace" }, reads = { "found", "kernels" },
  gives = { lines = "lines of the program that launched operations",
    launched = "operations with stage, idle and host times, where the trace has stacks" } }

-- Lines of a stage; kernels of a line; lines of a kernel.
lines.MOST, lines.NAMES, lines.EACH = 200, 5, 5


-- An operation that the export does not name.
local UNNAMED = "(unnamed)"


-- ---- operations ----

-- The CPU's time of each launch, by the first of its operations: a frame of op and host.
local function host_times(ops)
  local each = check(ops:group { by = { "launch_pid", "launch_tid", "stage_range", "call", "api" },
    columns = { { "op", "min", "op" }, { "api_start", "min", "api_start" },
      { "api_end", "max", "api_end" } } })
  rows.extend(each, { "api" }, { { name = "eager", type = "integer",
    get = function(key) return key.api and not key.api:find "GraphLaunch" and 1 or nil end } })
  local made = check(check(each:where { { "call", "~=", false }, eager = 1 }):sort {
    { "launch_pid" }, { "launch_tid" }, { "stage_range" }, { "api_start" } })
  made:lag { column = "api_end", offset = 1, by = { "launch_pid", "launch_tid", "stage_range" },
    name = "before" }
  made:compute { name = "from", steps = { { "before" }, { "api_start" }, "or" },
    type = "integer", unit = "ns" }
  return made:less { column = "api_end", by = "from", name = "host" }
end


-- Operations of the repeats that count, with stage, module (in all layers), idle (ns before
-- them) and host.
function lines.operations(trace, found)
  local ops = check(trace:frame "gpu")
  ops:gaps { by = { "device" }, before = "idle" }
  ops = stages.used(trace, ops, found)
  local host = host_times(ops)
  rows.extend(ops, { "torch_module" }, { { name = "module", type = "string",
    get = function(key)
      return key.torch_module and range_name.all_layers(key.torch_module)
    end } })
  ops:match { by = { "op" }, other = host, keys = { "op" }, name = "host_row" }
  return spans.look_up(ops, "host_row", host, "host", "host")
end


local SUMS = { "duration", "idle", "host" }

-- Groups of operations with their sums: list of tables of the columns `by` and of kernels,
-- gpu_ns, idle_ns and host_ns, which are nil where none is known.
function lines.sums(ops, by)
  local list = ops:group { by = by, total = SUMS }
  for _, group in ipairs(list) do
    group.stage = group.stage or stages.WHOLE_RUN
    group.kernels, group.gpu_ns = group.count, group.duration.total
    group.idle_ns, group.host_ns = group.idle.total, group.host.total
  end
  return list
end


-- ---- lines ----

-- Groups, the largest first.
local function by_time(groups)
  return lists.sort(groups, "-gpu_ns", function(one)
    return (one.line or "") .. (one.name or "") .. (one.module or "")
  end)
end


-- Of the groups of each key, the largest first, what tell(group) gives of `most` of them: lists.
local function largest(groups, key_of, most, tell)
  local told = {}
  for _, group in ipairs(by_time(groups)) do
    local key = key_of(group)
    local own = told[key] or json.list {}
    told[key] = own
    if #own < most then own[#own + 1] = tell(group) end
  end
  return told
end


-- Of each key the module that most of its time is for: { name }, { false } where that is none.
local function main_module(groups, key_of)
  return largest(groups, key_of, 1, function(group) return group.module or false end)
end


local function key_of_line(group) return tuple(group.stage, group.line, group["function"]) end


-- GPU time of each stage: all, that of lines, of those apart that torch.compile generated and of
-- which nothing tells what they were made from, and of modules; by stage, and the stages with most
-- of it first.
local function totals_of(list)
  local by_stage, order = {}, json.list {}
  for _, group in ipairs(list) do
    local one = lists.entry(order, by_stage, group.stage,
      { stage = group.stage, gpu_ns = 0, line_ns = 0, module_ns = 0 })
    one.gpu_ns = one.gpu_ns + group.gpu_ns
    local field = group.line and group.line:find "^torch%.compile/" and "generated_ns" or "line_ns"
    if group.line then one[field] = (one[field] or 0) + group.gpu_ns end
    if group.module then one.module_ns = one.module_ns + group.gpu_ns end
  end
  return by_stage, lists.sort(order, "-gpu_ns", "stage")
end


-- Lines of all stages, the largest first; totals: by stage.
local function rows_of(ops, totals)
  local list, count = json.list {}, {}
  local labelled = labels.unique(lists.map(ops:group { by = { "name" } }, "name"))
  local names = largest(lines.sums(ops, { "stage", "line", "function", "name" }), key_of_line,
    lines.NAMES, function(one)
      return one.name and { name = labelled[one.name] or one.name, calls = one.kernels,
        gpu_ns = one.gpu_ns } or nil
    end)
  local module = main_module(lines.sums(ops, { "stage", "line", "function", "module" }),
    key_of_line)
  for _, group in ipairs(by_time(lines.sums(ops, { "stage", "line", "function" }))) do
    local key, stage = key_of_line(group), group.stage
    count[stage] = (count[stage] or 0) + (group.line and 1 or 0)
    if group.line and count[stage] <= lines.MOST then
      list[#list + 1] = { stage = stage, line = group.line, ["function"] = group["function"],
        module = module[key][1] or nil, kernels = group.kernels,
        gpu_ns = group.gpu_ns, idle_ns = group.idle_ns, host_ns = group.host_ns,
        share = totals[stage].gpu_ns > 0 and group.gpu_ns / totals[stage].gpu_ns or nil,
        names = names[key] }
    end
  end
  return list
end


-- ---- kernels ----

local function key_of_kernel(group) return tuple(group.stage, group.part, group.name) end

-- Give kernels the lines that launched them, those with most of their time first, and the module
-- that most of it is for.
local function place_kernels(list, ops)
  local of_kernel = largest(lines.sums(ops, { "stage", "part", "name", "line", "function" }),
    key_of_kernel, lines.EACH, function(one)
      return one.line and { line = one.line, ["function"] = one["function"], calls = one.kernels,
        gpu_ns = one.gpu_ns } or nil
    end)
  local modules = main_module(lines.sums(ops, { "stage", "part", "name", "module" }),
    key_of_kernel)
  for _, kernel in ipairs(list) do
    local key = key_of_kernel(kernel)
    kernel.module, kernel.lines = modules[key] and modules[key][1] or nil, of_kernel[key]
  end
end


-- { rows (lines), stages (each with its GPU time, that of lines and of modules, and the
-- stacks) }. ops: of lines.operations; kernels of the results get their lines.
function lines.describe(trace, ops, kernels)
  local totals, list = totals_of(lines.sums(ops, { "stage", "line", "module" }))
  for _, one in ipairs(list) do
    local own = one.stage == stages.WHOLE_RUN and ops or check(ops:where { stage = one.stage })
    one.tree = cpu_samples.tree(trace, own, one.gpu_ns)
    for _, node in ipairs(one.tree) do node.name = node.name or UNNAMED end
  end
  place_kernels(kernels, ops)
  return { rows = rows_of(ops, totals), stages = list }
end


function lines.run(state)
  if not state.trace:knows "lines" then return end
  state.launched = lines.operations(state.trace, state.found)
  state.lines = lines.describe(state.trace, state.launched, state.kernels)
end


return lines
