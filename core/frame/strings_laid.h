/* A pool over strings that lie in memory already, where they stay, and the
 * order of its strings. Private to the core. */
#ifndef LLMPROF_STRINGS_LAID_H
#define LLMPROF_STRINGS_LAID_H

#include "llmprof/strings.h"

/* The first strings of an empty pool: `count` different ones, each with a NUL
 * behind it, string i up to ends[i], its NUL included. Both are borrowed as
 * long as the pool lives. False when out of memory. */
bool llmprof_strings_lay(llmprof_strings *pool, const char *bytes,
                         const uint64_t *ends, size_t count);

/* The places of strings among the first `count` of a pool, in the order of
 * their bytes. */
typedef struct llmprof_string_ranks {
  size_t count;
  uint32_t of[]; /* by id */
} llmprof_string_ranks;

/* Those that are kept, NULL where there are none. */
const llmprof_string_ranks *llmprof_strings_ranks(const llmprof_strings *pool);

/* Keep such ranks as long as the pool, which has them from now on; false where
 * others are kept. */
bool llmprof_strings_keep_ranks(const llmprof_strings *pool,
                                llmprof_string_ranks *ranks);

#endif
