/* Sums and differences of times in ns, which stop at INT64_MAX: only a broken
 * file has times that far apart. */
#ifndef LLMPROF_TIMES_H
#define LLMPROF_TIMES_H

#include <stdint.h>

static inline int64_t llmprof_time_sum(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* From one time to a later one. */
static inline int64_t llmprof_time_between(int64_t from, int64_t to) {
  int64_t time;
  return __builtin_sub_overflow(to, from, &time) ? INT64_MAX : time;
}

#endif
