-- The metrics that sets of counters are made of, by NVIDIA's names: llmprof's collector and ncu
-- are asked for the same ones, so that a launch has the same value from both. `llmprof help
-- counters` prints this as a page; tests/collector/metric_names.c asks CUPTI which chips have
-- them and how many passes a set takes.
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"

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

local ROOFLINE = {
  { { "lts__throughput" .. PCT }, "%", "L2, the busiest of its parts" },
  { { "l1tex__throughput.avg.pct_of_peak_sustained_active" }, "%",
    "L1, the busiest of its parts, while it was active" },
  { { "l1tex__cycles_active.avg" }, "cycles", "in which L1 was active" },
  { { "l1tex__cycles_elapsed.avg" }, "cycles", "of L1 in the launch" },
  { { "gpu__compute_memory_throughput" .. PCT }, "%", "the busiest part of memory, L1 to DRAM" },
  { { "sm__throughput" .. PCT }, "%", "the busiest part of an SM" },
  { { "sm__cycles_elapsed.avg.per_second" }, "Hz", "clock of the SMs" },
}

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
}


-- Instructions of vector units by type, per thread; a fused multiply-add is two FLOP.
for _, row in ipairs { { "f", "FP32" }, { "d", "FP64" }, { "h", "FP16, of two values each" } } do
  for _, op in ipairs { "add", "mul", "fma" } do
    ROOFLINE[#ROOFLINE + 1] = { { SASS:format(row[1] .. op) }, "instructions",
      ("%s, %s"):format(op, row[2]) }
  end
end

-- Operations of tensor cores by the type of their factors.
for _, row in ipairs {
  { { "bf16_dst_fp32" }, "BF16" },
  { { "fp16", "fp16_dst_fp32" }, "FP16, to FP32 where it says so" },
  { { "fp16_dst_fp16" }, "FP16 to FP16", "9.0" }, { { "tf32_dst_fp32" }, "TF32" },
  { { "fp8", "fp8_dst_fp32", "fp4_fp6_fp8_dst_fp32" }, "FP8, on 10.0 FP6 too", "8.0 8.6" },
  { { "fp4_dst_fp32" }, "FP4", "8.0 8.6 8.9 9.0" }, { { "fp64" }, "FP64" },
  { { "int8" }, "INT8" } } do
  local names = {}
  for i, type in ipairs(row[1]) do names[i] = TENSOR:format(type) end
  ROOFLINE[#ROOFLINE + 1] = { names, "operations", "of tensor cores on " .. row[2],
    lacks = row[3] }
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
  roofline = { ["8.0"] = 13, ["8.6"] = 14, ["8.9"] = 15, ["9.0"] = 16, ["10.0"] = 15,
    ["12.0"] = 16 },
  full = { ["8.0"] = 18, ["8.6"] = 19, ["8.9"] = 20, ["9.0"] = 23, ["10.0"] = 20, ["12.0"] = 22 },
}


local is_set = {}
for _, name in ipairs(metrics.sets) do is_set[name] = true end


-- The rows of a set, those of the sets before it first.
function metrics.rows(set)
  local rows = {}
  for _, name in ipairs(metrics.sets) do
    table.move(metrics.list[name], 1, #metrics.list[name], #rows + 1, rows)
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


-- A list of lists of names, of each the first that a chip has is wanted: of a set, or of a file
-- with such a list, a metric a line, names with "|" between them, "#" before comments.
function metrics.of(set)
  local list = {}
  if is_set[set] then
    for i, row in ipairs(metrics.rows(set)) do list[i] = row[1] end
    return list
  end
  local text, message = fs.read(set)
  if not text then
    errors.raise("usage", ("counters.set: '%s' is no set, and no file (%s)"):format(set, message),
      { hint = "there are: " .. table.concat(metrics.sets, ", ") .. "; `llmprof help counters`" })
  end
  for line in text:gmatch "[^\n]+" do
    local names = {}
    for name in line:gsub("#.*", ""):gmatch "[^%s|]+" do names[#names + 1] = name end
    if #names > 0 then list[#list + 1] = names end
  end
  if #list == 0 then
    errors.raise("usage", ("counters.set: %s names no metric"):format(set))
  end
  return list
end


return metrics
