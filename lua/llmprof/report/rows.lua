-- Rows of the report's tables, from results.
local errors = require "llmprof.process.errors"
local overhead = require "llmprof.analysis.latency.overhead"
local json = require "llmprof.json"
local keys = require "llmprof.tables.keys"
local lists = require "llmprof.tables.lists"
local labels = require "llmprof.analysis.kernels.labels"
local text = require "llmprof.text"
local words = require "llmprof.report.words"

local rows = {}


-- Rows of a list, each with more fields than its own: make(one, number) gives them.
function rows.with(list, make)
  local made = {}
  for i, one in ipairs(list) do made[i] = setmetatable(make(one, i), { __index = one }) end
  return made
end


-- A function from results to the list at a path of them ("ranks.steps"), empty where there is none;
-- make(one, results, number): fields that its rows have besides.
function rows.at(path, make)
  return function(results)
    local list = keys.at(results, path) or {}
    return make and rows.with(list, function(one, i) return make(one, results, i) end) or list
  end
end


-- "prefill/sam" for a kernel of a part of a stage.
local function where(kernel)
  return kernel.part and kernel.stage .. "/" .. kernel.part or kernel.stage
end


local function device_names(results)
  local names = {}
  for _, device in ipairs(results.environment.devices or {}) do
    names[device.id] = ("%s (%d)"):format(device.name or "GPU", device.id)
  end
  return names
end


-- What a kernel is called where people read; results from before labels have none.
function rows.label(kernel) return kernel.label or kernel.short_name end


-- What a kernel's counters are of, in a word.
local function counted(kernel)
  local counters = kernel.counters
  if not counters then return "none" end
  if counters.match == "stage" then return "of " .. (counters.measured_in or "another stage") end
  return counters.match == "exact" and "own" or "other shapes"
end


-- Kernels with their counters beside them.
function rows.kernels(results)
  local names = device_names(results)
  return lists.map(results.kernels, function(kernel)
    local row = setmetatable({ where = where(kernel), label = rows.label(kernel) },
      { __index = kernel })
    local launch, counters = kernel.launch or {}, kernel.counters or {}
    for key, value in pairs(counters) do row[key] = value end
    row.device_name = kernel.devices and ("%d GPUs"):format(kernel.devices)
      or names[kernel.device] or kernel.device and tostring(kernel.device)
    row.theoretical_percent, row.limiter = launch.occupancy_percent, launch.limiter
    row.waves, row.tail_share = counters.waves or launch.waves, launch.tail_share
    row.second = counters.second and counters.second_percent
      and ("%s %.0f %%"):format(counters.second, counters.second_percent)
    row.stalls = words.stalls(counters.stalls)
    row.shapes, row.counted = kernel.shapes, counted(kernel)
    row.line = kernel.lines and kernel.lines[1] and kernel.lines[1].line
    row.bound, row.raw = words.bound(kernel.counters), { bound = row.bound }
    return row
  end)
end


-- Those with counters; of a point in the roofline its l2_intensity.
function rows.roofline(results)
  local list = lists.filtered(rows.kernels(results), "counters")
  local _, points = lists.grouped(keys.at(results, "roofline.kernels") or {}, "kernel")
  for _, row in ipairs(list) do
    row.l2_intensity = points[row.id] and points[row.id][1].l2_intensity
  end
  return list
end


-- How many kernels the tables of the largest show, where results do not say.
local TOP_N = 20

function rows.top_n(results) return results.run.top_n or TOP_N end


-- The largest kernels over all stages, by name and device, as many as top_n; and how many there
-- are.
function rows.largest(results)
  local groups = lists.grouped(rows.kernels(results), function(row)
    return keys.tuple(row.name, row.device_name)
  end)
  local list = lists.map(groups, function(group)
    local calls, total = lists.sum(group, "calls"), lists.sum(group, "total_ns")
    return { name = group[1].name, label = group[1].label, device_name = group[1].device_name,
      calls = calls, total_ns = total, mean_ns = calls > 0 and total / calls or nil,
      share = lists.sum(group, "share") }
  end)
  lists.sort(list, "-total_ns", "name", "device_name")
  return lists.first(list, rows.top_n(results)), #list
end


-- A row of a stage, whose name programs get without its mark; more: other fields.
local function stage_row(stage, more)
  return setmetatable(keys.merged({ label = (stage.parent and "· " or "") .. stage.name,
    raw = { label = stage.name } }, more), { __index = stage })
end


local function has_figures(stage)
  return #stage.instances == 0 or lists.any(stage.instances, "used")
end


-- Beyond this share the range of a stage on the CPU is another time than the stage's.
local AHEAD = 0.05

