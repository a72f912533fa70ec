/* What nsys calls the hardware counters of GPU_METRICS that a trace has.
 * Private to the room. */
#ifndef LLMPROF_NSYS_SAMPLES_H
#define LLMPROF_NSYS_SAMPLES_H

#include "llmprof/trace.h"

/* By llmprof_sampled; nsys puts " [Throughput %]" behind them. */
extern const char *const nsys_sampled_names[LLMPROF_SAMPLED];

#define NSYS_SAMPLED_UNIT " [Throughput %]"

/* typeId: the GPU is in its low byte. */
enum {
  NSYS_METRICS_GPU_MASK = 0xff
};

#endif
