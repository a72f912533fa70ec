-- The metrics that sets of counters are made of, by NVIDIA's names: llmprof's collector and ncu
-- are asked for the same ones, so that a launch has the same value from both. `llmprof help
-- counters` prints this as a page; tests/collector/metric_names.c asks CUPTI which chips have
-- them and how many passes a set takes.
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local lists = require "llmprof.tables.lists"

local metrics = {}

local PCT = ".avg.pct_of_peak_sustained_elapsed"
local SASS = "smsp__sass_thread_inst_executed_op_%s_pred_on.sum"
local TENSOR = "sm__ops_path_tensor_src_%s.sum"
local STALL = "smsp__average_warps_issue_stalled_%s_per_issue_active.ratio"

-- Chips by compute capability, as CUPTI calls them.
metrics.chips = { { "8.0", "GA100" }, { "8.6", "GA102" }, { "8.9", "AD102" }, { "9.0", "GH100" },
  { "10.0", "GB100" }, { "12.0", "GB202" } }

-- The sets, each with those before it.
metrics.sets = { "light", "roofline", "full" }

-- By set: names (the first that the chip has), unit, what it tells, and the chips that have
-- none of the names (optional).
local LIGHT = {
  { { "gpu__time_duration.sum" }, "ns", "time of the launch under the profiler" },
  { { "dram__bytes_read.sum", "dram__bytes_op_read.sum" }, "bytes", "read from DRAM" },
  { { "dram__bytes_write.sum", "dram__bytes_op_write.sum" }, "bytes", "written to DRAM" },
  { { "dram__throughput" .. PCT }, "%", "DRAM, of its peak" },
  { { "lts__t_bytes.sum" }, "bytes", "through L2; FLOP over it is the intensity at L2" },
  { { "sm__cycles_elapsed.avg" }, "cycles", "of an SM's clock in that time" },
  { { "sm__pipe_tensor_cycles_active" .. PCT }, "%", "tensor cores, of their peak" },
  { { "sm__inst_executed_pipe_tensor.sum" }, "instructions", "of tensor cores" },
  { { "sm__warps_active.avg.pct_of_peak_sustained_active" }, "%",
    "achieved occupancy: warps of an SM, of those it could hold" },
}

-- Parts of which NVIDIA's throughputs are the busiest, without those that no kernel of a model
-- is bound by (interpolation, uniform and branch units, double precision on tensor cores).
-- ncu's throughputs themselves take 5 to 8 passes each, with caches as the pass before left them.
-- Those of the set full cost a pass each, and on 9.0 what they tell is in others, too.
local PARTS = {
  { "lts__d_sectors", "L2: sectors of data", beside = true },
  { "lts__t_sectors", "L2: sectors", beside = true },
  { "lts__t_tag_requests", "L2: look-ups", beside = true },
  { "lts__lts2xbar_cycles_active_realtime|lts__lts2xbar_cycles_active", "L2: to the SMs",
    beside = true },
  { "lts__xbar2lts_cycles_active", "L2: from the SMs", beside = true },
  { "lts__d_atomic_input_cycles_active", "L2: atomics", beside = true },
  { "lts__d_sectors_fill_device", "L2: filled from DRAM", beside = true },
  { "lts__ltcfabric2ltc_cycles_active|lts__ltcfabric2lts_cycles_active",
    "L2: from its other half", "8.6 8.9 12.0" },
  { "l1tex__m_l1tex2xbar_req_cycles_active", "L1: to L2", beside = true },
  { "l1tex__m_xbar2l1tex_read_sectors", "L1: from L2" },
  { "l1tex__lsuin_requests", "L1: requests of loads and stores" },
  { "l1tex__data_pipe_lsu_wavefronts", "L1: their wavefronts" },
  { "l1tex__lsu_writeback_active", "L1: to registers" },
  { "l1tex__data_bank_reads", "L1: reads of its banks" },
  { "l1tex__data_bank_writes", "L1: writes to its banks" },
  { "l1tex__data_pipe_tex_wavefronts", "L1: wavefronts of textures" },
  { "l1tex__tmain_requests", "L1: look-ups of textures and bulk copies", "8.0 8.6 8.9" },
  { "sm__inst_executed", "SM: instructions" }, { "sm__issue_active", "SM: cycles that issue" },
  { "sm__pipe_alu_cycles_active|sm__pipe_aluheavy_cycles_active", "SM: integers and logic" },
  { "sm__pipe_fma_cycles_active", "SM: FP32" },
  { "sm__pipe_fmaheavy_cycles_active", "SM: FP32, its half that multiplies integers", "8.0" },
  { "sm__pipe_fp64_cycles_active", "SM: FP64", full = true },
  { "sm__pipe_shared_cycles_active", "SM: tensor cores and FP64", "8.6 8.9 12.0" },
  { "sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active",
    "SM: tensor cores, all but FP64", "8.0 8.6 8.9 10.0 12.0", full = true },
  { "sm__inst_executed_pipe_xu", "SM: special functions" },
  { "sm__inst_executed_pipe_lsu", "SM: loads and stores" },
  { "sm__mio_pq_read_cycles_active", "SM: the memory queue's reads" },
  { "sm__mio_pq_write_cycles_active", "SM: its writes" },
  { "sm__mio2rf_writeback_active", "SM: from it to registers" } }

