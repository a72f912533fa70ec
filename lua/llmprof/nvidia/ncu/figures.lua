-- The numbers of a launch: where each is put ("flop.fp32"), its unit, and the formula
-- that it is made by. Later ones are built on earlier ones by path.
local formula = require "llmprof.nvidia.ncu.formula"
local lists = require "llmprof.tables.lists"
local metrics = require "llmprof.nvidia.metrics"
local sorted_keys = require("llmprof.tables.keys").sorted

local figures = {}

local PCT = ".avg.pct_of_peak_sustained_elapsed"
local SASS = "smsp__sass_thread_inst_executed_op_%s_pred_on"
local SASS_PEAK = "sm__sass_thread_inst_executed_op_%s_pred_on.sum.peak_sustained"
local L2 = "derived__lts__lts2xbar_bytes.sum"
local L1 = "derived__l1tex__lsu_writeback_bytes_mem_lgds.sum"

-- path, unit, what it must be in (see launches), metrics: the first there is.
local DIRECT = {
  { "duration", "s", "time", "gpu__time_duration.sum", "gpu__time_duration.avg" },
  { "throughput.alu", "%", "percent", "sm__pipe_alu_cycles_active" .. PCT },
  { "throughput.xu", "%", "percent", "sm__inst_executed_pipe_xu" .. PCT },
  { "throughput.lsu", "%", "percent", "sm__inst_executed_pipe_lsu" .. PCT },
  { "throughput.tex", "%", "percent", "sm__inst_executed_pipe_tex" .. PCT },
  { "throughput.adu", "%", "percent", "sm__inst_executed_pipe_adu" .. PCT },
  { "throughput.uniform", "%", "percent", "sm__inst_executed_pipe_uniform" .. PCT },
  { "throughput.issue", "%", "percent", "sm__issue_active" .. PCT },
  { "occupancy.theoretical", "%", "percent", "sm__maximum_warps_per_active_cycle_pct" },
  { "occupancy.achieved", "%", "percent",
    "sm__warps_active.avg.pct_of_peak_sustained_active" },
  { "occupancy.warps_theoretical", "warp", nil, "sm__maximum_warps_avg_per_active_cycle" },
  { "occupancy.warps_achieved", "warp", nil, "sm__warps_active.avg.per_cycle_active" },
  { "occupancy.limits.barriers", "block", nil, "launch__occupancy_limit_barriers" },
  { "occupancy.limits.blocks", "block", nil, "launch__occupancy_limit_blocks" },
  { "occupancy.limits.registers", "block", nil, "launch__occupancy_limit_registers" },
  { "occupancy.limits.shared_mem", "block", nil, "launch__occupancy_limit_shared_mem" },
  { "occupancy.limits.warps", "block", nil, "launch__occupancy_limit_warps" },
  { "registers", "register/thread", nil, "launch__registers_per_thread" },
  { "shared.total", "byte/block", "bytes", "launch__shared_mem_per_block" },
  { "shared.static", "byte/block", "bytes", "launch__shared_mem_per_block_static" },
  { "shared.dynamic", "byte/block", "bytes", "launch__shared_mem_per_block_dynamic" },
  { "shared.driver", "byte/block", "bytes", "launch__shared_mem_per_block_driver" },
  { "waves", "wave", nil, "launch__waves_per_multiprocessor" },
}

-- A path and metrics whose largest it is: the queues between an SM and its shared units.
local LARGEST = {
  { "throughput.mio", "%", "sm__mio_inst_issued" .. PCT, "sm__mio2rf_writeback_active" .. PCT,
    "sm__mio_pq_read_cycles_active" .. PCT, "sm__mio_pq_write_cycles_active" .. PCT },
}


local metric, path = formula.metric, formula.path


local function each_metric(names, first, what)
  local list = {}
  for i = first, #names do list[#list + 1] = metric(names[i], what) end
  return list
end


-- How often something happened during the launch, whichever way it is given.
local function count(stem)
  local cycles = stem:match "^(%w+)__" .. "__cycles_elapsed.avg"
  return formula.first { metric(stem .. ".sum"),
    formula.mul(metric(stem .. ".sum.per_cycle_elapsed"), metric(cycles)),
    formula.mul(metric(stem .. ".sum.per_second"), path "duration") }
end


local function add_direct(put)
  for _, row in ipairs(DIRECT) do
    put(row[1], row[2], formula.first(each_metric(row, 4, row[3])))
  end
  for _, row in ipairs(LARGEST) do
    put(row[1], row[2], formula.largest(each_metric(row, 3, "percent")))
  end
end


