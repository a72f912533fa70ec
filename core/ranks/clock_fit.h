/* How far two clocks differ, from events that both saw at the same time: the
 * ends of the same collective on two ranks lie within microseconds. */
#ifndef LLMPROF_CLOCK_FIT_H
#define LLMPROF_CLOCK_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llmprof/error.h"
#include "llmprof/frame.h"
#include "ranks/collectives.h"

/* A time t of the second clock is t - offset - drift * (t - at) of the first.
 */
typedef struct llmprof_clock_fit {
  size_t count;    /* pairs that there were; with 0 nothing else is set */
  size_t used;     /* of them, those that lie near the line */
  int64_t at;      /* ns of the second clock: where offset is taken */
  double offset;   /* ns */
  double drift;    /* ns per ns */
  double raw;      /* ns: the median distance of the pairs as they are */
  double residual; /* ns: the same after the correction */
} llmprof_clock_fit;

/* Fit a line through the differences `second` - `first` of the ends of rows of
 * rank `second` and rank `first` that have one key, and as ordinal n + lag and
 * n. Rows far off the line, such as those of a rank that was held up while it
 * left, do not bend it. */
bool llmprof_clock_fit_ranks(llmprof_frame *rows,
                             const llmprof_collective_columns *columns,
                             int64_t first, int64_t second, int64_t lag,
                             llmprof_clock_fit *fit, llmprof_error *err);

#endif
