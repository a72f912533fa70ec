/* What a column looks like, in a few bins. */
#ifndef LLMPROF_DOWNSAMPLE_H
#define LLMPROF_DOWNSAMPLE_H

#include "llmprof/frame.h"

/* Of the rows that fall into a bin: how many, and their least and largest
 * value. */
typedef struct llmprof_bin {
  size_t count; /* 0: the rest is not set */
  double least, most;
} llmprof_bin;

/* What column `y` of numbers looks like over column `x` (SIZE_MAX: over the
 * numbers of rows, from 0), from `low` up to and with `high` in `count` bins of
 * equal width: bins[count]. Rows that lack either value are left out. */
bool llmprof_frame_downsample(llmprof_frame *frame, size_t x, size_t y,
                              double low, double high, llmprof_bin *bins,
                              size_t count, llmprof_error *err);

#endif
