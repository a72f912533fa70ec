/* The search by halves. Private to the core. */
#ifndef LLMPROF_BISECT_H
#define LLMPROF_BISECT_H

#include <stddef.h>

/* Makes `low` the first place `at` from there on, up to `high`, that is not
 * before what is looked for: `before` is true of some and then of no more. Both
 * are variables, of type size_t. */
#define LLMPROF_BISECT(low, high, at, before) \
  while (low < high) {                        \
    size_t at = low + (high - low) / 2;       \
    if (before)                               \
      low = at + 1;                           \
    else                                      \
      high = at;                              \
  }

#endif
