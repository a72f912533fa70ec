-- The numbers of a launch: where each is put ("flop.fp32"), its unit, and the formula
-- that it is made by. Later ones are built on earlier ones by path.
--
-- They are said to `of`, what knows the columns: metric(name, what) gives the formula of a metric
-- (what: the kind of unit that it must be in), path(path) that of a figure that was put before,
-- figures.ABSENT where there is none; put(path, unit, formula) puts one; names is a set of the
-- metrics.
local lists = require "llmprof.tables.lists"
local metrics = require "llmprof.nvidia.metrics"
local merged = require("llmprof.tables.keys").merged
local sorted_keys = require("llmprof.tables.keys").sorted

local figures = {}


-- ---- formulas ----

-- They are steps of llmprof.frame's compute, one behind the other, so that all launches of a file
-- are worked out at once: a + b, 2 * a, a / b, which is absent too where b is 0. What is computed
-- from an absent number is absent.
local Formula = {}
Formula.__index = Formula


function figures.formula(steps) return setmetatable(steps, Formula) end

local ABSENT = figures.formula {} -- in every row
figures.ABSENT = ABSENT

local ZERO = figures.formula { 0 }


local function joined(a, b, operator)
  if a == ABSENT or b == ABSENT then return ABSENT end
  return figures.formula(lists.joined(type(a) == "number" and { a } or a, b, { operator }))
end


function Formula.__add(a, b) return joined(a, b, "+") end
function Formula.__mul(a, b) return joined(a, b, "*") end
function Formula.__div(a, b) return joined(a, b, "/") end

-- It where b is there, or is not; and where it is more than b.
function Formula:given(b) return joined(self, b, "where") end
function Formula:unless(b) return b == ABSENT and self or joined(self, b, "unless") end
function Formula:above(b) return joined(self, b, "above") end


-- Of a list all that are there, folded from the first on.
local function folded(operator)
  return function(list)
    local made = ABSENT
    for _, one in ipairs(list) do
      local both = joined(made, one, operator)
      if both ~= ABSENT then made = both elseif made == ABSENT then made = one end
    end
    return made
  end
end


-- Of a list: the first, the smallest, the largest, the sum of those that are there.
local first, least = folded "or", folded "least"
local largest, sum = folded "most", folded "together"


-- ---- metrics ----

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

-- What a GPU can do at most is a metric by the name limit.WHAT: see llmprof.nvidia.ncu.launches.


-- A function that gives how often something happened during the launch, whichever way that is
-- given.
local function counter(of)
  return function(stem)
    local cycles = stem:match "^(%w+)__" .. "__cycles_elapsed.avg"
    return first { of:metric(stem .. ".sum"),
      of:metric(stem .. ".sum.per_cycle_elapsed") * of:metric(cycles),
      of:metric(stem .. ".sum.per_second") * of:path "duration" }
  end
end


local function add_bytes(of)
  local duration = of:path "duration"
  of:put("bytes.dram_read", "byte", of:metric("dram__bytes_read.sum", "bytes"))
  of:put("bytes.dram_write", "byte", of:metric("dram__bytes_write.sum", "bytes"))
  local rate = of:metric("dram__bytes.sum.per_second", "byte_rate")
  of:put("bytes.dram", "byte", first { of:path "bytes.dram_read" + of:path "bytes.dram_write",
    of:metric("dram__bytes.sum", "bytes"), rate * duration })
  of:put("rate.dram", "byte/s", first { rate, of:path "bytes.dram" / duration })

  of:put("bytes.l2", "byte", first { of:metric("lts__t_bytes.sum", "bytes"),
    of:metric(L2 .. ".per_second", "derived_rate") * duration })
  of:put("rate.l2", "byte/s", of:path "bytes.l2" / duration)

  of:put("bytes.l1", "byte", of:metric(L1 .. ".per_second", "derived_rate") * duration)
  of:put("rate.l1", "byte/s", of:path "bytes.l1" / duration)
end


-- width: values that an instruction computes.
local function scalar_flop(of, type, width)
  local count = counter(of)
  local add, mul = count(SASS:format(type .. "add")), count(SASS:format(type .. "mul"))
  if width > 1 then add, mul = width * add, width * mul end
  return add + mul + 2 * width * count(SASS:format(type .. "fma"))
end


-- Half instructions are packed: two values each since ncu 2025, which says so
-- in the name of its derived metric; ncu 2024 counted one.
local function by_half_width(of, make)
  local one = of:metric("derived__" .. SASS:format "hfma" .. "_x2")
  return first { make(1):given(one), make(2):unless(one) }
