/* The ranges that are open on each thread, as far as units and counters ask
 * for them. */
#ifndef LLMPROF_COLLECTOR_RANGES_H
#define LLMPROF_COLLECTOR_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/plan.h"

/* A range of that text began on this thread. Its level in its domain, from 0.
 */
int ranges_push(uint32_t domain, const char *domain_name, const char *text,
                size_t size);

/* The last one of that domain ended: its level and, where `what` is not NULL,
 * its name, cut; negative: none was open. */
int ranges_pop(uint32_t domain, plan_range *what);

/* On all threads none is open. */
void ranges_reset(void);

/* Is a range of that name open on this thread? */
bool ranges_inside(const plan_range *range);

/* The open ranges, outermost first, with '/' between them. Returns buffer. */
char *ranges_path(char *buffer, size_t size);

#endif