local ROOFLINE = {
  { { "l1tex__cycles_active.avg" }, "cycles", "in which L1 was active", beside = true },
  { { "l1tex__cycles_elapsed.avg" }, "cycles", "of L1 in the launch", beside = true },
  { { "lts__cycles_elapsed.avg" }, "cycles", "of L2 in the launch", beside = true },
  { { "sm__cycles_elapsed.avg.per_second" }, "Hz", "clock of the SMs", beside = true },
  { { "lts__t_bytes.sum.peak_sustained_elapsed.per_second" }, "byte/s",
    "what L2 gives at the clock that was held", beside = true },
}

-- Names of the parts of a unit ("lts", "l1tex", "sm").
function metrics.parts(unit)
  return lists.filtered(PARTS, function(row) return row[1][1]:find("^" .. unit .. "__") end)
end

local FULL = {
  { { "smsp__inst_executed.sum" }, "instructions", "of all warps" },
  { { "smsp__thread_inst_executed_per_inst_executed.ratio" }, "threads",
    "active in an instruction, of 32" },
  { { "smsp__warps_eligible.avg.per_cycle_active" }, "warps",
    "that could issue, per cycle and scheduler" },
  { { "smsp__issue_active.avg.per_cycle_active" }, "instructions",
    "issued per cycle and scheduler" },
  { { "lts__t_sector_hit_rate.pct" }, "%", "of sectors found in L2" },
  { { "l1tex__t_sector_hit_rate.pct" }, "%", "of sectors found in L1" },
  { { "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum" }, "sectors",
    "of global loads; over the requests 4 is coalesced for 4 bytes a thread" },
  { { "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum" }, "requests", "global loads of a warp" },
  { { "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum" }, "sectors", "of global stores" },
  { { "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum" }, "requests", "global stores of a warp" },
  { { "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum" }, "sectors",
    "of local loads: registers that were spilled" },
  { { "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum" }, "sectors", "of local stores" },
  { { "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum" }, "conflicts",
    "of banks in loads from shared memory" },
  { { "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum" }, "conflicts",
    "the same in stores" },
  { { "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum" }, "wavefronts",
    "of shared memory, those of conflicts among them" },
}


