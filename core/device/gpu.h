/* GPUs as the driver describes them: what they are, and how they do now.
 *
 * NVML is loaded when asked for and never linked. No library, no driver and
 * no device are answers, not errors: then there are no devices, and a reason
 * in words. What a device does not tell is absent, never 0. One llmprof_gpus
 * is used by one thread at a time. */
#ifndef LLMPROF_GPU_H
#define LLMPROF_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llmprof/error.h"

typedef struct llmprof_gpus llmprof_gpus;

/* Load NVML from `library` (NULL: libnvidia-ml.so.1, wherever the system has
 * it) and start it. NULL only when out of memory. */
llmprof_gpus *llmprof_gpus_open(const char *library, llmprof_error *err);
void llmprof_gpus_close(llmprof_gpus *gpus); /* NULL is fine */

/* How many devices there are. With 0, *reason says why, and lives as long as
 * gpus does; else it is NULL. */
unsigned llmprof_gpus_count(const llmprof_gpus *gpus, const char **reason);

/* What is known of a device as a number. The first ones change from moment to
 * moment: they are what a sample reads. */
typedef enum llmprof_gpu_field {
  LLMPROF_GPU_SM_CLOCK,     /* MHz */
  LLMPROF_GPU_MEMORY_CLOCK, /* MHz */
  LLMPROF_GPU_POWER,        /* W, drawn */
  LLMPROF_GPU_ENERGY,       /* J, drawn since the driver was loaded */
  LLMPROF_GPU_TEMPERATURE,  /* degrees Celsius */
  LLMPROF_GPU_UTILIZATION,  /* percent of the time that a kernel ran */
  LLMPROF_GPU_MEMORY_BUSY,  /* percent of the time that memory was accessed */
  LLMPROF_GPU_MEMORY_USED,  /* bytes; with the driver's own before R510 */
  LLMPROF_GPU_MEMORY_TOTAL, /* bytes */
  LLMPROF_GPU_SAMPLED,      /* how many those are */

  LLMPROF_GPU_SM_CLOCK_MAX = LLMPROF_GPU_SAMPLED, /* MHz */
  LLMPROF_GPU_MEMORY_CLOCK_MAX,                   /* MHz */
  LLMPROF_GPU_POWER_LIMIT,                        /* W, as enforced */
  LLMPROF_GPU_MIG,         /* 0 or 1: split into instances */
  LLMPROF_GPU_PERSISTENCE, /* 0 or 1: the driver stays loaded when idle */
  LLMPROF_GPU_FIELDS,
} llmprof_gpu_field;

/* Values by field; what is absent is not known[]. */
typedef struct llmprof_gpu_values {
  double values[LLMPROF_GPU_FIELDS];
  bool known[LLMPROF_GPU_FIELDS];
  uint64_t throttle; /* why clocks are lowered, as bits: see throttle_name */
  bool throttle_known;
} llmprof_gpu_values;

enum {
  LLMPROF_GPU_TEXT_SIZE = 96
};

/* Texts are "" where absent. */
typedef struct llmprof_gpu_info {
  unsigned index; /* as NVML counts: CUDA_VISIBLE_DEVICES changes nothing */
  char name[LLMPROF_GPU_TEXT_SIZE];
  char uuid[LLMPROF_GPU_TEXT_SIZE];
  char pci_bus_id[LLMPROF_GPU_TEXT_SIZE];         /* "00000000:41:00.0" */
  char compute_capability[LLMPROF_GPU_TEXT_SIZE]; /* "9.0" */
  char driver_version[LLMPROF_GPU_TEXT_SIZE];     /* "580.159.04" */
  char cuda_version[LLMPROF_GPU_TEXT_SIZE]; /* the driver's newest, "13.0" */
  llmprof_gpu_values now;
} llmprof_gpu_info;

/* Everything about device `index`. False when there is no such device
 * (NOTFOUND), or the driver refuses it (DENIED, IO): lost, not permitted. */
bool llmprof_gpu_describe(llmprof_gpus *gpus, unsigned index,
                          llmprof_gpu_info *info, llmprof_error *err);

/* The sampled fields only: a few calls into the driver, no allocation, cheap
 * enough for 10 times a second. Fails as describe does. */
bool llmprof_gpu_sample(llmprof_gpus *gpus, unsigned index,
                        llmprof_gpu_values *now, llmprof_error *err);

/* What bit number `bit` of `throttle` stands for, as nvidia-smi calls it:
 * "sw_power_cap"; NULL for a bit without a known name. */
const char *llmprof_gpu_throttle_name(unsigned bit);

#endif
