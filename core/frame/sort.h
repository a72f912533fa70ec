/* Sorting what traces are made of: mostly sorted already, by the million.
 * Private to the core. All are linear for sorted input and never quadratic;
 * false means out of memory, with the input as it was, or an interrupt, with it
 * in any order; llmprof_fail_nomem tells which. */
#ifndef LLMPROF_SORT_H
#define LLMPROF_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sort row numbers by keys[row], ascending and stable. */
bool llmprof_sort_rows_u32(uint32_t *rows, size_t count, const uint32_t *keys);
bool llmprof_sort_rows_i64(uint32_t *rows, size_t count, const int64_t *keys);

/* Row numbers below `count` by several keys, the last one above the others;
 * `which` of them `key` is to give. The caller frees; NULL for false. */
typedef int64_t llmprof_row_key(const void *of, size_t row, int which);
uint32_t *llmprof_order_rows(size_t count, int keys, llmprof_row_key *key,
                             const void *of);

/* Sort values, ascending. `scratch` has room for count values; for fewer than
 * 48 it may be NULL. */
void llmprof_sort_i64(int64_t *values, size_t count, int64_t *scratch);
void llmprof_sort_u32(uint32_t *values, size_t count, uint32_t *scratch);

#endif