for i, part in ipairs(PARTS) do
  local names = {}
  for stem in part[1]:gmatch "[^|]+" do names[#names + 1] = stem .. PCT end
  PARTS[i] = { names, "%", part[2], lacks = part[3], beside = part.beside }
  local set = part.full and FULL or ROOFLINE
  set[#set + 1] = PARTS[i]
end


-- Instructions of vector units by type, per thread; a fused multiply-add is two FLOP.
for _, row in ipairs { { "f", "FP32" }, { "d", "FP64" }, { "h", "FP16, of two values each" } } do
  for _, op in ipairs { "add", "mul", "fma" } do
    ROOFLINE[#ROOFLINE + 1] = { { SASS:format(row[1] .. op) }, "instructions",
      ("%s, %s"):format(op, row[2]) }
  end
end

-- Operations of tensor cores by the type of their factors. Those of the last two take two passes,
-- and hardly a kernel of a model has them.
for i, row in ipairs {
  { { "bf16_dst_fp32" }, "BF16" },
  { { "fp16", "fp16_dst_fp32" }, "FP16, to FP32 where it says so" },
  { { "fp16_dst_fp16" }, "FP16 to FP16", "9.0" }, { { "tf32_dst_fp32" }, "TF32" },
  { { "fp8", "fp8_dst_fp32", "fp4_fp6_fp8_dst_fp32" }, "FP8, on 10.0 FP6 too", "8.0 8.6" },
  { { "fp4_dst_fp32" }, "FP4", "8.0 8.6 8.9 9.0" }, { { "fp64" }, "FP64" },
  { { "int8" }, "INT8" } } do
  local names, set = {}, i > 6 and FULL or ROOFLINE
  for k, type in ipairs(row[1]) do names[k] = TENSOR:format(type) end
  set[#set + 1] = { names, "operations", "of tensor cores on " .. row[2], lacks = row[3] }
end

-- What warps wait for, in words: cycles that a warp spends so per instruction issued. The share
-- of a reason is its number over the sum of all. Third: the chips that lack it.
metrics.stalls = {
  { "long_scoreboard", "memory loads (L1 miss, L2, DRAM)" },
  { "short_scoreboard", "shared memory, special functions" }, { "barrier", "__syncthreads" },
  { "membar", "a memory fence" }, { "lg_throttle", "the queue of loads and stores" },
  { "mio_throttle", "the queue of shared memory and special functions" },
  { "tex_throttle", "the queue of textures" }, { "math_pipe_throttle", "a busy unit" },
  { "wait", "a fixed latency" }, { "not_selected", "other warps that were chosen" },
  { "selected", "nothing: it issued" }, { "no_instruction", "the instruction cache" },
  { "branch_resolving", "a branch" }, { "dispatch_stall", "the dispatcher" },
  { "drain", "stores at its end" }, { "imc_miss", "constants", "10.0 12.0" },
  { "sleeping", "nanosleep" },
  { "misc", "other" }, { "gmma", "tensor cores' operands", "8.0 8.6 8.9 10.0 12.0" } }

for _, row in ipairs(metrics.stalls) do
  FULL[#FULL + 1] = { { STALL:format(row[1]) }, "cycles", "a warp waits for " .. row[2],
    lacks = row[3] }
end

-- The metric of a reason.
function metrics.stall(name) return STALL:format(name) end


metrics.list = { light = LIGHT, roofline = ROOFLINE, full = FULL }


-- What ncu says of a launch without a pass; reports have it from the timeline.
metrics.OF_LAUNCH = { "launch__waves_per_multiprocessor", "launch__occupancy_limit_registers",
  "launch__occupancy_limit_shared_mem", "launch__occupancy_limit_warps",
  "launch__occupancy_limit_blocks", "launch__occupancy_limit_barriers" }


-- Passes that each set takes, by compute capability: of CUPTI 13.0.
metrics.passes = {
  light = { ["8.0"] = 1, ["8.6"] = 1, ["8.9"] = 1, ["9.0"] = 1, ["10.0"] = 1, ["12.0"] = 1 },
  roofline = { ["8.0"] = 8, ["8.6"] = 8, ["8.9"] = 9, ["9.0"] = 9, ["10.0"] = 10,
    ["12.0"] = 11 },
  full = { ["8.0"] = 16, ["8.6"] = 16, ["8.9"] = 17, ["9.0"] = 19, ["10.0"] = 16, ["12.0"] = 19 },
}


-- The rows of a set, those of the sets before it first.
function metrics.rows(set)
  local rows = {}
  for _, name in ipairs(metrics.sets) do
    lists.add(rows, metrics.list[name])
    if name == set then return rows end
  end
end


-- Passes of a set at most, of a file those of the largest set.
function metrics.most_passes(set)
  local most = 0
  for _, count in pairs(metrics.passes[set] or metrics.passes.full) do
    most = math.max(most, count)
  end
  return most
end


-- The rows of a set that the collector takes in one pass, after the cache was flushed: those of
-- light and what fits beside them on 9.0. Where a chip needs more passes the last are left out.
function metrics.flushed(set)
  return lists.joined(LIGHT, lists.filtered(metrics.rows(set), "beside"))
end


-- A list of lists of names, of each the first that a chip has is wanted: of a set, or of a file
-- with such a list, a metric a line, names with "|" between them, "#" before comments.
function metrics.of(set)
  if lists.has(metrics.sets, set) then
    return lists.map(metrics.rows(set), function(row) return row[1] end)
  end
  local text, message = fs.read(set)
  if not text then
    errors.raise("usage", ("counters.set: '%s' is no set, and no file (%s)"):format(set, message),
      { hint = "there are: " .. table.concat(metrics.sets, ", ") .. "; `llmprof help counters`" })
  end
  local list = {}
  for line in text:gmatch "[^\n]+" do
    local names = {}
    for name in line:gsub("#.*", ""):gmatch "[^%s|]+" do names[#names + 1] = name end
    if #names > 0 then list[#list + 1] = names end
  end
  if #list == 0 then errors.raise("usage", ("counters.set: %s names no metric"):format(set)) end
  return list
end


return metrics
