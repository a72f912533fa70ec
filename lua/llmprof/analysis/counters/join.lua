-- Counters joined to the timeline: which measured launches stand for which
-- kernel, and what they say about it.
--
-- The two tools spell a kernel differently (nsys keeps namespaces and casts of
-- template arguments that ncu drops), so names meet in a plain form: without
-- qualifiers, casts and spaces. A launch that the timeline has, too, by its process and
-- correlation id, has the name and stage of the kernel there. Launches are taken in
-- this order of preference, which is the match's confidence:
--   exact   same stage and plain name, and grid and block that the timeline has
--   stage   the same, but launched in another stage: ncu counts the launches of
--           a configuration over all stages, so the first stage has them
--   name    same stage and plain name, another launch shape
-- Whole ranges stand for no kernel: launches:whole_ranges() has them.
-- Times always come from the timeline; of counters only ratios (also to what the GPU can
-- do), bytes and operations are used.
local document = require "llmprof.io.document"
local errors = require "llmprof.process.errors"
local hardware = require "llmprof.model.hardware"
local json = require "llmprof.json"
local metrics = require "llmprof.nvidia.metrics"
local launches_of = require "llmprof.nvidia.ncu.launches"
local ncu = require "llmprof.nvidia.ncu"
local stages = require "llmprof.analysis.stages.find"
local figures = require "llmprof.nvidia.ncu.figures"
local occupancy = require "llmprof.analysis.kernels.occupancy"
local tuple = require("llmprof.tables.keys").tuple
local lists = require "llmprof.tables.lists"

local counters = {}


-- "void at::native::f<(int)4, at::A>(T1)" -> "voidf<4,A>(T1)"
function counters.plain(name)
  name = name:gsub("%(unsigned %l+%)", ""):gsub("%(%l+ %l+%)", ""):gsub("%(%l+%)", "")
  name = name:gsub("<unnamed>::", ""):gsub("%f[%w_][%w_]+::", "")
  return (name:gsub("%s+", ""))
end


-- One that an export does not say is 0, which no launch has.
function counters.shape_key(grid, block)
  grid, block = grid or {}, block or {}
  return ("%d,%d,%d/%d,%d,%d"):format(grid[1] or grid.x or 0, grid[2] or grid.y or 0,
    grid[3] or grid.z or 0, block[1] or block.x or 0, block[2] or block.y or 0,
    block[3] or block.z or 0)
end


-- A function that gives the stage of a launch, or of a class of them: the outermost of its
-- ranges that is a declared one. Without NVTX columns the file cannot say, and it gives nil.
function counters.stage_finder(found)
  local tops = lists.set(lists.map(found.declared, function(stage)
    return not stage.parent and stage.name or nil
  end))
  return function(launch)
    if found.whole then return stages.WHOLE_RUN end
    return lists.filtered(launch.ranges, function(tag) return tops[tag] end)[1]
  end
end


