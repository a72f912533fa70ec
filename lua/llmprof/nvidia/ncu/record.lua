-- Fills a launch record from its metrics. Every number is put under a path
-- ("flop.fp32") together with its source under the same path, so a report can
-- cite it; later numbers are built on earlier ones by path.
local expr = require "llmprof.nvidia.ncu.expr"
local labels = require "llmprof.nvidia.ncu.labels"
local tensor = require "llmprof.nvidia.ncu.tensor"

local record = {}

local PCT = ".avg.pct_of_peak_sustained_elapsed"
local SASS = "smsp__sass_thread_inst_executed_op_%s_pred_on"
local SASS_PEAK = "sm__sass_thread_inst_executed_op_%s_pred_on.sum.peak_sustained"
local L2 = "derived__lts__lts2xbar_bytes.sum"
local L1 = "derived__l1tex__lsu_writeback_bytes_mem_lgds.sum"

-- Base units a metric must have to be used as such: with another, say one of
-- a spelling not known here, its scale is not known either. ncu gives its own
-- derived__ rates no unit, or one without the "per".
local UNITS = {
  time = { s = true },
  bytes = { byte = true, ["byte/block"] = true },
  byte_rate = { ["byte/s"] = true },
  derived_rate = { ["byte/s"] = true, byte = true, [""] = true },
  derived_width = { ["byte/cycle"] = true, byte = true, [""] = true },
  width = { ["byte/cycle"] = true },
  clock = { Hz = true },
}

