/* Statistics of values that come with a weight: how often each was seen. What
 * was counted in several places is summed up exactly, in any order. */
#ifndef LLMPROF_SPREAD_H
#define LLMPROF_SPREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame/group_by.h"
#include "llmprof/error.h"
#include "llmprof/frame.h"

/* Of one group. With count 0 nothing else is set. Definitions are those of
 * llmprof_summary: a row of weight n stands for n values. */
typedef struct llmprof_spread {
  int64_t count, total, min, max;
  double mean, median, stddev;
  double percentiles[LLMPROF_PERCENTILES]; /* as asked for */
} llmprof_spread;

/* Sum up integers of column `value`, each as often as column `weight` says, by
 * group into spreads[groups->count]; rows that lack either, or whose weight is
 * less than 1, count for nothing. Sums have 128 bits. RANGE: a count or a total
 * does not fit in an int64_t. */
bool llmprof_spread_of(llmprof_frame *frame, size_t value, size_t weight,
                       const llmprof_groups *groups, const double *wanted,
                       size_t wanted_count, llmprof_spread *spreads,
                       llmprof_error *err);

#endif
