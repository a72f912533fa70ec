/* Equality of values for tests and fuzzers. Free of cmocka, so that fuzz
 * targets link it too. */
#ifndef TEST_TREES_H
#define TEST_TREES_H

#include <stdbool.h>

#include "base/value.h"

/* Same types, same content, same order of map entries; doubles are compared by
 * their bits, except that all NaN are one. */
bool trees_equal(const llmprof_value *a, const llmprof_value *b);

#endif