-- path, unit, what it must be (see UNITS), metrics: the first there is.
local DIRECT = {
  { "duration", "s", "time", "gpu__time_duration.sum", "gpu__time_duration.avg" },
  { "throughput.sm", "%", nil, "sm__throughput" .. PCT },
  { "throughput.memory", "%", nil, "gpu__compute_memory_throughput" .. PCT },
  { "throughput.dram", "%", nil, "gpu__dram_throughput" .. PCT, "dram__throughput" .. PCT },
  { "throughput.l2", "%", nil, "lts__throughput" .. PCT },
  { "throughput.tensor", "%", nil, "sm__pipe_tensor_cycles_active" .. PCT,
    "sm__pipe_tensor_subpipe_hmma_cycles_active" .. PCT },
  { "throughput.fp32", "%", nil, "sm__pipe_fma_cycles_active" .. PCT },
  { "throughput.fp64", "%", nil, "sm__pipe_fp64_cycles_active" .. PCT },
  { "throughput.alu", "%", nil, "sm__pipe_alu_cycles_active" .. PCT },
  { "throughput.xu", "%", nil, "sm__inst_executed_pipe_xu" .. PCT },
  { "throughput.lsu", "%", nil, "sm__inst_executed_pipe_lsu" .. PCT },
  { "throughput.tex", "%", nil, "sm__inst_executed_pipe_tex" .. PCT },
  { "throughput.adu", "%", nil, "sm__inst_executed_pipe_adu" .. PCT },
  { "throughput.uniform", "%", nil, "sm__inst_executed_pipe_uniform" .. PCT },
  { "throughput.issue", "%", nil, "sm__issue_active" .. PCT },
  { "occupancy.theoretical", "%", nil, "sm__maximum_warps_per_active_cycle_pct" },
  { "occupancy.achieved", "%", nil, "sm__warps_active.avg.pct_of_peak_sustained_active" },
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


local builder = {}
builder.__index = builder


local function fits(unit, what)
  return not what or UNITS[what][unit or ""] or false
end


-- The metric as an expression: by its name, else by its label on the details
-- page; nil when it is absent, not a number or not in a unit of that kind.
function builder:metric(name, what)
  local launch = self.launch
  local value = launch.metrics[name]
  if math.type(value) and fits(launch.units[name], what) then
    return self.bare and expr.plain(value) or expr.input(name, value, launch.units[name])
  end
  if self.bare then return nil end
  for _, label in ipairs(labels[name] or {}) do
    local section, shown = label[1], label[2]
    value = (launch.sections[section] or {})[shown]
    local unit = (launch.section_units[section] or {})[shown]
    if math.type(value) and fits(unit, what) then
      return expr.input(section .. ": " .. shown, value, unit)
    end
  end
  return nil
end


-- Groups and paths that others are made of.
local ASKED = { duration = true, flop = true, bytes = true, throughput = true }

local parts = {} -- of paths: groups, and the last

local function parts_of(path)
  if not parts[path] then
    local list = {}
    for part in path:gmatch "[^.]+" do list[#list + 1] = part end
    parts[path] = list
  end
  return parts[path]
end


local function put_at(into, path, value)
  local list = parts_of(path)
  for i = 1, #list - 1 do
    local group = into[list[i]]
    if not group then
      group = {}
      into[list[i]] = group
    end
    into = group
  end
  into[list[#list]] = value
end


-- Put a number and its source at the path; returns it as an input for others.
function builder:put(path, unit, e)
  if not e or math.abs(e.value) == math.huge then return nil end
  local value = math.tointeger(e.value) or e.value
  put_at(self.launch, path, value)
  if not self.bare then
    self.launch.source[path] = { formula = e.formula, inputs = e.inputs, unit = unit }
    e = expr.input(path, value, unit)
  end
  if ASKED[parts_of(path)[1]] then self.known[path] = e end
  return e
end


-- How often something happened during the launch, whichever way it is given.
function builder:count(stem)
  local total = self:metric(stem .. ".sum")
  if total then return total end
  local cycles = self:metric(stem:match "^(%w+)__" .. "__cycles_elapsed.avg")
  return expr.mul(self:metric(stem .. ".sum.per_cycle_elapsed"), cycles) or
    expr.mul(self:metric(stem .. ".sum.per_second"), self.known.duration)
end


local function put_direct(q)
  for _, row in ipairs(DIRECT) do
    local path, unit, what = row[1], row[2], row[3]
    local e
    for i = 4, #row do e = e or q:metric(row[i], what) end
    q:put(path, unit, e)
  end
end


local function put_largest(q)
  for _, row in ipairs(LARGEST) do
    local most
    for i = 3, #row do
      local e = q:metric(row[i])
      if e and (not most or e.value > most.value) then most = e end
    end
    q:put(row[1], row[2], most)
  end
end


-- ncu gives L1's share of the cycles in which it was active: next to all of a launch of
-- few blocks, whose SMs are idle. Of the launch it is at most what ncu sums up of all of
-- memory, L1 among it.
local function put_l1(q)
  local active = q:metric "l1tex__throughput.avg.pct_of_peak_sustained_active"
  local memory = q:metric("gpu__compute_memory_throughput" .. PCT)
  q:put("throughput.l1", "%", active and expr.least(active, memory))
end


local function put_bytes(q)
  local read = q:put("bytes.dram_read", "byte", q:metric("dram__bytes_read.sum", "bytes"))
  local write = q:put("bytes.dram_write", "byte", q:metric("dram__bytes_write.sum", "bytes"))
  local duration = q.known.duration
  local rate = q:metric("dram__bytes.sum.per_second", "byte_rate")
  local dram = q:put("bytes.dram", "byte", expr.add(read, write) or
    q:metric("dram__bytes.sum", "bytes") or expr.mul(rate, duration))
  q:put("rate.dram", "byte/s", rate or expr.div(dram, duration))

  local l2_rate = q:metric(L2 .. ".per_second", "derived_rate")
  local l2 = q:put("bytes.l2", "byte",
    q:metric("lts__t_bytes.sum", "bytes") or expr.mul(l2_rate, duration))
  q:put("rate.l2", "byte/s", expr.div(l2, duration))

  local l1_rate = q:metric(L1 .. ".per_second", "derived_rate")
  local l1 = q:put("bytes.l1", "byte", expr.mul(l1_rate, duration))
  q:put("rate.l1", "byte/s", expr.div(l1, duration))
end


local function put_scalar_flop(q, path, ops)
  local add, mul, fma = q:count(SASS:format(ops.add)), q:count(SASS:format(ops.mul)),
    q:count(SASS:format(ops.fma))
  if not (add and mul and fma) then return nil end
  if ops.width > 1 then add, mul = expr.scale(ops.width, add), expr.scale(ops.width, mul) end
  return q:put(path, "FLOP", expr.add(expr.add(add, mul), expr.scale(2 * ops.width, fma))),
    add.value + mul.value > 0
end


-- Half instructions are packed: two values each since ncu 2025, which says so
-- in the name of its derived metric; ncu 2024 counted one.
local function half_width(q)
  local one = "derived__" .. SASS:format "hfma" .. "_x2"
  return q.launch.metrics[one] and 1 or 2
end


local function put_tensor_flop(q)
  local total
  for _, count in ipairs(tensor.counts(q.plan, function(stem) return q:count(stem) end)) do
    local float = tensor.is_float(count.type)
    local put = q:put("tensor." .. count.type, float and "FLOP" or "OP", count.e)
    if float then total = expr.sum(total, put) end
  end
  return q:put("flop.tensor", "FLOP", total)
end


local function put_flop(q)
  local fp64 = put_scalar_flop(q, "flop.fp64",
    { add = "dadd", mul = "dmul", fma = "dfma", width = 1 })
  local fp32 = put_scalar_flop(q, "flop.fp32",
    { add = "fadd", mul = "fmul", fma = "ffma", width = 1 })
  local fp16, arithmetic = put_scalar_flop(q, "flop.fp16",
    { add = "hadd", mul = "hmul", fma = "hfma", width = half_width(q) })
  local tensor_flop = put_tensor_flop(q)
  if fp32 and tensor_flop then
    -- HFMA alone is how compilers move registers, not half arithmetic
    q:put("flop.total", "FLOP", expr.sum(fp64, fp32, arithmetic and fp16 or nil, tensor_flop))
  end
  for _, kind in ipairs { "fp64", "fp32", "fp16", "tensor", "total" } do
    q:put("rate." .. kind, "FLOP/s", expr.div(q.known["flop." .. kind], q.known.duration))
  end
end


local function put_peaks(q)
  local sm_clock = q:metric("sm__cycles_elapsed.avg.per_second", "clock")
  local function bytes(path, name, what, clock)
    q:put(path, "byte/s", expr.mul(q:metric(name, what), q:metric(clock, "clock")))
  end
  bytes("peak.dram", "dram__bytes.sum.peak_sustained", "width",
    "dram__cycles_elapsed.avg.per_second")
  bytes("peak.l2", L2 .. ".peak_sustained", "derived_width", "lts__cycles_elapsed.avg.per_second")
  bytes("peak.l1", L1 .. ".peak_sustained", "derived_width",
    "l1tex__cycles_elapsed.avg.per_second")
  local function scalar(path, op, flop)
    q:put(path, "FLOP/s", expr.mul(expr.scale(flop, q:metric(SASS_PEAK:format(op))), sm_clock))
  end
  scalar("peak.fp64", "dfma", 2)
  scalar("peak.fp32", "ffma", 2)
  scalar("peak.fp16", "hfma", 2 * half_width(q))
  local function tensor_peak(stem)
    return expr.mul(q:metric(stem .. ".sum.peak_sustained"), sm_clock) or
      q:metric(stem .. ".sum.peak_sustained_elapsed.per_second")
  end
  for _, peak in ipairs(tensor.peaks(q.plan, tensor_peak)) do
    q:put("peak.tensor." .. peak.type, tensor.is_float(peak.type) and "FLOP/s" or "OP/s", peak.e)
  end
end


local function put_intensity(q)
  for _, level in ipairs { "dram", "l2", "l1" } do
    q:put("intensity." .. level, "FLOP/byte",
      expr.div(q.known["flop.total"], q.known["bytes." .. level]))
  end
end


-- What allows the fewest blocks per SM; nothing does at full occupancy.
local function limiters(occupancy)
  local least, names = math.huge, {}
  if occupancy.theoretical and occupancy.theoretical >= 100 then return names end
  for _, blocks in pairs(occupancy.limits) do least = math.min(least, blocks) end
  for name, blocks in pairs(occupancy.limits) do
    if blocks == least then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end


-- record.fill(launch, plan, bare): launch has metrics, units, sections,
-- section_units; plan is tensor.plan() of the file's metric names. bare: without
-- `source`, of a raw page.
function record.fill(launch, plan, bare)
  for _, group in ipairs { "bytes", "flop", "tensor", "rate", "intensity", "throughput",
    "shared" } do
    launch[group] = {}
  end
  launch.source = not bare and {} or nil
  launch.peak = { tensor = {} }
  launch.occupancy = { limits = {} }
  local q = setmetatable({ launch = launch, plan = plan, known = {}, bare = bare }, builder)
  put_direct(q)
  put_largest(q)
  put_l1(q)
  put_bytes(q)
  put_flop(q)
  put_peaks(q)
  put_intensity(q)
  launch.occupancy.limiters = limiters(launch.occupancy)
  return launch
end


return record
