/* The median of a window that moves. Private to the module. */
#ifndef LLMPROF_MEDIAN_H
#define LLMPROF_MEDIAN_H

#include <stddef.h>

#include "llmprof/error.h"

/* medians[i]: of values[i] and the `size` - 1 before it; NaN where there are
 * fewer, or one of them is NaN. In n log n, however large the window. */
bool llmprof_roll_median(const double *values, size_t count, size_t size,
                         double *medians, llmprof_error *err);

#endif