local function add_bytes(put)
  local duration = path "duration"
  put("bytes.dram_read", "byte", metric("dram__bytes_read.sum", "bytes"))
  put("bytes.dram_write", "byte", metric("dram__bytes_write.sum", "bytes"))
  local rate = metric("dram__bytes.sum.per_second", "byte_rate")
  put("bytes.dram", "byte", formula.first {
    formula.add(path "bytes.dram_read", path "bytes.dram_write"),
    metric("dram__bytes.sum", "bytes"), formula.mul(rate, duration) })
  put("rate.dram", "byte/s", formula.first { rate, formula.div(path "bytes.dram", duration) })

  put("bytes.l2", "byte", formula.first { metric("lts__t_bytes.sum", "bytes"),
    formula.mul(metric(L2 .. ".per_second", "derived_rate"), duration) })
  put("rate.l2", "byte/s", formula.div(path "bytes.l2", duration))

  put("bytes.l1", "byte", formula.mul(metric(L1 .. ".per_second", "derived_rate"), duration))
  put("rate.l1", "byte/s", formula.div(path "bytes.l1", duration))
end


local function scalar_counts(ops)
  return count(SASS:format(ops.add)), count(SASS:format(ops.mul)), count(SASS:format(ops.fma))
end


-- width: values that an instruction computes.
local function scalar_flop(ops, width)
  local add, mul, fma = scalar_counts(ops)
  if width > 1 then add, mul = formula.scale(width, add), formula.scale(width, mul) end
  return formula.add(formula.add(add, mul), formula.scale(2 * width, fma))
end


local FP64 = { add = "dadd", mul = "dmul", fma = "dfma" }
local FP32 = { add = "fadd", mul = "fmul", fma = "ffma" }
local FP16 = { add = "hadd", mul = "hmul", fma = "hfma" }

-- Half instructions are packed: two values each since ncu 2025, which says so
-- in the name of its derived metric; ncu 2024 counted one.
local function by_half_width(make)
  local one = metric("derived__" .. SASS:format "hfma" .. "_x2")
  return formula.first { formula.given(make(1), one), formula.unless(make(2), one) }
end


