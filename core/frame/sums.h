/* Sums of small numbers, all exact, so that it does not matter in which order
 * these come. Private to the frame room. */
#ifndef LLMPROF_SUMS_H
#define LLMPROF_SUMS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 llmprof_uint128;

/* Of fewer than 2^32 values of less than 2^32 each. */
typedef struct llmprof_sums {
  uint64_t total;
  uint32_t low, high; /* UINT32_MAX and 0 at first */
  llmprof_uint128 squares;
} llmprof_sums;

/* The sample's standard deviation, 0 of one value: from n * sum of squares -
 * square of the sum. */
static inline double llmprof_sums_stddev(const llmprof_sums *s, size_t count) {
  if (count < 2) return 0;
  llmprof_uint128 spread = (llmprof_uint128)count * s->squares -
                           (llmprof_uint128)s->total * s->total;
  double n = (double)count;
  double real =
      ldexp((double)(uint64_t)(spread >> 64), 64) + (double)(uint64_t)spread;
  return sqrt(real / (n * (n - 1)));
}

#endif
