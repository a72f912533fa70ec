/* Values for tests and fuzzers: equality, and random trees from a seed. Free
 * of cmocka, so that fuzz targets link it too. */
#ifndef TEST_TREES_H
#define TEST_TREES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/value.h"

/* Same types, same content, same order of map entries; doubles are compared by
 * their bits, except that all NaN are one. */
bool trees_equal(const llmprof_value *a, const llmprof_value *b);

/* xorshift64*: the same sequence for the same seed (not 0) everywhere. */
uint64_t trees_random(uint64_t *seed);

/* A string out of characters and words that mean something to JSON or YAML,
 * well-formed UTF-8, NUL and control characters included. Returns its size,
 * below room. */
size_t trees_random_text(uint64_t *seed, char *out, size_t room);

/* A random tree, or NULL when out of memory. With `infinite`, doubles may be
 * infinite or NaN. */
llmprof_value *trees_random_value(uint64_t *seed, bool infinite);

#endif
