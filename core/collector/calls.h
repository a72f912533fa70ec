/* Which calls of CUDA's interfaces are recorded, and their names. */
#ifndef LLMPROF_COLLECTOR_CALLS_H
#define LLMPROF_COLLECTOR_CALLS_H

#include <stdbool.h>
#include <stdint.h>

/* Before anything is recorded. early: there is no context yet, and calls can
 * be chosen one by one then and later. After the first context CUPTI before
 * 13.5 records none of those: there all calls are switched on, and those off
 * that are not chosen, which costs each call some time. */
void calls_prepare(bool early);

/* Have the chosen calls recorded, or not. */
void calls_enable(bool on);

/* Is a call of that name one of those? CUPTI before 12.6 records all. */
bool calls_is_chosen(const char *name);

/* CUPTI's name of a function; NULL: it knows none. */
const char *calls_name(bool is_driver, uint32_t cbid);

#endif
