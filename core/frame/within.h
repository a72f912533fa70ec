/* Rows that lie within intervals of time. */
#ifndef LLMPROF_WITHIN_H
#define LLMPROF_WITHIN_H

#include "llmprof/frame.h"

/* An interval of time, both ends included, in ns. */
typedef struct llmprof_keyed_interval {
  int64_t start, end;
  int64_t key; /* what a key column must hold, where there is one */
} llmprof_keyed_interval;

/* The rows that lie within an interval, by their columns of starts and ends: by
 * interval, and by start within one. A row within several comes once for each.
 * With a key column (SIZE_MAX: none) its cell equals the interval's key. Rows
 * may be in any order; LIMIT: more of them than a frame can have. */
llmprof_frame *llmprof_frame_within(llmprof_frame *frame, size_t start_column,
                                    size_t end_column, size_t key_column,
                                    const llmprof_keyed_interval *intervals,
                                    size_t count, llmprof_error *err);

#endif