-- Stages, but for those of which nothing counts, such as what an autotuner tried.
function rows.stages(results)
  return lists.map(lists.filtered(results.stages, has_figures), function(stage)
    local row = stage_row(stage, stage.wall or stage.own or {})
    row.time_ns, row.profiled_ns = overhead.time_of(results, stage)
    row.gpu_idle_ns, row.idle_share = overhead.idle_of(results, stage)
    local wall, host = stage.wall and stage.wall.mean_ns, stage.host_ns
    row.cpu_ns = wall and host and math.abs(wall - host) > AHEAD * wall and host or nil
    for _, key in ipairs { "mfu", "mbu", "floor_ns" } do
      row[key] = keys.at(stage, ("efficiency.%s.value"):format(key))
    end
    return row
  end)
end


-- The same, `most` of them: those inside of others are left out first.
function rows.first_stages(results, most)
  local list = rows.stages(results)
  if #list > most then list = lists.filtered(list, function(row) return not row.parent end) end
  return lists.first(list, most)
end


-- What the CPU did in each stage, and how long a launched kernel waits to begin.
function rows.cpu(results)
  return lists.map(results.stages, function(stage)
    if not (stage.api and stage.waiting) then return nil end
    local launch, sync = stage.api.launch, stage.api.sync
    return stage_row(stage, keys.merged({ launch_calls = launch.calls, launch_call_ns = launch.ns,
      sync_calls = sync.calls, sync_call_ns = sync.ns }, stage.waiting, stage.launch_delay or {}))
  end)
end


local classes = { { "launch_ns", "launching calls" }, { "sync_ns", "waits for the GPU" },
  { "memory_ns", "allocations" }, { "other_ns", "other CUDA calls" },
  { "host_ns", "no CUDA call" }, { "graph_ns", "replay of a graph" } }

-- What the CPU was in for most of a gap, with its part of it: a call, else towards which function
-- of the program or in which one it was sampled.
local function cpu_of(gap)
  local said, most = nil, 0
  for _, class in ipairs(classes) do
    local ns = gap[class[1]]
    if ns and ns > most then said, most = class[2], ns end
  end
  if not said then return nil end
  local call = gap.call_ns and 2 * gap.call_ns >= gap.ns and gap.call or nil
  local share = text.number(100 * (call and gap.call_ns or most) / gap.ns, 0)
  local inside = gap["function"] and ", on the way to " .. gap["function"]
    or gap.sampled and gap.sampled_count and gap.samples
      and (", in %s in %d of %d samples"):format(gap.sampled, gap.sampled_count, gap.samples)
  return ("%s (%s %%)%s"):format(call or said, share, not call and inside or "")
end


-- The longest times without work on the GPU.
rows.gaps = rows.at("gaps", function(gap, _, i) return { number = i, cpu = cpu_of(gap) } end)


