/* Statistics of a column by group. */
#ifndef LLMPROF_STATISTICS_H
#define LLMPROF_STATISTICS_H

#include "frame/group_by.h"

/* Of one column's present values in one group. With count 0 nothing else is
 * set. Of integers total, min and max are; of reals the real_ ones are, in the
 * same place. Definitions are those of llmprof_statistic. */
typedef struct llmprof_summary {
  size_t count;
  union {
    struct {
      int64_t total, min, max;
    };
    struct {
      double real_total, real_min, real_max;
    };
  };
  double mean, median, stddev;
  double percentiles[LLMPROF_PERCENTILES]; /* as asked for */
} llmprof_summary;

/* Summaries of groups from `first` on, in any order, on several threads at
 * once; each group once. */
typedef void (*llmprof_summaries_taker)(void *user, size_t first,
                                        const llmprof_summary *summaries,
                                        size_t count);

/* Sum up a column by group, with `wanted_count` percentiles in 0..100. Fails
 * with RANGE when a total does not fit in an int64_t. */
bool llmprof_summarize(llmprof_frame *frame, size_t column,
                       const llmprof_groups *groups, const double *wanted,
                       size_t wanted_count, llmprof_summaries_taker take,
                       void *user, llmprof_error *err);

/* The same of integers into summaries[groups->count], without mean, median,
 * stddev and percentiles, at the cost of one look at each cell. */
bool llmprof_totals(llmprof_frame *frame, size_t column,
                    const llmprof_groups *groups, llmprof_summary *summaries,
                    llmprof_error *err);

/* By group, the number of distinct present values of a column. */
bool llmprof_distinct(llmprof_frame *frame, size_t column,
                      const llmprof_groups *groups, int64_t *distinct,
                      llmprof_error *err);

#endif
