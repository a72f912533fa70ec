/* The k-th smallest of many numbers without sorting them. Private to the
 * core. */
#ifndef LLMPROF_SELECT_H
#define LLMPROF_SELECT_H

#include <stddef.h>
#include <stdint.h>

/* values[k] and values[k + 1] as they would be if `values` were sorted, into
 * two[0] and two[1]; where k is the last, two[1] is two[0]. All of them lie
 * within [low, high]; they are moved about and some are lost. Linear, for any
 * values. */
void llmprof_select_u32(uint32_t *values, size_t count, size_t k, uint32_t low,
                        uint32_t high, uint32_t two[2]);

#endif