-- Modules below the one that each is in, the largest first, as a tree: label is the path from
-- there, with a dot for each module around it. results.modules.modules is by time, so that
-- what is inside comes later.
local function as_tree(list)
  local by_name, roots = {}, {}
  for _, row in ipairs(list) do by_name[row.stage .. "\0" .. row.name] = { row = row } end
  for _, row in ipairs(list) do
    local path, above = row.name
    repeat
      path = path:match "^(.*)%.[^.]*$"
      above = path and by_name[row.stage .. "\0" .. path]
    until above or not path
    local node = by_name[row.stage .. "\0" .. row.name]
    node.label = above and row.name:sub(#path + 2) or row.name
    table.insert(above or roots, node)
  end
  local made = {}
  local function add(nodes, depth)
    for _, node in ipairs(nodes) do
      made[#made + 1] = setmetatable({ label = ("· "):rep(depth) .. node.label },
        { __index = node.row })
      add(node, depth + 1)
    end
  end
  add(roots, 0)
  return made
end


-- Modules: as a tree where stacks tell of those around each, else as ranges name them.
function rows.modules(results)
  local list = results.modules and results.modules.modules or {}
  if results.lines then return as_tree(list) end
  return rows.with(list, function(row) return { label = row.name } end)
end


-- Layers of a decode step, each with its module where stacks tell.
rows.step_layers = rows.at("layers.rows", function(row, results)
  local module = results.layers.module
  return { module = module and ("%s.%d"):format(module, row.index) }
end)


-- Lines, each with what it launched most.
rows.lines = rows.at("lines.rows", function(row)
  return { launched = table.concat(lists.map(row.names, function(kernel)
    return kernel.calls > 1 and ("%s x %s"):format(text.count(kernel.calls), kernel.name)
      or kernel.name
  end), ", ") }
end)


-- GPU time of each stage by category of kernel.
function rows.categories(results)
  return lists.flat(results.stages, function(stage)
    local row = stage_row(stage)
    return rows.with(stage.categories or {}, function()
      return { stage = row.label, raw = { stage = stage.name } }
    end)
  end)
end


-- The cost and efficiency of a stage or the whole run, in a row. A quantity
-- that contradicts itself has no value and stays empty.
local function efficiency_row(row, cost, made)
  row.time_ns, row.floor_bound = made.time_ns, made.floor_bound
  row.flops, row.bytes = cost.flops, cost.bytes
  for _, key in ipairs { "mfu", "mbu", "hfu", "intensity", "floor_ns" } do
    row[key] = made[key] and made[key].value
  end
  local share = made.floor_share and made.floor_share.value
  row.times_floor = share and share > 0 and 1 / share or nil
  return row
end


-- Stages with a cost, then all together.
function rows.efficiency(results)
  local list = lists.map(lists.filtered(results.stages, "efficiency"), function(stage)
    return efficiency_row(stage_row(stage), stage.cost, stage.efficiency)
  end)
  local whole = results.efficiency
  if whole then list[#list + 1] = efficiency_row({ label = "together" }, whole, whole) end
  return list
end


-- Stages that hardware samples say something of, beside what the model must move.
function rows.sampled(results)
  return lists.map(lists.filtered(results.stages, "sampled"), function(stage)
    local row, made = stage_row(stage, stage.sampled), stage.sampled
    row.mbu, row.hfu = made.mbu and made.mbu.value, made.hfu and made.hfu.value
    local moved = words.moved(stage)
    row.bytes = stage.cost and stage.cost.bytes
    row.times_bytes = moved and row.bytes and row.bytes > 0 and moved / row.bytes or nil
    return row
  end)
end


-- What kernels could give back, the largest first.
rows.headroom = rows.at("headroom", function(row, results)
  local kernel = results.kernels[row.kernel]
  return { label = rows.label(kernel), where = where(kernel) }
end)


local AS_CLIENTS = "as clients saw it"

local tpot_sources = { ranges = "steps marked on the timeline",
  inferred = "inferred steps", metrics = "steps in metrics.json",
  stage = "decode over its steps", clients = AS_CLIENTS }


-- Of a load the steps are those of other requests each time: their order is no trend.
local function tpot_note(results, tpot)
  local note = tpot_sources[tpot.source]
  if not tpot.trend or results.load then return note end
  local slope = text.duration(math.abs(tpot.slope_ns_per_token))
    .. (tpot.slope_error_ns and " ± " .. text.duration(tpot.slope_error_ns) or "")
  if tpot.trend == "none" then
    local differ = math.abs(tpot.slope_ns_per_token) > 3 * (tpot.slope_error_ns or math.huge)
    return ("%s; %s (%s%s each)"):format(note, differ and "decodes disagree on a trend"
      or "no trend over the steps", tpot.slope_ns_per_token < 0 and "-" or "", slope)
  end
  return ("%s; each %s %s than the one before"):format(note, slope, tpot.trend)
end


local overheads = rows.at("overhead.stages", function(stage)
  if stage.certain == nil then return { verdict = "cannot tell: one plain run" } end
  if not stage.certain then
    return { verdict = "cannot tell: the plain runs differ by as much" }
  end
  return { verdict = stage.inflation > 0 and "slower" or "faster" }
end)


-- What profiling cost, by stage in the order of the stages, and whether that can be told.
function rows.overhead(results)
  local place = {}
  for i, stage in ipairs(results.stages) do place[stage.name] = i end
  return lists.stable(overheads(results), function(row) return place[row.name] or math.huge end)
end


-- One figure: a time in ms, in ns for programs, or a rate.
local function figure_row(label, measured, note)
  local row = { label = label, count = measured.count, note = note }
  if measured.mean then
    local batch = measured.batch and "batch " .. words.batch(measured.batch)
    row.mean, row.std, row.unit = measured.mean, measured.std, "tokens/s"
    row.note = note and batch and note .. "; " .. batch or note or batch
    return row
  end
  row.unit, row.raw = "ms", { unit = "ns" }
  for _, key in ipairs { "mean", "std", "p50", "p90", "p99", "max" } do
    row.raw[key] = measured[key .. "_ns"]
    row[key] = measured[key .. "_ns"] and measured[key .. "_ns"] / 1e6
  end
  return row
end


-- TTFT, TPOT and tokens/s over the repeats, without the profiler where that was
-- measured, then under it.
function rows.latency(results)
  local latency, list = overhead.latency_of(results), {}
  local function add(label, figure, note_of)
    local plain, profiled = (figure or {}).plain, (figure or {}).profiled
    if plain then list[#list + 1] = figure_row(label, plain, "without the profiler") end
    if profiled then
      list[#list + 1] = figure_row(plain and label .. ", profiled" or label, profiled,
        note_of(profiled))
    end
  end
  add("TTFT", latency.ttft, function(ttft)
    return ttft.source == "clients" and AS_CLIENTS or results.inferred and "inferred" or nil
  end)
  add("TPOT", latency.tpot, function(tpot) return tpot_note(results, tpot) end)
  add("throughput", latency.tokens_per_s, function()
    return results.load and "in decode steps" or nil
  end)
  return list
end


-- The same of each repeat, those left out too.
rows.repeats = rows.at("latency.repeats", function(entry)
  local note = not entry.used and "left out"
    or entry.left_out and table.concat(entry.left_out, ", ") .. " left out" or nil
  if entry.outlier then note = entry.used and "outlier" or "outlier, left out" end
  return { note = note }
end)


-- "11.90 ms to 12.80 ms", each as `said` makes it of ns; nil without an interval, or where it is
-- no wider than what is said.
function rows.between(finding, said)
  if not (finding.low_ns and finding.high_ns) then return nil end
  local low, high = said(finding.low_ns), said(finding.high_ns)
  return low ~= high and ("%s to %s"):format(low, high) or nil
end


rows.findings = rows.at("advice.findings", function(finding, _, i)
  return { rank = i, between = finding.no_gain and finding.gain_ns and "at most"
      or rows.between(finding, function(ns) return text.number(ns / 1e6, 2) end),
    spends = finding.spends == "gpu" and "GPU work" or finding.spends }
end)


-- "[1, 4096] [4096, 64] []": a shape per argument, empty for what is no tensor.
local function shapes_text(shapes)
  if type(shapes) ~= "table" then return nil end
  local list = {}
  for i, shape in ipairs(shapes) do list[i] = errors.check(json.encode(shape)):gsub(",", ", ") end
  return table.concat(list, " ")
end


local operators_of = rows.at "operators.operators"

rows.operators = rows.at("operators.operators", function(one)
  return { shapes = shapes_text(one.input_shapes) }
end)

-- The operators with their times on the timeline.
rows.timeline_operators = rows.at "operators.joined.operators"


-- Operators of each stage, the stages and in each the operators in which the CPU was longest first;
-- host_share: of what it was in operators there.
function rows.operator_stages(results)
  local all = lists.flat(operators_of(results), function(operator)
    return rows.with(operator.stages or {}, function(of)
      return { stage = of.name, name = operator.name }
    end)
  end)
  local stages = lists.map(lists.grouped(all, "stage"), function(group)
    return { name = group[1].stage, total = lists.sum(group, "host_self_ns"),
      rows = lists.sort(group, "-host_self_ns", "name") }
  end)
  return lists.flat(lists.sort(stages, "-total", "name"), function(stage)
    for _, row in ipairs(stage.rows) do
      row.host_share = stage.total > 0 and row.host_self_ns / stage.total or nil
    end
    return stage.rows
  end)
end


-- By full name the one that a person can read, as the run's kernels have it; names that
-- are none of theirs are told apart among themselves.
local function labels_of_operators(results, list)
  local read, others = {}, {}
  for _, kernel in ipairs(results.kernels or {}) do read[kernel.name] = rows.label(kernel) end
  for _, kernel in ipairs(lists.flat(list, "kernels")) do
    if read[kernel.name] == nil then
      read[kernel.name], others[#others + 1] = false, kernel.name
    end
  end
  for name, label in pairs(labels.unique(others)) do read[name] = label end
  return read
end


-- What the operators launched themselves: each one's kernels, the largest first.
function rows.operator_kernels(results)
  local list = operators_of(results)
  local read = labels_of_operators(results, list)
  return lists.flat(list, function(operator)
    local whole = operator.device_self_ns or 0
    return lists.map(operator.kernels or {}, function(kernel)
      return { operator = operator.name, name = kernel.name, label = read[kernel.name],
        calls = kernel.calls, device_ns = kernel.device_ns,
        share = whole > 0 and kernel.device_ns / whole or nil }
    end)
  end)
end


local host_memory = { [true] = "pageable", [false] = "pinned" }


-- Copies by stage and direction; pageable is absent where no host memory is.
rows.transfers = rows.at("transfers", function(moved)
  return { memory = host_memory[moved.pageable],
    bytes_per_s = moved.bytes and moved.gpu_time_ns > 0
      and moved.bytes / moved.gpu_time_ns * 1e9 or nil }
end)


-- Whole ranges that ncu measured, FLOP by kind beside the rest.
rows.ranges = rows.at("counters.ranges", function(range) return keys.merged(range.flop or {}) end)


return rows
