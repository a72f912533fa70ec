#include "ncu/ncu_details.h"

#include <stddef.h>
#include <string.h>

#define PERCENT ".avg.pct_of_peak_sustained_elapsed"

/* The unit where two metrics have the label. */
static const struct {
  const char *label, *unit, *metric;
} labels[] = {
    {"Duration", NULL, "gpu__time_duration.sum"},
    {"Compute (SM) Throughput", NULL, "sm__throughput" PERCENT},
    {"Memory Throughput", "%", "gpu__compute_memory_throughput" PERCENT},
    {"Memory Throughput", "byte/s", "dram__bytes.sum.per_second"},
    {"DRAM Throughput", NULL, "gpu__dram_throughput" PERCENT},
    {"L2 Cache Throughput", NULL, "lts__throughput" PERCENT},
    {"L1/TEX Cache Throughput", NULL,
     "l1tex__throughput.avg.pct_of_peak_sustained_active"},
    {"DRAM Frequency", NULL, "dram__cycles_elapsed.avg.per_second"},
    {"SM Active Cycles", NULL, "sm__cycles_active.avg"},
    {"L1/TEX Hit Rate", NULL, "l1tex__t_sector_hit_rate.pct"},
    {"L2 Hit Rate", NULL, "lts__t_sector_hit_rate.pct"},
    {"Issued Warp Per Scheduler", NULL,
     "smsp__issue_active.avg.per_cycle_active"},
    {"Eligible Warps Per Scheduler", NULL,
     "smsp__warps_eligible.avg.per_cycle_active"},
    {"Theoretical Occupancy", NULL, "sm__maximum_warps_per_active_cycle_pct"},
    {"Achieved Occupancy", NULL,
     "sm__warps_active.avg.pct_of_peak_sustained_active"},
    {"Theoretical Active Warps per SM", NULL,
     "sm__maximum_warps_avg_per_active_cycle"},
    {"Achieved Active Warps Per SM", NULL,
     "sm__warps_active.avg.per_cycle_active"},
    {"Block Limit Barriers", NULL, "launch__occupancy_limit_barriers"},
    {"Block Limit Registers", NULL, "launch__occupancy_limit_registers"},
    {"Block Limit SM", NULL, "launch__occupancy_limit_blocks"},
    {"Block Limit Shared Mem", NULL, "launch__occupancy_limit_shared_mem"},
    {"Block Limit Warps", NULL, "launch__occupancy_limit_warps"},
    {"Registers Per Thread", NULL, "launch__registers_per_thread"},
    {"Dynamic Shared Memory Per Block", NULL,
     "launch__shared_mem_per_block_dynamic"},
    {"Static Shared Memory Per Block", NULL,
     "launch__shared_mem_per_block_static"},
    {"Driver Shared Memory Per Block", NULL,
     "launch__shared_mem_per_block_driver"},
    {"Waves Per SM", NULL, "launch__waves_per_multiprocessor"},
};

/* Metrics that were asked for by name have it as their label. */
const char *ncu_details_metric(const char *label, const char *unit) {
  for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
    if (strcmp(label, labels[i].label) == 0 &&
        (!labels[i].unit || strcmp(unit, labels[i].unit) == 0))
      return labels[i].metric;
  }
  return strstr(label, "__") ? label : NULL;
}
