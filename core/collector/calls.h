/* Which calls of CUDA's interfaces are recorded, and their names. */
#ifndef LLMPROF_COLLECTOR_CALLS_H
#define LLMPROF_COLLECTOR_CALLS_H

#include <stdbool.h>
#include <stdint.h>

/* Have the chosen calls recorded, or not: all calls, then without the others.
 * CUPTI 13.0 records none where calls are chosen one by one after the first
 * context. */
void calls_enable(bool on);

/* Is a call of that name one of those? CUPTI before 12.6 records all. */
bool calls_is_chosen(const char *name);

/* CUPTI's name of a function; NULL: it knows none. */
const char *calls_name(bool is_driver, uint32_t cbid);

#endif