end


-- A launch has operations of one type, as a rule: the others may not have been measured of it. It
-- has none where tensor cores had no instruction, or where those of all types are 0: they multiply
-- integers for other instructions, too.
local function add_tensor_flop(of)
  local floats, all, count = {}, {}, counter(of)
  for i, total in ipairs(figures.tensor_counts(of.names, count)) do
    local to = "tensor." .. total.type
    local float = figures.tensor_is_float(total.type)
    of:put(to, float and "FLOP" or "OP", total.steps)
    all[i] = of:path(to)
    if float then floats[#floats + 1] = all[i] end
  end
  local used = count "sm__inst_executed_pipe_tensor"
  local whole = sum(floats)
  local idle = ZERO:unless(used:above(ZERO)):given(used)
  local complete = whole
  for _, one in ipairs(all) do complete = complete:given(one) end
  of:put("flop.tensor", "FLOP", first { whole:above(ZERO), idle:given(of:path "flop.fp32"),
    complete, whole:unless(used) })
end


local function add_flop(of)
  of:put("flop.fp64", "FLOP", scalar_flop(of, "d", 1))
  of:put("flop.fp32", "FLOP", scalar_flop(of, "f", 1))
  of:put("flop.fp16", "FLOP", by_half_width(of, function(width)
    return scalar_flop(of, "h", width)
  end))
  add_tensor_flop(of)
  -- HFMA alone is how compilers move registers, not half arithmetic
  local count, fp32, tensor = counter(of), of:path "flop.fp32", of:path "flop.tensor"
  local half = of:path "flop.fp16":given(
    (count(SASS:format "hadd") + count(SASS:format "hmul")):above(ZERO))
  of:put("flop.total", "FLOP",
    sum { of:path "flop.fp64", fp32, half, tensor }:given(fp32):given(tensor))
  for _, kind in ipairs { "fp64", "fp32", "fp16", "tensor", "total" } do
    of:put("rate." .. kind, "FLOP/s", of:path("flop." .. kind) / of:path "duration")
  end
end


local function add_peaks(of)
  local sm_clock = of:metric("sm__cycles_elapsed.avg.per_second", "clock")
  local function bytes(name, what, clock)
    return of:metric(name, what) * of:metric(clock, "clock")
  end
  of:put("peak.dram", "byte/s", bytes("dram__bytes.sum.peak_sustained", "width",
    "dram__cycles_elapsed.avg.per_second"))
  of:put("peak.l2", "byte/s", first {
    of:metric("lts__t_bytes.sum.peak_sustained_elapsed.per_second", "byte_rate"),
    bytes(L2 .. ".peak_sustained", "derived_width", "lts__cycles_elapsed.avg.per_second") })
  of:put("peak.l1", "byte/s", bytes(L1 .. ".peak_sustained", "derived_width",
    "l1tex__cycles_elapsed.avg.per_second"))
  local function scalar(op, flop) return flop * of:metric(SASS_PEAK:format(op)) * sm_clock end
  of:put("peak.fp64", "FLOP/s", scalar("dfma", 2))
  of:put("peak.fp32", "FLOP/s", scalar("ffma", 2))
  of:put("peak.fp16", "FLOP/s", by_half_width(of, function(width)
    return scalar("hfma", 2 * width)
  end))
  local function tensor_peak(stem)
    return first { of:metric(stem .. ".sum.peak_sustained") * sm_clock,
      of:metric(stem .. ".sum.peak_sustained_elapsed.per_second") }
  end
  for _, peak in ipairs(figures.tensor_peaks(of.names, tensor_peak)) do
    of:put("peak.tensor." .. peak.type,
      figures.tensor_is_float(peak.type) and "FLOP/s" or "OP/s", peak.steps)
  end
end


-- ---- how busy the units were ----

-- Percent of a peak.
local function share(rate, peak) return 100 * (rate / peak) end


-- What a GPU can do at most, per second: what is known of it (llmprof.model.hardware), else
-- the peak that ncu gives. what: "dram" or a number format, fp64 that of vector units.
local function limit(of, what, peak)
  return first { of:metric("limit." .. what, "limit"), of:path("peak." .. peak) }
end


local function percents(of, names)
  return lists.map(names, function(name) return of:metric(name .. PCT, "percent") end)
end


-- Of the launch's time its tensor cores need so much for the operations of all types.
local function tensor_share(of)
  return sum(lists.map(figures.tensor_counts(of.names, counter(of)), function(total)
    local done = of:path("tensor." .. total.type)
    local none = ZERO:unless(done:above(ZERO))
    local peak = of:path("peak.tensor." .. total.type)
    if total.type ~= "fp64" then
      peak = limit(of, figures.tensor_format(total.type), "tensor." .. total.type)
    end
    return first { none:given(done), share(done / of:path "duration", peak) }
  end))
end


-- The busiest of a unit's parts, where `needed` were measured, which all chips have, and all
-- others that the file has; of L2 not the link between its halves, which takes its own pass.
-- NVIDIA's own throughputs are made so.
local function busiest(of, unit, needed)
  local parts = {}
  for _, row in ipairs(metrics.parts(unit)) do
    for _, name in ipairs(row[1]) do
      if of.names[name] then parts[#parts + 1] = of:metric(name, "percent") end
    end
  end
  local made = largest(parts)
  for _, part in ipairs(unit ~= "lts" and parts or {}) do made = made:given(part) end
  for _, part in ipairs(percents(of, needed)) do made = made:given(part) end
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
local function l1_percent(of, l1_parts)
  local active = of:metric("l1tex__throughput.avg.pct_of_peak_sustained_active", "percent")
  local memory = of:metric("gpu__compute_memory_throughput" .. PCT, "percent")
  return first { least { active, memory }:given(active):given(memory),
    active * (of:metric "l1tex__cycles_active.avg" / of:metric "l1tex__cycles_elapsed.avg"),
    l1_parts, share(of:path "rate.l1", of:path "peak.l1") }
end


-- Percents as ncu measured them, else rates over what the GPU can do.
local function add_units(of)
  local sm, l1, l2 = busiest(of, "sm", SM), busiest(of, "l1tex", L1_PARTS),
    busiest(of, "lts", L2_PARTS)
  local function percent(name) return of:metric(name .. PCT, "percent") end
  local dram = first(percents(of, { "gpu__dram_throughput", "dram__throughput" }))
  of:put("throughput.sm", "%", first { percent "sm__throughput",
    largest { sm, percent "sm__pipe_tensor_cycles_active":given(sm) } })
  of:put("throughput.memory", "%", first { percent "gpu__compute_memory_throughput",
    largest { l1, l2, dram }:given(l1):given(l2) })
  of:put("throughput.dram", "%", first { dram,
    share(of:path "rate.dram", limit(of, "dram", "dram")) })
  of:put("throughput.l2", "%", first { percent "lts__throughput", l2,
    share(of:metric(L2 .. ".per_second", "derived_rate"), of:path "peak.l2") })
  of:put("throughput.l1", "%", l1_percent(of, l1))
  of:put("throughput.tensor", "%", first { percent "sm__pipe_tensor_cycles_active",
    percent "sm__pipe_tensor_subpipe_hmma_cycles_active", tensor_share(of) })
  of:put("throughput.fp32", "%", first { percent "sm__pipe_fma_cycles_active",
    share(of:path "rate.fp32", limit(of, "fp32", "fp32")) })
  of:put("throughput.fp64", "%", first { percent "sm__pipe_fp64_cycles_active",
    share(of:path "rate.fp64", limit(of, "fp64", "fp64")) })
end


-- Put the figures of launches, in order.
function figures.put(of)
  for _, row in ipairs(DIRECT) do
    of:put(row[1], row[2], first(lists.map(table.move(row, 4, #row, 1, {}), function(name)
      return of:metric(name, row[3])
    end)))
  end
  -- the queues between an SM and its shared units
  of:put("throughput.mio", "%", largest(percents(of, { "sm__mio_inst_issued",
    "sm__mio2rf_writeback_active", "sm__mio_pq_read_cycles_active",
    "sm__mio_pq_write_cycles_active" })))
  add_bytes(of)
  add_flop(of)
  add_peaks(of)
  add_units(of)
  -- how a warp's accesses fall together: sectors of a request to global memory, and the wavefronts
  -- of shared memory that bank conflicts make
  for _, row in ipairs { { "load", "ld" }, { "store", "st" } } do
    local name = "l1tex__t_%s_pipe_lsu_mem_global_op_" .. row[2] .. ".sum"
    of:put("access.sectors_per_" .. row[1], "sectors",
      of:metric(name:format "sectors") / of:metric(name:format "requests"))
  end
  local conflicts = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_%s.sum"
  of:put("access.bank_conflict_percent", "%",
    share(of:metric(conflicts:format "ld") + of:metric(conflicts:format "st"),
      of:metric "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"))
  for _, reason in ipairs(metrics.stalls) do -- cycles that a warp waits so, per instruction
    local name = metrics.stall(reason[1])
    if of.names[name] then of:put("stall." .. reason[1], "cycles", of:metric(name)) end
  end
  for _, level in ipairs { "dram", "l2", "l1" } do
    of:put("intensity." .. level, "FLOP/byte",
      of:path "flop.total" / of:path("bytes." .. level))
  end
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

local COUNTS = lists.set { "", ".per_cycle_elapsed", ".per_second" } -- after ".sum"
local PEAKS = lists.set { ".peak_sustained", ".peak_sustained_elapsed.per_second" }


-- Stems of such counters among metrics that end so, by kind ("src", "op") and source type: a
-- list of { both, off, on }, where there is src_X it alone and not src_X_dst_Y, its part.
local function read_groups(names, endings)
  local kinds, found = { src = {}, op = {} }, {}
  for name in pairs(names) do found[name] = name:find("__ops_path_tensor_", 1, true) end
  for _, name in ipairs(sorted_keys(found)) do -- sm__ before smsp__
    local start, body, ending = name:match "^(sms?p?__ops_path_tensor_)([%w_]+)%.sum(.*)$"
    local base, sparsity = (body or ""):match "^(.-)_sparsity_(o[nf]f?)$"
    base = base or body or ""
    local source = ("_" .. base .. "_dst_"):match "_src_(.-)_dst_"
    if source and endings[ending] then
      local types = kinds[base:match "^op_" or "src"] or kinds.op
      local bases = types[source] or {}
      local group = bases[base] or {}
      types[source], bases[base] = bases, group
      group[sparsity or "both"] = group[sparsity or "both"] or start .. body
    end
  end
  for _, types in pairs(kinds) do
    for source, bases in pairs(types) do
      local whole = bases["src_" .. source]
      types[source] = whole and { whole }
        or lists.map(sorted_keys(bases), function(base) return bases[base] end)
    end
  end
  return kinds
end


-- The same, read once for the metrics of a page, which has some thousand.
local read = { [COUNTS] = setmetatable({}, { __mode = "k" }),
  [PEAKS] = setmetatable({}, { __mode = "k" }) }

local function groups_of(names, endings)
  local known = read[endings]
  known[names] = known[names] or read_groups(names, endings)
  return known[names]
end


-- List of { type, steps }: operations by source type. count(stem) gives one, which a launch may
-- have no value of. The paths (op_) count only where a launch has none of the sums (src_).
function figures.tensor_counts(names, count)
  local groups, sums, list = groups_of(names, COUNTS), {}, {}
  local function sum_of(kind, source)
    return sum(lists.map(groups[kind][source] or {}, function(group)
      local off, on = group.off and count(group.off), group.on and count(group.on)
      -- of both modes, or put together from two
      return first { group.both and count(group.both) or ABSENT,
        off and on and off + on or off or on or ABSENT }
    end))
  end
  for i, source in ipairs(sorted_keys(groups.src)) do sums[i] = sum_of("src", source) end
  for i, source in ipairs(sorted_keys(merged(groups.src, groups.op))) do
    list[i] = { type = source, steps = first { sum_of("src", source),
      sum_of("op", source):unless(first(sums)) } }
  end
  return list
end


-- List of { type, steps }: the fastest dense path of each source type. peak(stem) gives steps,
-- in operations per second. The plain src_ peak is the sparse one, twice as high, except for
-- types that have no sparse mode.
function figures.tensor_peaks(names, peak)
  local groups, list = groups_of(names, PEAKS), {}
  for _, source in ipairs(sorted_keys(merged(groups.src, groups.op))) do
    local has_sparse = source ~= "fp64" and source ~= "int1"
    local function dense(kind)
      return lists.map(groups[kind][source] or {}, function(group)
        return group.off or not has_sparse and group.both or nil
      end)
    end
    local stems = dense "op"
    if #stems == 0 then stems = dense "src" end
    if #stems > 0 then
      list[#list + 1] = { type = source, steps = largest(lists.map(stems, peak)) }
    end
  end
  return list
end


-- The number format whose peak operations on this source type have.
function figures.tensor_format(source) return source == "fp4_fp6_fp8" and "fp8" or source end


-- Whether operations on this source type are floating point.
function figures.tensor_is_float(source) return not source:match "^u?int%d" end


return figures
