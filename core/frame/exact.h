/* The standard deviation of whole numbers from sums that are exact. Private to
 * the core. */
#ifndef LLMPROF_EXACT_H
#define LLMPROF_EXACT_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 llmprof_uint128;

/* Of fewer than 2^32 numbers of less than 2^32 each. */
typedef struct llmprof_exact {
  uint64_t total;
  llmprof_uint128 squares;
} llmprof_exact;

static inline double llmprof_as_double(llmprof_uint128 value) {
  return ldexp((double)(uint64_t)(value >> 64), 64) + (double)(uint64_t)value;
}

/* The sample's, from n * sum of squares - square of the sum. */
static inline double llmprof_exact_stddev(const llmprof_exact *sums,
                                          size_t count) {
  if (count < 2) return 0;
  llmprof_uint128 spread = (llmprof_uint128)count * sums->squares -
                           (llmprof_uint128)sums->total * sums->total;
  double n = (double)count;
  return sqrt(llmprof_as_double(spread) / (n * (n - 1)));
}

#endif
