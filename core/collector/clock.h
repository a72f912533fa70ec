/* The spool's clock: CLOCK_MONOTONIC, for CUPTI's records as for NVTX. */
#ifndef LLMPROF_COLLECTOR_CLOCK_H
#define LLMPROF_COLLECTOR_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_read(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline int64_t clock_now(void) {
  return clock_read(CLOCK_MONOTONIC);
}

#endif
