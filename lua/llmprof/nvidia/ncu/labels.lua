-- What the details page calls the metrics that launch records are made of:
-- metric name -> { section, label } as displayed, newest naming first.
local SOL, SOL_2020 = "GPU Speed Of Light Throughput", "GPU Speed Of Light"
local MEMORY, LAUNCH, OCCUPANCY = "Memory Workload Analysis", "Launch Statistics", "Occupancy"

return {
  ["gpu__time_duration.sum"] = { { SOL, "Duration" }, { SOL_2020, "Duration" } },
  ["sm__cycles_elapsed.avg.per_second"] = { { SOL, "SM Frequency" } },
  ["dram__cycles_elapsed.avg.per_second"] = { { SOL, "DRAM Frequency" } },
  ["sm__throughput.avg.pct_of_peak_sustained_elapsed"] =
    { { SOL, "Compute (SM) Throughput" }, { SOL_2020, "SM [%]" } },
  ["gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"] =
    { { SOL, "Memory Throughput" }, { SOL_2020, "Memory [%]" } },
  ["gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"] = { { SOL, "DRAM Throughput" } },
  ["lts__throughput.avg.pct_of_peak_sustained_elapsed"] = { { SOL, "L2 Cache Throughput" } },
  ["l1tex__throughput.avg.pct_of_peak_sustained_active"] = { { SOL, "L1/TEX Cache Throughput" } },
  ["dram__bytes.sum.per_second"] = { { MEMORY, "Memory Throughput" } },

  ["sm__maximum_warps_per_active_cycle_pct"] = { { OCCUPANCY, "Theoretical Occupancy" } },
  ["sm__maximum_warps_avg_per_active_cycle"] =
    { { OCCUPANCY, "Theoretical Active Warps per SM" } },
  ["sm__warps_active.avg.pct_of_peak_sustained_active"] = { { OCCUPANCY, "Achieved Occupancy" } },
  ["sm__warps_active.avg.per_cycle_active"] = { { OCCUPANCY, "Achieved Active Warps Per SM" } },
  ["launch__occupancy_limit_barriers"] = { { OCCUPANCY, "Block Limit Barriers" } },
  ["launch__occupancy_limit_blocks"] = { { OCCUPANCY, "Block Limit SM" } },
  ["launch__occupancy_limit_registers"] = { { OCCUPANCY, "Block Limit Registers" } },
  ["launch__occupancy_limit_shared_mem"] = { { OCCUPANCY, "Block Limit Shared Mem" } },
  ["launch__occupancy_limit_warps"] = { { OCCUPANCY, "Block Limit Warps" } },

  ["launch__registers_per_thread"] = { { LAUNCH, "Registers Per Thread" } },
  ["launch__shared_mem_per_block_static"] = { { LAUNCH, "Static Shared Memory Per Block" } },
  ["launch__shared_mem_per_block_dynamic"] = { { LAUNCH, "Dynamic Shared Memory Per Block" } },
  ["launch__shared_mem_per_block_driver"] = { { LAUNCH, "Driver Shared Memory Per Block" } },
  ["launch__waves_per_multiprocessor"] = { { LAUNCH, "Waves Per SM" } },
}
