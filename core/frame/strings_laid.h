/* A pool over strings that lie in memory already, where they stay; which pool
 * it is, the order of its strings, and many of these at once. Private to the
 * core. */
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

/* ---- strings that are told apart when all are there ----
 *
 * Each that is appended gets the next id; until they are settled nothing else
 * is asked of the pool. False when out of memory. */

/* Room for this number more, where there may be as many. */
bool llmprof_strings_expect(llmprof_strings *pool, size_t more);

uint32_t llmprof_strings_hash(const char *bytes, size_t size);

/* `count` strings, each with a NUL behind it, one behind the other, and their
 * hashes; the bytes are the pool's from now on, unless it fails. */
bool llmprof_strings_append(llmprof_strings *pool, char *bytes,
                            const uint32_t *sizes, const uint32_t *hashes,
                            size_t count);

bool llmprof_strings_append_copy(llmprof_strings *pool, const char *bytes,
                                 size_t size);

/* Strings with equal bytes become the first of these, as if they had been
 * added. *ids: by id, what it is now, to be freed; NULL: all stay as they are.
 */
bool llmprof_strings_settle(llmprof_strings *pool, uint32_t **ids);

#endif