-- Rows of the launches that say their correlation id: by process and id.
local function correlated(launches)
  local rows, ids, frame = {}, {}, launches.frame
  local pids = frame:values "pid"
  for row, id in ipairs(frame:values "correlation") do
    if id and id ~= 0 then ids[#ids + 1], rows[tuple(pids[row], id)] = id, row end
  end
  return rows, ids
end


-- By row, the kernel that a launch is in the timeline: { name, stage }; and how many are.
local function same_launches(launches, trace, found)
  local rows, ids = correlated(launches)
  local same, count = {}, 0
  if not trace or #ids == 0 then return same, count end
  local frame = errors.check(trace:frame "kernels"):where { { "correlation", "==", ids },
    { "graph_node", "==", false } }
  stages.label(trace, frame, found)
  for _, kernel in ipairs(frame:group { by = { "pid", "correlation", "name", "stage" } }) do
    local row = rows[tuple(kernel.pid, kernel.correlation)]
    if row and not same[row] then
      same[row], count = { name = kernel.name, stage = kernel.stage or stages.WHOLE_RUN }, count + 1
    end
  end
  return same, count
end


-- The stage of each class of launches, or false: that of the timeline, where this has the
-- launch, too, else that of its ranges.
function counters.stages(launches, trace, found)
  local stage_of, same = counters.stage_finder(found), same_launches(launches, trace, found)
  return lists.map(launches.classes, function(class)
    local known = same[class.rows[1]]
    return known and known.stage or stage_of(class) or false
  end)
end


-- Classes by their kernel's plain name; one without a name stands for none. same: of
-- same_launches.
local function by_name(classes, stage_of, plain, same)
  local _, index = lists.grouped(lists.map(classes, function(class)
    local known = same[class.rows[1]] or { name = class.kernel, stage = stage_of(class) }
    return known.name and { class = class, stage = known.stage, name = plain[known.name],
      shape = counters.shape_key(class.grid, class.block) } or nil
  end), "name")
  return index
end


-- ---- what the launches of a kernel say together ----

-- Field and where a launch has it. Percent of the unit's peak, warps, waves:
local PERCENTS = lists.map(ncu.throughputs, function(field)
  return { field .. "_percent", "throughput." .. field }
end)
PERCENTS[#PERCENTS + 1] = { "occupancy_percent", "occupancy.achieved" }
PERCENTS[#PERCENTS + 1] = { "waves", "waves" }
for _, name in ipairs { "sectors_per_load", "sectors_per_store", "bank_conflict_percent" } do
  PERCENTS[#PERCENTS + 1] = { name, "access." .. name }
end
for _, reason in ipairs(metrics.stalls) do
  PERCENTS[#PERCENTS + 1] = { "stall." .. reason[1], "stall." .. reason[1] }
end

-- FLOP, bytes, ns of a launch:
local AMOUNTS = {
  { "flop_per_launch", "flop.total" }, { "tensor_flop_per_launch", "flop.tensor" },
  { "fp32_flop_per_launch", "flop.fp32" }, { "dram_bytes_per_launch", "bytes.dram" },
  { "l2_bytes_per_launch", "bytes.l2" }, { "measured_ns", "duration_ns" },
}


-- Percents that follow from what a launch did and what the GPU can do, where the launches
-- say no time: of the mean time on the timeline. The amount, and the limit it is held to.
local RATES = { { "dram_percent", "dram_bytes_per_launch", "dram" },
  { "fp32_percent", "fp32_flop_per_launch", "fp32" },
  { "tensor_percent", "tensor_flop_per_launch", nil } } -- that of its format

local function add_rates(row, limits)
  local ns = row.total_ns / row.calls
  for _, rate in ipairs(ns > 0 and not row.measured_ns and limits and RATES or {}) do
    local percent, amount, limit = rate[1], row[rate[2]], limits[rate[3] or row.tensor_format]
    if amount and limit and not row[percent] then row[percent] = 1e11 * amount / ns / limit end
  end
end


-- What keeps a launch from having more warps on an SM: a grid of less than one
-- wave, else the smallest limit. nil when it was not measured.
local function limiter_of(launches, row)
  local waves = launches:get(row, "waves")
  if waves and waves < ncu.FULL_WAVE then return occupancy.GRID end
  return select(2, occupancy.least(function(limit)
    return launches:get(row, "occupancy.limits." .. limit)
  end))
end


-- The number format that most tensor operations of a launch of a view are in.
local function tensor_format(launches, view)
  local best, most = nil, 0
  for path, operations in pairs(launches:largest(view, "tensor")) do
    local format = path:match "[^.]+$"
    if operations > most or (operations == most and operations > 0 and format < best) then
      best, most = format, operations
    end
  end
  return best and figures.tensor_format(best)
end


-- Means of the launches of some classes: { launches, NAME_percent, ..., NAME_per_launch,
-- measured_ns }. Percentages are weighted by measured time, where there is any; an amount
-- that not every launch has is absent.
local function of_classes(launches, classes)
  local rows = launches_of.rows(classes)
  local view = launches:view(rows)
  local made = { launches = #rows, tensor_format = tensor_format(launches, view),
    occupancy_limiter = limiter_of(launches, rows[1]) }
  launches:add_means(made, view, AMOUNTS)
  if made.measured_ns == nil then launches:add_means(made, view, PERCENTS) end
  launches:add_means(made, view, PERCENTS, "duration")
  return made
end


-- Was nothing measured of the launches but their time?
local function is_empty(row)
  return not lists.any(lists.joined(PERCENTS, AMOUNTS), function(entry)
    return row[entry[1]] and entry[1] ~= "measured_ns"
  end)
end


-- The mean of a field of the shapes that have it, by a weight.
local function mean_of(rows, field, weight)
  local known = lists.filtered(rows, field)
  local all = lists.sum(known, weight)
  local sum = lists.sum(known, function(row) return row[field] * row[weight] end)
  return all > 0 and sum / all or nil, #known == #rows
end


-- What the shapes of a kernel say together, each as often as it ran: amounts, which all have, are
-- weighted by calls, percentages by the time that these take on the timeline.
local function together(rows)
  local with_most = lists.largest(rows, function(row)
    return row.tensor_format and row.calls * (row.tensor_flop_per_launch or 0) or -1
  end)
  local main = lists.largest(rows, "total_ns")
  local made = {
    launches = lists.sum(rows, "launches"),
    tensor_format = with_most.tensor_format,
    occupancy_limiter = main.occupancy_limiter,
  }
  for _, entry in ipairs(PERCENTS) do made[entry[1]] = mean_of(rows, entry[1], "total_ns") end
  for _, entry in ipairs(AMOUNTS) do
    local mean, of_all = mean_of(rows, entry[1], "calls")
    made[entry[1]] = of_all and mean or nil
  end
  local flop, bytes = made.flop_per_launch, made.dram_bytes_per_launch
  made.intensity = flop and bytes and bytes > 0 and flop / bytes or nil
  return made
end


-- ---- the join ----

local function choose(candidates, stage, shapes)
  local _, chosen = lists.grouped(candidates, function(candidate)
    local here = candidate.stage == nil or candidate.stage == stage
    if shapes[candidate.shape] then return here and "exact" or "stage" end
    return here and "name" or nil
  end)
  for _, confidence in ipairs { "exact", "stage", "name" } do
    if chosen[confidence] then return chosen[confidence], confidence end
  end
  return nil
end


-- A row for each measured shape that the kernel has: { grid, block, calls, total_ns
-- (on the timeline), and what its launches say }, in the order of its shapes. Shapes
-- that differ in shared memory alone are one.
local function rows_of(kernel, launches, chosen)
  local _, index = lists.grouped(chosen, "shape")
  local rows, known = {}, {}
  local limits = launches.limits and launches.limits(kernel.device)
  for _, shape in ipairs(kernel.shapes) do
    local key = counters.shape_key(shape.grid, shape.block)
    local row = known[key]
    if row == nil and index[key] then
      row = of_classes(launches, lists.map(index[key], "class"))
      row.grid, row.block, row.calls, row.total_ns = shape.grid, shape.block, 0, 0
      if is_empty(row) then row = false end
      known[key], rows[#rows + 1] = row, row or nil
    end
    if row then row.calls, row.total_ns = row.calls + shape.calls, row.total_ns + shape.total_ns end
  end
  for _, row in ipairs(rows) do add_rates(row, limits) end
  return rows
end


-- An instruction that is issued is no reason to wait, though its cycle is one of the sum.
local ISSUED = "selected"

-- The two reasons for which warps wait most, of all their cycles; the means of all reasons go.
local function add_stalls(summary)
  local sum, list = 0, {}
  for _, reason in ipairs(metrics.stalls) do
    local key = "stall." .. reason[1]
    local cycles = summary[key]
    summary[key], sum = nil, sum + (cycles or 0)
    if cycles and reason[1] ~= ISSUED then
      list[#list + 1] = { reason = reason[1], waits_for = reason[2], cycles = cycles }
    end
  end
  if sum <= 0 then return end
  local most = lists.first(lists.sort(list, "-cycles", "reason"), 2)
  summary.stalls = json.list(lists.map(most, function(stall)
    return { reason = stall.reason, waits_for = stall.waits_for, share = stall.cycles / sum }
  end))
end


-- ncu.bound of means.
local function add_bound(summary)
  local timed, percents = summary.measured_ns or summary.timeline_ns or summary.total_ns, {}
  for _, field in ipairs(ncu.throughputs) do percents[field] = summary[field .. "_percent"] end
  local class, reason, numbers = ncu.bound { throughput = percents, waves = summary.waves,
    bytes = timed and { dram = summary.dram_bytes_per_launch,
      l2 = summary.l2_bytes_per_launch } }
  summary.bound, summary.bound_reason = class, reason
  summary.bound_percent = class ~= "unknown" and numbers.percent or nil
  if class == "unknown" then return end
  for _, unit in ipairs(ncu.units) do
    local percent = summary[unit[1] .. "_percent"]
    if percent and unit[2] ~= numbers.unit and percent > (summary.second_percent or 0) then
      summary.second, summary.second_percent = unit[2], percent
    end
  end
end


-- The counters of a kernel from its chosen launches; nil where they have none.
local function counters_of(kernel, launches, chosen, confidence)
  local rows
  if confidence == "name" then -- all launches alike, as the kernel does not have their shapes
    local row = of_classes(launches, lists.map(chosen, "class"))
    row.calls, row.total_ns = 1, 1
    rows = is_empty(row) and {} or { row }
  else
    rows = rows_of(kernel, launches, chosen)
  end
  if #rows == 0 then return nil end
  local made = together(rows)
  made.match = confidence
  made.measured_in = confidence == "stage" and chosen[1].stage or nil
  if confidence ~= "name" then
    local calls, ns = lists.sum(rows, "calls"), lists.sum(rows, "total_ns")
    made.measured_calls, made.timeline_ns = calls, calls > 0 and ns / calls or nil
    made.shape_share = kernel.total_ns > 0 and ns / kernel.total_ns or nil
    made.shapes = json.list(lists.map(rows, function(row)
      add_bound(row)
      return document.record(row, "results", "shape_counters")
    end))
  end
  add_stalls(made)
  add_bound(made)
  return made
end


-- ---- coverage ----

-- ns of a kernel whose launches were measured with its shapes: in its stage ("exact"),
-- or in another ("stage").
local function covered_ns(kernel, match)
  local counted = kernel.counters
  if not counted or counted.match ~= match then return 0 end
  return kernel.total_ns * (counted.shape_share or 0)
end


-- The one coverage: the share of the kernels' time whose launches were measured in
-- their stage and with their shapes; of all, and by stage { name, coverage }. Third: the
-- share whose launches, with their shapes, were measured in another stage only.
local function coverage_of(list)
  local function share(kernels, match)
    local all = lists.sum(kernels, "total_ns")
    local covered = lists.sum(kernels, function(kernel) return covered_ns(kernel, match) end)
    return all > 0 and covered / all or nil
  end
  local by_stage = lists.map(lists.grouped(list, "stage"), function(own)
    return { name = own[1].stage, coverage = share(own, "exact") }
  end)
  local elsewhere = share(list, "stage")
  return share(list, "exact"), json.list(lists.sort(by_stage, "name")),
    elsewhere and elsewhere > 0 and elsewhere or nil
end


-- A unit that is used for this part of its peak limits a kernel.
counters.BUSY = ncu.LOW / 100


-- What the GPUs of a trace can do at most, for llmprof.nvidia.ncu.launches. cfg: the
-- configuration's hardware table; without it results that were made with one, if there are.
function counters.limits(devices, cfg, results)
  local described = results and results.hardware
  return hardware.limits(devices, cfg or described and hardware.settings(described) or {})
end


-- What reports tell of a kernel, and by which field; ncu's sum over memory tells of its
-- caches, too.
local FIGURES = { { "DRAM", "dram_percent" }, { "L2", "l2_percent", "memory_percent" },
  { "L1", "l1_percent", "memory_percent" }, { "SM", "sm_percent" },
  { "occupancy", "occupancy_percent" }, { "FLOP", "flop_per_launch" } }

-- Those that fewer kernels have than were measured: list of { name, coverage }, of the
-- kernels' time; nil for none.
local function lacking_of(list)
  local function ns_of(kernel) return covered_ns(kernel, "exact") + covered_ns(kernel, "stage") end
  local all, measured = lists.sum(list, "total_ns"), lists.sum(list, ns_of)
  local lacking = lists.map(FIGURES, function(figure)
    local ns = lists.sum(list, function(kernel)
      local own = kernel.counters
      return own and (own[figure[2]] or own[figure[3]]) and ns_of(kernel)
    end)
    return ns < measured and { name = figure[1], coverage = ns / all } or nil
  end)
  return #lacking > 0 and json.list(lacking) or nil
end


-- Give each kernel of the list its `counters`, as far as launches were measured.
-- trace: the timeline; nil where there is none.
-- Returns { launches, matched (launches), by_correlation (those that the timeline has, too;
-- nil for none), kernels (with counters), coverage, stages
-- (list of { name, coverage }), elsewhere (share of the kernels' time that was measured
-- in another stage; nil for none), lacking (of lacking_of), ranges (those of
-- launches:whole_ranges(); nil without) }. launches: of llmprof.nvidia.ncu.launches.
function counters.join(list, launches, found, trace)
  local stage_of = counters.stage_finder(found)
  local plain = setmetatable({}, { __index = function(known, name) -- names come again
    known[name] = counters.plain(name)
    return known[name]
  end })
  local classes = lists.filtered(launches.classes, function(class) return not class.whole_range end)
  local function launches_of_class(class) return #class.rows end
  local same, same_count = same_launches(launches, trace, found)
  local index, used, with = by_name(classes, stage_of, plain, same), {}, 0
  local devices = lists.set(lists.map(list, "device"))
  for _, kernel in ipairs(next(index) and list or {}) do
    local candidates = index[plain[kernel.name]] or {}
    -- those that may have run on its own GPU, where some may: not those of the others that the
    -- timeline has
    local near = lists.filtered(candidates, function(candidate)
      local on = candidate.class.device
      return on == kernel.device or not devices[on or false]
    end)
    local shapes = lists.set(lists.map(kernel.shapes, function(shape)
      return counters.shape_key(shape.grid, shape.block)
    end))
    local chosen, confidence = choose(#near > 0 and near or candidates, kernel.stage, shapes)
    kernel.counters = chosen and counters_of(kernel, launches, chosen, confidence)
    if kernel.counters then
      for _, candidate in ipairs(chosen) do used[candidate.class] = true end
      with = with + 1
    end
  end
  local count = lists.sum(classes, launches_of_class)
  local matched = lists.sum(lists.filtered(classes, function(class) return used[class] end),
    launches_of_class)
  local whole = launches:whole_ranges(stage_of)
  local made = { launches = count, matched = matched, kernels = with,
    by_correlation = same_count > 0 and same_count or nil,
    ranges = #whole > 0 and whole or nil }
  if count > 0 then
    made.coverage, made.stages, made.elsewhere = coverage_of(list)
    made.lacking = lacking_of(list)
  end
  return made
end


return counters