-- A launch has operations of one type, as a rule: the others may not have been measured of it. It
-- has none where tensor cores had no instruction, or where those of all types are 0: they multiply
-- integers for other instructions, too.
local function add_tensor_flop(put, plan)
  local floats, all = {}, {}
  for i, total in ipairs(figures.tensor_counts(plan, count)) do
    local to = "tensor." .. total.type
    local float = figures.tensor_is_float(total.type)
    put(to, float and "FLOP" or "OP", total.tree)
    all[i] = path(to)
    if float then floats[#floats + 1] = all[i] end
  end
  local zero, used = formula.number(0), count "sm__inst_executed_pipe_tensor"
  local sum = formula.sum(floats)
  local idle = formula.given(formula.unless(zero, formula.above(used, zero)), used)
  local complete = sum
  for _, one in ipairs(all) do complete = formula.given(complete, one) end
  put("flop.tensor", "FLOP", formula.first { formula.above(sum, zero),
    formula.given(idle, path "flop.fp32"), complete, formula.unless(sum, used) })
end


local function add_flop(put, plan)
  put("flop.fp64", "FLOP", scalar_flop(FP64, 1))
  put("flop.fp32", "FLOP", scalar_flop(FP32, 1))
  put("flop.fp16", "FLOP", by_half_width(function(width) return scalar_flop(FP16, width) end))
  add_tensor_flop(put, plan)
  -- HFMA alone is how compilers move registers, not half arithmetic
  local add, mul = scalar_counts(FP16)
  local half = formula.given(path "flop.fp16",
    formula.above(formula.add(add, mul), formula.number(0)))
  put("flop.total", "FLOP", formula.given(formula.given(
    formula.sum { path "flop.fp64", path "flop.fp32", half, path "flop.tensor" },
    path "flop.fp32"), path "flop.tensor"))
  for _, kind in ipairs { "fp64", "fp32", "fp16", "tensor", "total" } do
    put("rate." .. kind, "FLOP/s", formula.div(path("flop." .. kind), path "duration"))
  end
end


local function add_peaks(put, plan)
  local sm_clock = metric("sm__cycles_elapsed.avg.per_second", "clock")
  local function bytes(to, name, what, clock)
    put(to, "byte/s", formula.mul(metric(name, what), metric(clock, "clock")))
  end
  bytes("peak.dram", "dram__bytes.sum.peak_sustained", "width",
    "dram__cycles_elapsed.avg.per_second")
  put("peak.l2", "byte/s", formula.first {
    metric("lts__t_bytes.sum.peak_sustained_elapsed.per_second", "byte_rate"),
    formula.mul(metric(L2 .. ".peak_sustained", "derived_width"),
      metric("lts__cycles_elapsed.avg.per_second", "clock")) })
  bytes("peak.l1", L1 .. ".peak_sustained", "derived_width",
    "l1tex__cycles_elapsed.avg.per_second")
  local function scalar(op, flop)
    return formula.mul(formula.scale(flop, metric(SASS_PEAK:format(op))), sm_clock)
  end
  put("peak.fp64", "FLOP/s", scalar("dfma", 2))
  put("peak.fp32", "FLOP/s", scalar("ffma", 2))
  put("peak.fp16", "FLOP/s", by_half_width(function(width) return scalar("hfma", 2 * width) end))
  local function tensor_peak(stem)
    return formula.first { formula.mul(metric(stem .. ".sum.peak_sustained"), sm_clock),
      metric(stem .. ".sum.peak_sustained_elapsed.per_second") }
  end
  for _, peak in ipairs(figures.tensor_peaks(plan, tensor_peak)) do
    put("peak.tensor." .. peak.type,
      figures.tensor_is_float(peak.type) and "FLOP/s" or "OP/s", peak.tree)
  end
end


-- ---- how busy the units were ----

-- Percent of a peak.
local function share(rate, peak) return formula.scale(100, formula.div(rate, peak)) end


-- What a GPU can do at most, per second: what is known of it (llmprof.model.hardware), else
-- the peak that ncu gives. what: "dram" or a number format, fp64 that of vector units.
local function limit(what, peak)
  return formula.first { metric("limit." .. what, "limit"), path("peak." .. peak) }
end


local function percents(...)
  return formula.first(lists.map({ ... }, function(name)
    return metric(name .. PCT, "percent")
  end))
end


-- Of the launch's time its tensor cores need so much for the operations of all types.
local function tensor_share(plan)
  local shares = {}
  for i, total in ipairs(figures.tensor_counts(plan, count)) do
    local done = path("tensor." .. total.type)
    local none = formula.unless(formula.number(0), formula.above(done, formula.number(0)))
    local peak = path("peak.tensor." .. total.type)
    if total.type ~= "fp64" then
      peak = limit(figures.tensor_format(total.type), "tensor." .. total.type)
    end
    shares[i] = formula.first { formula.given(none, done),
      share(formula.div(done, path "duration"), peak) }
  end
  return formula.sum(shares)
end


-- The busiest of a unit's parts, where `of` were measured, which all chips have, and all others
-- that the file has (`names`); of L2 not the link between its halves, which takes its own pass.
-- NVIDIA's own throughputs are made so.
local function busiest(names, unit, of)
  local parts = {}
  for _, row in ipairs(metrics.parts(unit)) do
    for _, name in ipairs(row[1]) do
      if names[name] then parts[#parts + 1] = metric(name, "percent") end
    end
  end
  local made = formula.largest(parts)
  for _, part in ipairs(unit ~= "lts" and parts or {}) do made = formula.given(made, part) end
  for _, name in ipairs(of) do made = formula.given(made, metric(name .. PCT, "percent")) end
  return made
end


local SM = { "sm__inst_executed", "sm__issue_active", "sm__pipe_fma_cycles_active",
  "sm__inst_executed_pipe_lsu", "sm__mio_pq_read_cycles_active", "sm__mio_pq_write_cycles_active",
  "sm__pipe_tensor_cycles_active" }
local L2_PARTS = { "lts__t_sectors", "lts__d_sectors" }
local L1_PARTS = { "l1tex__lsuin_requests", "l1tex__data_pipe_lsu_wavefronts",
  "l1tex__data_bank_reads", "l1tex__m_l1tex2xbar_req_cycles_active" }


-- ncu gives L1's share of the cycles in which it was active: next to all of a launch of
-- few blocks, whose SMs are idle. Of the launch it is at most what ncu sums up of all of
-- memory, L1 among it.
local function l1_percent(l1_parts)
  local active = metric("l1tex__throughput.avg.pct_of_peak_sustained_active", "percent")
  local memory = metric("gpu__compute_memory_throughput" .. PCT, "percent")
  return formula.first {
    formula.given(formula.given(formula.least(active, memory), active), memory),
    formula.mul(active, formula.div(metric "l1tex__cycles_active.avg",
      metric "l1tex__cycles_elapsed.avg")), l1_parts,
    share(path "rate.l1", path "peak.l1") }
end


-- Percents as ncu measured them, else rates over what the GPU can do.
local function add_units(put, plan, names)
  local sm, l1 = busiest(names, "sm", SM), busiest(names, "l1tex", L1_PARTS)
  local l2 = busiest(names, "lts", L2_PARTS)
  put("throughput.sm", "%", formula.first { percents "sm__throughput", formula.largest {
    sm, formula.given(percents "sm__pipe_tensor_cycles_active", sm) } })
  put("throughput.memory", "%", formula.first { percents "gpu__compute_memory_throughput",
    formula.given(formula.given(formula.largest { l1, l2,
      percents("gpu__dram_throughput", "dram__throughput") }, l1), l2) })
  put("throughput.dram", "%", formula.first {
    percents("gpu__dram_throughput", "dram__throughput"),
    share(path "rate.dram", limit("dram", "dram")) })
  put("throughput.l2", "%", formula.first { percents "lts__throughput", l2,
    share(metric(L2 .. ".per_second", "derived_rate"), path "peak.l2") })
  put("throughput.l1", "%", l1_percent(l1))
  put("throughput.tensor", "%", formula.first {
    percents("sm__pipe_tensor_cycles_active", "sm__pipe_tensor_subpipe_hmma_cycles_active"),
    tensor_share(plan) })
  put("throughput.fp32", "%", formula.first { percents "sm__pipe_fma_cycles_active",
    share(path "rate.fp32", limit("fp32", "fp32")) })
  put("throughput.fp64", "%", formula.first { percents "sm__pipe_fp64_cycles_active",
    share(path "rate.fp64", limit("fp64", "fp64")) })
end


-- How a warp's accesses fall together: sectors of a request to global memory, and the wavefronts
-- of shared memory that bank conflicts make.
local function add_accesses(put)
  for _, row in ipairs { { "load", "ld" }, { "store", "st" } } do
    local of = "l1tex__t_%s_pipe_lsu_mem_global_op_" .. row[2] .. ".sum"
    put("access.sectors_per_" .. row[1], "sectors",
      formula.div(metric(of:format "sectors"), metric(of:format "requests")))
  end
  local conflicts = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_%s.sum"
  put("access.bank_conflict_percent", "%", formula.scale(100, formula.div(
    formula.add(metric(conflicts:format "ld"), metric(conflicts:format "st")),
    metric "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum")))
end


-- Cycles that a warp waits for each reason, per instruction.
local function add_stalls(put, names)
  for _, reason in ipairs(metrics.stalls) do
    local name = metrics.stall(reason[1])
    if names[name] then put("stall." .. reason[1], "cycles", metric(name)) end
  end
end


local function add_intensity(put)
  for _, level in ipairs { "dram", "l2", "l1" } do
    put("intensity." .. level, "FLOP/byte",
      formula.div(path "flop.total", path("bytes." .. level)))
  end
end


-- The figures of launches that have these metrics (a set of names), in order: list of
-- { path, unit, tree (of llmprof.nvidia.ncu.formula) }. Once per file.
function figures.of(names)
  local list, plan = {}, figures.tensor_plan(names)
  local function put(to, unit, tree) list[#list + 1] = { path = to, unit = unit, tree = tree } end
  add_direct(put)
  add_bytes(put)
  add_flop(put, plan)
  add_peaks(put, plan)
  add_units(put, plan, names)
  add_accesses(put)
  add_stalls(put, names)
  add_intensity(put)
  return list
end


-- ---- the tensor pipe ----

-- Which tensor-core counters a file holds and what they mean. The names are
--
--   sm__ops_path_tensor_src_bf16_dst_fp32                 all paths together
--   sm__ops_path_tensor_src_fp8_sparsity_off, ..._on      the same in two parts
--   sm__ops_path_tensor_op_hgmma_src_bf16_..._sparsity_on one path of several
--
-- and differ by chip. src_ columns hold the sum of the op_ columns, and a name
-- without _sparsity_ the sum of off and on, so only one of each may be counted.
-- They count operations (a fused multiply-add is 2), tile padding included.

local COUNTS = { "", ".per_cycle_elapsed", ".per_second" } -- after ".sum"
local PEAKS = { ".peak_sustained", ".peak_sustained_elapsed.per_second" }


local function has_any(names, stem, suffixes)
  return lists.any(suffixes, function(suffix) return names[stem .. ".sum" .. suffix] end)
end


-- Every ops_path_tensor stem among the names, sorted: sm__ before smsp__.
local function stems(names)
  local found = {}
  for name in pairs(names) do
    local stem = name:match "^(sms?p?__ops_path_tensor_[%w_]+)%.sum"
    if stem then found[stem] = true end
  end
  return sorted_keys(found)
end


local function describe(stem)
  local body = stem:match "__ops_path_tensor_(.*)$"
  local base, sparsity = body:match "^(.-)_sparsity_(o[nf]f?)$"
  base = base or body
  local source = ("_" .. base .. "_dst_"):match "_src_(.-)_dst_"
  return { stem = stem, base = base, sparsity = sparsity or "both", type = source,
    kind = base:match "^op_" and "op" or "src" }
end


-- groups[kind][type][base] = { both =, off =, on = } (stems)
local function collect(columns)
  local groups = { src = {}, op = {} }
  for _, column in ipairs(columns) do
    local types = groups[column.kind]
    local bases = types[column.type] or {}
    types[column.type] = bases
    bases[column.base] = bases[column.base] or {}
    local group = bases[column.base]
    group[column.sparsity] = group[column.sparsity] or column.stem
  end
  return groups
end


-- In a fixed order; src_X alone where there is also src_X_dst_Y, its part.
local function ordered(types)
  return lists.map(sorted_keys(types), function(source)
    local bases = types[source]
    local whole = bases["src_" .. source]
    local groups = {}
    for _, base in ipairs(whole and { "src_" .. source } or sorted_keys(bases)) do
      groups[#groups + 1] = bases[base]
    end
    return { type = source, groups = groups }
  end)
end


-- Stems whose peak is that of dense operation. The plain src_ peak is the
-- sparse one, twice as high, except for types that have no sparse mode.
local function dense(groups)
  local by_type = {}
  for _, kind in ipairs { "op", "src" } do
    for _, entry in ipairs(ordered(groups[kind])) do
      local candidates = lists.map(entry.groups, function(group)
        local no_sparse_mode = entry.type == "fp64" or entry.type == "int1"
        return group.off or no_sparse_mode and group.both or nil
      end)
      if #candidates > 0 then by_type[entry.type] = by_type[entry.type] or candidates end
    end
  end
  return by_type
end


-- figures.tensor_plan(names) -> plan; names is a set of metric names. Once per file.
function figures.tensor_plan(names)
  local counted, peaked = {}, {}
  for _, stem in ipairs(stems(names)) do
    local column = describe(stem)
    if column.type then
      if has_any(names, stem, COUNTS) then counted[#counted + 1] = column end
      if has_any(names, stem, PEAKS) then peaked[#peaked + 1] = column end
    end
  end
  local groups = collect(counted)
  local peaks = dense(collect(peaked))
  return {
    counts = { ordered(groups.src), ordered(groups.op) },
    peaks = peaks,
    peak_types = sorted_keys(peaks),
  }
end


-- A group's number, by its stems: of both modes, or put together from two.
local function count_group(group, count_of)
  local both = group.off and group.on and formula.add(count_of(group.off), count_of(group.on))
  local part = group.off or group.on
  local apart = both or part and count_of(part)
  if not group.both then return apart end
  return formula.first { count_of(group.both), apart }
end


local function totals(entries, count_of)
  return lists.map(entries, function(entry)
    return { type = entry.type, tree = formula.sum(lists.map(entry.groups, function(group)
      return count_group(group, count_of)
    end)) }
  end)
end


-- figures.tensor_counts(plan, count_of) -> list of { type, tree }: operations by source type, as
-- formulas. count_of(stem) gives one, which a launch may have no value of. The paths
-- (op_) count only where a launch has none of the sums (src_).
function figures.tensor_counts(plan, count_of)
  local sums, paths = totals(plan.counts[1], count_of), totals(plan.counts[2], count_of)
  local trees, any = {}, {}
  for i, total in ipairs(sums) do
    trees[total.type] = { total.tree }
    any[i] = total.tree
  end
  for _, total in ipairs(paths) do
    trees[total.type] = trees[total.type] or {}
    table.insert(trees[total.type], formula.unless(total.tree, formula.first(any)))
  end
  return lists.map(sorted_keys(trees), function(source)
    return { type = source, tree = formula.first(trees[source]) }
  end)
end


-- figures.tensor_peaks(plan, peak) -> list of { type, tree }: the fastest dense path of
-- each source type. peak(stem) gives a formula in operations per second.
function figures.tensor_peaks(plan, peak)
  return lists.map(plan.peak_types, function(source)
    return { type = source, tree = formula.largest(lists.map(plan.peaks[source], peak)) }
  end)
end


-- The number format whose peak operations on this source type have.
function figures.tensor_format(source) return source == "fp4_fp6_fp8" and "fp8" or source end


-- Whether operations on this source type are floating point.
function figures.tensor_is_float(source) return not source:match "^u?int%d" end


return figures
