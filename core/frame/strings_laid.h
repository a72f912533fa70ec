/* A pool over strings that lie in memory already, where they stay. Private to
 * the core. */
#ifndef LLMPROF_STRINGS_LAID_H
#define LLMPROF_STRINGS_LAID_H

#include "llmprof/strings.h"

/* The first strings of an empty pool: `count` different ones, each with a NUL
 * behind it, string i up to ends[i], its NUL included. Both are borrowed as
 * long as the pool lives. False when out of memory. */
bool llmprof_strings_lay(llmprof_strings *pool, const char *bytes,
                         const uint64_t *ends, size_t count);

#endif
